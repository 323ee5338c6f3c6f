"""Connections that are kept, and several requests at once.

What they cost, and what cannot go wrong with them.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Barrier
from time import monotonic, sleep

import pytest
import zoned
from api_server import Api, Handler, busy, dropped, followed, kustomization, left, slow

from krm_windows.gate.kubernetes import AT_ONCE, ApiError, Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.gate.target import Observed, observe
from krm_windows.gate.timetable import Target
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Timetable

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MANY = tuple(kustomization(f"t{number}", "v1") for number in range(40))
INFRA, APPS = kustomization("infra", "v1"), kustomization("apps", "v1")
SHUT = zoned.timetable(policy="flux-system/p", time_zone="UTC", targets=(INFRA, APPS))
HONEST: dict[str, object] = {
    "metadata": {"name": "apps", "resourceVersion": "1"},
    "spec": {"suspend": True},
}
RunOnce = Callable[..., bool]


@pytest.fixture
def cluster(port: int, account: Path) -> Cluster:
    """The API server."""
    return Cluster("127.0.0.1", str(port), account, 5)


@pytest.fixture
def run_once(cluster: Cluster) -> RunOnce:
    """One run; what it logs is added to a list."""

    def once(timetable: Timetable, log: list[dict[str, object]] | None = None) -> bool:
        keep = (lambda **line: log.append(line)) if log is not None else dict
        gate = Gate(shipped(timetable), partial(decide, timetable), lambda: NOON, keep)
        return gate.run(cluster, allow_missing=False)

    return once


def test_a_handshake_for_each_worker(api: Api, run_once: RunOnce) -> None:
    """Not for each request; and a run that has nothing to do asks once for each target."""
    for target in MANY:
        api.add(target.name, {})
    timetable = SHUT._replace(targets=MANY)
    assert run_once(timetable)
    assert api.connections <= AT_ONCE
    assert len(api.asked) == 2 * len(MANY)
    api.asked.clear()
    assert run_once(timetable)
    assert api.connections <= AT_ONCE
    assert sorted(api.asked) == sorted(f"GET {path}" for path in api.objects if "/t" in path)


def test_several_at_once(api: Api, run_once: RunOnce) -> None:
    """None of the first requests is answered before all of them were asked."""
    together = Barrier(AT_ONCE)

    def waits(_: Handler) -> bool:
        together.wait(20)
        return False

    for target in MANY:
        api.add(target.name, {})
    for target in MANY[:AT_ONCE]:
        api.fault("GET", target.name, waits)
    assert run_once(SHUT._replace(targets=MANY))


def test_they_are_logged_in_their_order(api: Api, run_once: RunOnce) -> None:
    """However late some are."""
    for number, target in enumerate(MANY):
        api.add(target.name, {})
        if number % AT_ONCE == 0:
            api.fault("GET", target.name, slow(0.05))
    log: list[dict[str, object]] = []
    assert run_once(SHUT._replace(targets=MANY), log)
    assert [line["target"] for line in log if "action" in line] == [str(target) for target in MANY]


def test_what_the_server_has_closed_costs_nothing(api: Api, cluster: Cluster) -> None:
    """Another connection takes its place, and nothing is sent twice."""
    for method in ("get", "patch", "get"):
        api.fault("GET", "apps", left)
        observed = cluster.get(APPS, observe)
        wait_for_the_end(api)
        if method == "patch":
            cluster.patch(
                APPS,
                {"metadata": {"resourceVersion": observed.version}, "spec": {"suspend": True}},
                observe,
            )
    assert api.connections == 3  # two were closed, and the patch's was kept
    assert len(api.asked) == 4


def wait_for_the_end(api: Api) -> None:
    """Give what the server has closed the time to be read as closed.

    Nothing is judged by how long that takes.
    """
    assert api.connections
    sleep(0.3)


def test_one_that_breaks_is_not_used_again(api: Api, cluster: Cluster) -> None:
    """Nor is one on which an answer never came."""
    api.fault("GET", "apps", dropped)
    with pytest.raises(ApiError, match="no answer"):
        cluster.get(APPS, observe)
    assert not cluster.get(APPS, observe).suspended
    assert api.connections == 2


def test_what_nobody_asked_for_is_no_answer(api: Api, cluster: Cluster) -> None:
    """A second answer at the heels of the first would be taken for that to the next request."""
    api.fault("GET", "infra", followed(HONEST))
    assert not cluster.get(INFRA, observe).suspended
    assert not cluster.get(APPS, observe).suspended
    assert api.connections == 2


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_a_busy_server_is_asked_again_when_it_says(
    api: Api, run_once: RunOnce, method: str, code: int
) -> None:
    """Not before, and the target has not failed."""
    api.fault(method, "infra", busy("1", code))
    began = monotonic()
    assert run_once(SHUT)
    assert monotonic() - began >= 1
    assert dig(api.object("infra"), "spec", "suspend") is True


@pytest.mark.parametrize(
    "later", ["9999", "99999999", "Fri, 20 Nov 2026 12:00:00 GMT", "-1", "soon"]
)
def test_a_server_that_is_busy_for_long(api: Api, run_once: RunOnce, later: str) -> None:
    """The others come first; then it is asked once more."""
    api.fault("GET", "infra", busy(later))
    assert run_once(SHUT)
    assert [dig(api.object(name), "spec", "suspend") for name in ("infra", "apps")] == [True, True]


def test_a_server_that_is_busy_for_ever(api: Api, account: Path, port: int) -> None:
    """The target has failed when its time is over, and takes none from the others."""
    api.fault("GET", "infra", *[busy("1")] * 1000)
    log: list[dict[str, object]] = []
    gate = Gate(shipped(SHUT), partial(decide, SHUT), lambda: NOON, lambda **line: log.append(line))
    assert not gate.run(Cluster("127.0.0.1", str(port), account, 0.3), allow_missing=False)
    assert log[-1]["failed"] == ["Kustomization flux-system/infra"]
    assert dig(api.object("apps"), "spec", "suspend") is True


def test_one_answer_is_read_at_a_time(api: Api, cluster: Cluster) -> None:
    """What is made of the largest is a good part of a Pod's memory."""
    for target in MANY:
        api.add(target.name, {})
    reading: list[Target] = []
    most = 0

    def read(target: Target, live: object) -> Observed:
        nonlocal most
        reading.append(target)
        sleep(0.002)
        most = max(most, len(reading))
        reading.remove(target)
        return observe(target, json.loads(json.dumps(live)))

    assert len(list(cluster.each(MANY, lambda mine, target: mine.get(target, read)))) == len(MANY)
    assert most == 1
