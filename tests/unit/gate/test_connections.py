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
from api_server import Api, Fault, Handler, busy, dropped, ended, followed, kustomization, left, raw
from effort import mostly_slow

from krm_windows.gate.kubernetes import AT_ONCE, ApiError, Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.gate.target import observe
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
    return Cluster("127.0.0.1", str(port), account, 5)


@pytest.fixture
def run_once(cluster: Cluster) -> RunOnce:
    def once(timetable: Timetable, log: list[dict[str, object]] | None = None) -> bool:
        keep = (lambda **line: log.append(line)) if log is not None else dict
        gate = Gate(shipped(timetable), partial(decide, timetable), lambda: NOON, keep)
        return gate.run(cluster, allow_missing=False)

    return once


def test_a_handshake_for_each_worker(api: Api, run_once: RunOnce) -> None:
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
    together = Barrier(AT_ONCE)

    def waits(_: Handler) -> bool:
        together.wait(20)
        return False

    for target in MANY:
        api.add(target.name, {})
    for target in MANY[:AT_ONCE]:
        api.fault("GET", target.name, waits)
    assert run_once(SHUT._replace(targets=MANY))


def test_each_is_logged_as_soon_as_it_is_done(api: Api, run_once: RunOnce) -> None:
    log: list[dict[str, object]] = []

    def waits_for_the_others(_: Handler) -> bool:
        end = monotonic() + 4
        while len(log) < len(MANY) - 1 and monotonic() < end:
            sleep(0.01)
        return False

    for target in MANY:
        api.add(target.name, {})
    api.fault("GET", MANY[0].name, waits_for_the_others)
    assert run_once(SHUT._replace(targets=MANY), log)
    named = [line["target"] for line in log if "action" in line]
    assert named[-1] == str(MANY[0])
    assert sorted(map(str, named)) == sorted(map(str, MANY))


def test_what_the_server_has_closed_costs_nothing(api: Api, cluster: Cluster) -> None:
    for method in ("get", "patch", "get"):
        api.fault("GET", "apps", left)
        observed = observe(APPS, cluster.get(APPS))
        wait_for_the_end(api)
        if method == "patch":
            cluster.patch(
                APPS, {"metadata": {"resourceVersion": observed.version}, "spec": {"suspend": True}}
            )
    assert api.connections == 3  # two were closed, and the patch's was kept
    assert len(api.asked) == 4


def wait_for_the_end(api: Api) -> None:
    assert api.connections
    sleep(0.3)


def test_one_that_breaks_is_not_used_again(api: Api, cluster: Cluster) -> None:
    api.fault("GET", "apps", dropped)
    with pytest.raises(ApiError, match="no answer"):
        observe(APPS, cluster.get(APPS))
    assert not observe(APPS, cluster.get(APPS)).suspended
    assert api.connections == 2


def test_what_nobody_asked_for_is_no_answer(api: Api, cluster: Cluster) -> None:
    """A second answer at the heels of the first would be taken for that to the next request."""
    api.fault("GET", "infra", followed(HONEST))
    assert not observe(INFRA, cluster.get(INFRA)).suspended
    assert not observe(APPS, cluster.get(APPS)).suspended


@pytest.mark.parametrize(
    "busiest", mostly_slow([("GET", 429), ("GET", 503), ("PATCH", 429), ("PATCH", 503)], every=3)
)
def test_a_busy_server_is_asked_again_when_it_says(
    api: Api, run_once: RunOnce, busiest: tuple[str, int]
) -> None:
    method, code = busiest
    api.fault(method, "infra", busy("1", code))
    began = monotonic()
    assert run_once(SHUT)
    assert monotonic() - began >= 1
    assert dig(api.object("infra"), "spec", "suspend") is True


@pytest.mark.parametrize(
    "later",
    mostly_slow(["9999", "99999999", "Fri, 20 Nov 2026 12:00:00 GMT", "-1", "soon", "0"], every=5),
)
def test_a_server_that_is_busy_for_long(api: Api, run_once: RunOnce, later: str) -> None:
    api.fault("GET", "infra", busy(later))
    assert run_once(SHUT)
    assert [dig(api.object(name), "spec", "suspend") for name in ("infra", "apps")] == [True, True]


@pytest.mark.slow  # three seconds of waiting
def test_a_server_that_is_busy_for_ever(api: Api, account: Path, port: int) -> None:
    api.fault("GET", "infra", *[busy("1")] * 1000)
    log: list[dict[str, object]] = []
    gate = Gate(shipped(SHUT), partial(decide, SHUT), lambda: NOON, lambda **line: log.append(line))
    assert not gate.run(Cluster("127.0.0.1", str(port), account, 0.3), allow_missing=False)
    assert log[-1]["failed"] == ["Kustomization flux-system/infra"]
    assert dig(api.object("apps"), "spec", "suspend") is True


def chunked(content: bytes) -> bytes:
    pieces = [content[at : at + 7] for at in range(0, len(content), 7)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


def sized(content: bytes) -> bytes:
    interim = b"HTTP/1.1 100 Continue\r\nLink: <x>\r\n\r\n"
    return interim + b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content


@pytest.mark.parametrize("written", [chunked, sized])
def test_an_answer_in_many_records(api: Api, cluster: Cluster, written: object) -> None:
    assert callable(written)
    api.add("apps", {"suspend": True, "filler": "x" * 40_000})
    answer = written(json.dumps(api.object("apps")).encode())
    pieces = [answer[at : at + 1000] for at in range(0, len(answer), 1000)]
    api.fault("GET", "apps", raw(*pieces))
    assert observe(APPS, cluster.get(APPS)).suspended


@pytest.mark.parametrize("end", ["of TCP", "of TLS"])
def test_what_has_ended_is_not_used_again(api: Api, cluster: Cluster, end: str) -> None:
    """Neither where the server just goes, nor where it says so before, as Go does."""
    content = json.dumps(api.object("apps")).encode()
    ways: dict[str, Fault] = {"of TCP": left, "of TLS": ended(sized(content))}
    api.fault("GET", "apps", ways[end])
    observe(APPS, cluster.get(APPS))
    wait_for_the_end(api)
    observe(APPS, cluster.get(APPS))
    assert api.connections == 2
