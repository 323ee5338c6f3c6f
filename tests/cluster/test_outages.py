"""What the windows rely on fails."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import pytest
from environment import Environment, eventually, note, throughout
from lab import control_plane, processes
from when import Window, open_window, since, sleep_until

pytestmark = pytest.mark.disruptive
OTHER = "other"


@contextmanager
def absent(component: str, back: Callable[[], None]) -> Iterator[None]:
    """Stop a component of the cluster, and start it again, whatever happens meanwhile."""
    processes.stop(component)
    try:
        yield
    finally:
        back()


def test_the_cron_job_controller_is_down_over_an_edge(env: Environment) -> None:
    edge = set_edge(env, ready=20)
    with absent("kube-controller-manager", control_plane.controller_manager):
        # A run of the last minute waits for the edge, and would make it good.
        env.kubectl("delete", "pods", "--all", "--now", "--wait=false")
        sleep_until(edge)
        throughout(20, "nothing is changed", lambda: not env.suspended() and env.suspended(OTHER))
    after = since(edge)
    note("from the return of the CronJob controller to closed", eventually_changed(env))
    back = f"CronJob controller back {after:.0f} s after the close"
    note(f"open where closed was wanted: {back}", since(edge))


def test_the_api_server_is_restarted_at_the_edge(env: Environment) -> None:
    edge = set_edge(env, ready=2)
    with absent("kube-apiserver", control_plane.api_server):
        sleep_until(edge + timedelta(seconds=10))
    after = since(edge)
    note("from the return of the API server to closed", eventually_changed(env))
    back = f"API server back {after:.0f} s after the close"
    note(f"open where closed was wanted: {back}", since(edge))


def set_edge(env: Environment, ready: float) -> datetime:
    """`apps` closes in the minute in which `other` opens; return it, `ready` seconds before."""
    env.add("other.yaml", env.kustomization(OTHER, "./apps", prune=False))
    env.begin()
    closing = open_window(ready + 25)
    opening = Window(closing.closes, closing.closes + timedelta(minutes=10))
    env.policy({"interval": "1m", "windows": {"next": closing.spec}}, commit=False)
    targets = [{"kind": "Kustomization", "names": [OTHER]}]
    other = {"interval": "1m", "windows": {"next": opening.spec}, "targets": targets}
    env.policy(other, name="opening")
    eventually("other is closed", lambda: env.suspended(OTHER))
    sleep_until(closing.closes - timedelta(seconds=ready))
    assert env.open()
    return closing.closes


def eventually_changed(env: Environment) -> float:
    """Return when `apps` was closed."""
    seconds = env.eventually_closed()
    eventually("other is open", lambda: not env.suspended(OTHER))
    return seconds
