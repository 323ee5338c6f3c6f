"""At the edge: no uplink, no DNS, no registry, and here no Git either."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import proposed
import pytest
from environment import CLOSED, PARENT, Environment, eventually, forget, repository
from lab.api import Api
from lab.processes import pace
from lab.settings import GIT, ROOT
from shown import renewed, run
from when import Window, minute, sleep_until, wall, window

PAGE = "docs/how-to/edge-clusters.md"
PLANT = "plant"  # the namespace of examples/edge
RESOLVE = "import socket; socket.getaddrinfo('registry.example.com', 443)"


@pytest.fixture
def site(api: Api, tmp_path: Path) -> Iterator[None]:
    """What examples/edge says of a cluster, applied by Flux; kubectl asks that cluster."""
    plant = Environment(api, PLANT, tmp_path / "tree")
    repository(PLANT, plant.tree)
    plant.write("lines/line.yaml", plant.object("v1", "ConfigMap", "line", data={"speed": "1"}))
    plant.commit("Begin")
    plant.kubectl("apply", "-f", str(ROOT / "examples/edge/cluster"))
    api.create("gitrepositories", PLANT, plant.source("lines"))
    plant.kubectl("wait", "--for=condition=Ready", "kustomization/lines", "--timeout=15m")
    yield
    forget(plant)


@pytest.mark.long
@pytest.mark.usefixtures("site", "kubectl")
def test_a_week_and_three_edges_as_the_page_shows_them(tmp_path: Path) -> None:
    """Every command of the how-to prints what it shows; edges are real."""
    text, folder = (ROOT / PAGE).read_text(), tmp_path / "page"
    folder.mkdir()
    assert renewed(text, run(text, folder)) == text


def test_there_is_no_way_out(env: Environment) -> None:
    """What the other tests prove, they prove without DNS, and every image was there before."""
    env.begin_closed()
    env.run_as_look("resolve", RESOLVE)
    eventually("no name", lambda: "gaierror" in env.kubectl("logs", "resolve", "--ignore-errors"))
    eventually("an image is found", lambda: "already present on machine" in events(env))
    assert "Pulling image" not in events(env)


def events(env: Environment) -> str:
    """The kubelet sends them some time after the deed."""
    return env.kubectl("get", "events", "--output=jsonpath={.items[*].message}")


@pytest.mark.long
def test_windows_go_on_without_the_uplink(env: Environment) -> None:
    """Three edges come, and drift is corrected, while nothing can be fetched."""
    env.begin()
    first = window(after=75)
    # Between the two the commit is fetched, which waits longer after each fetch that failed.
    opens = first.closes + timedelta(minutes=2 + 2 * pace())
    second = Window(opens, opens + timedelta(minutes=8))
    env.closes({"windows": {"first": first.spec, "second": second.spec}})
    with no_uplink(env):
        env.opens_with(first)
        env.api.delete("configmaps", env.name, "app")
        env.eventually_applied("1")
        env.closes_with(first)
    env.release("2")
    eventually("the commit is fetched", lambda: env.head() in env.revision())
    assert env.version() == "1"
    sleep_until(second.opens)
    env.eventually_applied("2")


def test_an_override_that_is_applied_on_site(env: Environment) -> None:
    """The same policy in Git takes over later, and nothing flaps."""
    env.begin_closed()
    times = {"starts": wall(minute(-300)), "ends": wall(minute(600))}
    override = {"state": "Open", **times, "reason": "No uplink"}
    with no_uplink(env):
        [suspend] = proposed.commands(PAGE, "flux suspend")
        [apply] = proposed.commands(PAGE, "kubectl apply --server-side")
        env.shell(suspend.replace("<what delivers the windows>", PARENT))
        opened = {**CLOSED, "overrides": {"on-site": override}}
        env.policy(opened, commit=False)
        env.shell(apply.replace("-k windows", "-k cluster/windows"))
        env.eventually_open()
    env.commit("Open on site")
    env.suspend_delivery(suspend=False)
    env.eventually_delivered()
    env.job("resync", wait=True)
    assert env.open()


@contextmanager
def no_uplink(env: Environment) -> Iterator[None]:
    """Cut the way to Git, wait until the source says so, and mend it, whatever happens."""
    bare = GIT / f"{env.name}.git"
    away = bare.rename(bare.with_suffix(".away"))
    try:
        source = (PARENT, "gitrepositories")
        eventually("nothing can be fetched", lambda: env.ready(*source) == "False")
        yield
    finally:
        away.rename(bare)
