"""What the windows rely on fails: the stories of this module stop a component of the cluster, and run alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import pytest
from lab import control_plane, processes
from telling import Story, Window, eventually, note, open_window, since, sleep_until, throughout

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


def test_the_cron_job_controller_is_down_over_an_edge(story: Story) -> None:
    """Nothing opens or closes while it is away; both are done within an interval and a Pod's start after it is back."""
    edge = set_edge(story, ready=20)
    with absent("kube-controller-manager", control_plane.controller_manager):
        # A look of the last minute waits for the edge, and would make it good.
        story.kubectl("delete", "pods", "--all", "--now", "--wait=false")
        sleep_until(edge)
        throughout(
            20, "nothing is changed", lambda: not story.suspended() and story.suspended(OTHER)
        )
    after = since(edge)
    note("from the return of the CronJob controller to closed", eventually_changed(story))
    note(
        f"open where closed was wanted: CronJob controller back {after:.0f} s after the close",
        since(edge),
    )


def test_the_api_server_is_restarted_at_the_edge(story: Story) -> None:
    """It is away when one window opens and another closes; both are done within a look after it is back."""
    edge = set_edge(story, ready=2)
    with absent("kube-apiserver", control_plane.api_server):
        sleep_until(edge + timedelta(seconds=10))
    after = since(edge)
    note("from the return of the API server to closed", eventually_changed(story))
    note(
        f"open where closed was wanted: API server back {after:.0f} s after the close", since(edge)
    )


def set_edge(story: Story, ready: float) -> datetime:
    """Let `apps` close in the minute in which `other` opens; return that minute, `ready` seconds before it comes."""
    story.write("cluster/other.yaml", story.kustomization(OTHER, "./apps", prune=False))
    story.include("other.yaml")
    story.begin()
    closing = open_window(ready + 25)
    opening = Window(closing.closes, closing.closes + timedelta(minutes=10))
    story.policy({"interval": "1m", "windows": {"next": closing.spec}}, commit=False)
    targets = [{"kind": "Kustomization", "names": [OTHER]}]
    story.policy(
        {"interval": "1m", "windows": {"next": opening.spec}, "targets": targets}, name="opening"
    )
    eventually("other is closed", lambda: story.suspended(OTHER))
    sleep_until(closing.closes - timedelta(seconds=ready))
    assert story.open()
    return closing.closes


def eventually_changed(story: Story) -> float:
    """Wait an interval and the start of a Pod until `apps` is closed and `other` open; return when `apps` was."""
    seconds = story.eventually_closed()
    eventually("other is open", lambda: not story.suspended(OTHER))
    return seconds
