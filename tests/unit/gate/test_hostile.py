"""An API server that is slow or broken.

Whatever it says of one target, the others are updated, and in time.
"""

import json
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TypeVar

import pytest
import zoned
from api_server import (
    GROUP,
    TLS,
    Api,
    Fault,
    body,
    closed_by,
    ended,
    kustomization,
    managed,
    raw,
    said,
    status,
)
from effort import crossed, mostly_slow
from hook_runs import NOTE, file

from krm_windows.gate import events, hooks
from krm_windows.gate.annotations import annotation
from krm_windows.gate.connection import LARGEST
from krm_windows.gate.kubernetes import AT_ONCE, ApiError, Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.gate.target import observe
from krm_windows.gate.timetable import Target, run_seconds
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Kind, Rule, Timetable

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
INFRA, APPS = kustomization("infra", "v1"), kustomization("apps", "v1")
SHUT = zoned.timetable(policy="flux-system/p", time_zone="UTC", targets=(INFRA, APPS))
ALWAYS = SHUT._replace(outside_windows="Open")
MORNING = SHUT._replace(windows=(Rule(Kind.WINDOW, "morning", NOON - 4 * HOUR, NOON),))
OURS = annotation("flux-system/p")
ANNOTATION = closed_by("flux-system/p")
HOOK = file("beforeOpen", "afterClose", seconds=1)
T = TypeVar("T")
BUSY = 20.0  # seconds that only turn a hang into a failure
PATIENCE = 1.0  # seconds: all that an endless request gets, and enough for the others when busy
RunOnce = Callable[..., bool]


@pytest.fixture
def run_once(api: Api, port: int, account: Path) -> RunOnce:
    (account / "hooks.json").write_text(HOOK)
    api.store(NOTE, {"metadata": {"name": "p-hooks"}})

    def once(
        timetable: Timetable,
        *,
        timeout: float = 5,
        around: RunOnce = Gate.run,
        now: datetime = NOON - HOUR,
    ) -> bool:
        gate = Gate(
            shipped(timetable), partial(decide, timetable), lambda: now, dict, files=account
        )
        return around(gate, Cluster("127.0.0.1", str(port), account, timeout), allow_missing=False)

    return once


def suspended(api: Api, name: str) -> object:
    return dig(api.object(name), "spec", "suspend")


# --- Answers --------------------------------------------------------------------------------------

ODD = [
    None,
    True,
    0,
    -1,
    1e308,
    10**400,
    "",
    "x",
    "\ud800",
    "true",
    "9999-12-31T23:59:59+14:00",
    "0001-01-01T00:00:00Z",
    "2026-11-20T10:59:00",
    "x" * 100_000,
    [],
    [[]],
    {},
    {"": {}},
]


def honest() -> dict[str, object]:
    fields = {"metadata": {"annotations": {OURS: ""}}, "spec": {"suspend": True}}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Kustomization",
        "metadata": {
            "name": "infra",
            "namespace": "flux-system",
            "uid": "a-uid",
            "resourceVersion": "7",
            "creationTimestamp": "2020-01-01T00:00:00Z",
            "annotations": {"team": "blue", OURS: ANNOTATION},
            "managedFields": [
                managed("kustomize-controller", {"spec": {"interval": ""}}),
                managed("krm-windows", fields),
            ],
        },
        "spec": {"interval": "10m", "suspend": True},
        "status": {
            "lastAppliedRevision": "main@sha1:1",
            "conditions": [{"type": "Ready", "status": "True", "reason": "Done"}],
        },
    }


def paths(live: object, above: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    yield above
    if isinstance(live, dict | list):
        for key, value in live.items() if isinstance(live, dict) else enumerate(live):
            yield from paths(value, (*above, key))


def changed(live: object, path: tuple[object, ...], value: object) -> object:
    if not path:
        return value
    live = deepcopy(live)
    inner = live
    for key in path[:-1]:
        inner = inner[key]  # type: ignore[index]
    inner[path[-1]] = value  # type: ignore[index]
    return live


def held(live: object, path: tuple[object, ...]) -> object:
    for key in path:
        live = live[key]  # type: ignore[index]
    return live if isinstance(live, dict | list) else None


PLACES = list(paths(honest()))


class Said(Cluster):
    def __init__(self, answer: object, honest_one: dict[str, object]) -> None:
        self.given, self.other = answer, honest_one
        self.patched: list[tuple[str, dict[str, object]]] = []

    def renew(self, targets: int) -> None:
        self._end = monotonic() + BUSY * max(1, targets)

    def each(
        self, targets: Sequence[Target], work: Callable[[Cluster, Target], T]
    ) -> Iterator[tuple[Target, T]]:
        for target in targets:
            yield target, work(self, target)

    def ask(self, _: str, path: str, body: dict[str, object] | None = None) -> dict[str, object]:
        name = path.partition("?")[0].rpartition("/")[2]
        if body is not None:
            self.patched.append((name, body))
        if name != "apps":
            if not isinstance(self.given, dict):
                raise ApiError(-1, "no object")
            return self.given
        if body is not None:
            self.other = {
                **self.other,
                "metadata": {**self.meta(), **body["metadata"]},
                **without(body, "metadata"),
            }  # type: ignore[dict-item]
        return self.other

    def meta(self) -> dict[str, object]:
        found = self.other["metadata"]
        assert isinstance(found, dict)
        return found

    def patched_infra(self) -> bool:
        return any(name == "infra" for name, _ in self.patched)


def without(live: dict[str, object], key: str) -> dict[str, object]:
    return {each: value for each, value in live.items() if each != key}


def other() -> dict[str, object]:
    return {
        "metadata": {"name": "apps", "namespace": "flux-system", "resourceVersion": "1"},
        "spec": {},
        "status": {"lastAppliedRevision": "1"},
    }


def opened(cluster: Said) -> bool:
    return any(
        name == "infra" and dig(patch, "spec", "suspend") is False
        for name, patch in cluster.patched
    )


@pytest.mark.parametrize(
    "timetable", [SHUT, ALWAYS, ALWAYS._replace(first_apply="Wait")], ids=["shut", "open", "wait"]
)
@pytest.mark.parametrize("by", mostly_slow(["krm-windows", "kustomize-controller"], every=2))
# By thirds, of which each has values of several types.
@pytest.mark.parametrize("third", mostly_slow(range(3), every=3))
def test_any_odd_value_at_any_place(timetable: Timetable, by: str, third: int) -> None:
    base = changed(honest(), ("metadata", "managedFields", 1, "manager"), by)
    may_open = by == "krm-windows" and timetable.outside_windows == "Open"
    for place in PLACES:
        if by != "krm-windows" and "managedFields" in place and held(honest(), place):
            continue  # without a map of fields nobody is said to have written them
        if timetable.first_apply == "Wait" and place[:1] == ("status",):
            continue  # of what was never applied, a suspension counts as the gate's
        for value in ODD[third::3]:
            cluster = Said(changed(base, place, value), other())
            gate = Gate(shipped(timetable), partial(decide, timetable), lambda: NOON, dict)
            well = gate.run(cluster, allow_missing=False)
            assert dig(cluster.other, "spec", "suspend") is (
                True if timetable.outside_windows == "Closed" else None
            )
            assert not opened(cluster) or may_open, (place, value)
            updated = isinstance(cluster.given, dict) and not cluster.patched_infra()
            assert not well or updated, (place, value)


NOT_JSON = [
    b"[" * 200_000,
    b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    b"",
    b"[]",
    b'"text"',
    b"\xff\xfe{}",
    b'{"n": ' + b"9" * 5000 + b"}",
    b'{"metadata": {"resourceVersion": "1"}, "spec": {"suspend": true}}'[:-1],
    b"<html>",
    json.dumps(other()).encode("utf-16"),
]


METHODS = ("GET", "PATCH")


@pytest.mark.parametrize(("method", "number"), crossed(METHODS, range(len(NOT_JSON))))
def test_a_body_that_is_no_object(api: Api, run_once: RunOnce, method: str, number: int) -> None:
    api.fault(method, "infra", *[body(NOT_JSON[number])] * 10)
    assert not run_once(SHUT)
    assert suspended(api, "apps") is True


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ANSWERS = {
    "nothing": b"",
    "nonsense": b"SSH-2.0-OpenSSH_9.2\r\n",
    "a status of words": b"HTTP/1.1 fine OK\r\n\r\n",
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "elsewhere": (
        b"HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"
    ),
    "a length of words": HEAD + b"Content-Length: much\r\n\r\n{}",
    "a length that would fill the memory": HEAD + b"Content-Length: 999999999999999\r\n\r\n{}",
    "cut off in a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}",
    "compressed": HEAD + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b",
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
}


def test_an_answer_that_ends_too_early(api: Api, run_once: RunOnce) -> None:
    """TLS says itself that nothing was cut off; the length says otherwise."""
    metadata = {"name": "infra", "namespace": "flux-system", "resourceVersion": "1"}
    whole = json.dumps({**other(), "metadata": metadata}).encode()
    head = HEAD + b"Content-Length: %d\r\n\r\n" % (len(whole) + 1)
    api.fault("GET", "infra", *[ended(head + whole)] * 10)
    assert not run_once(SHUT)
    assert [suspended(api, name) for name in ("infra", "apps")] == [None, True]


def test_a_failure_that_is_no_json(api: Api, port: int, account: Path) -> None:
    """Its status says more than its words: a proxy answers in HTML."""
    api.fault("GET", "apps", body(b"<html>", "text/html", 502))
    with pytest.raises(ApiError, match=r"502 to GET .*<html>") as raised:
        Cluster("127.0.0.1", str(port), account).get(APPS)
    assert raised.value.status == 502


@pytest.mark.parametrize(("method", "answer"), crossed(METHODS, ANSWERS))
def test_an_answer_that_is_no_http(api: Api, run_once: RunOnce, method: str, answer: str) -> None:
    api.fault(method, "infra", *[raw(ANSWERS[answer])] * 10)
    assert not run_once(SHUT)
    assert suspended(api, "apps") is True


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Type: application/json; charset=utf-16",
        b"Content-Type: text/html",
        b"Content-Type: \xff",
        b"Date: \xff",
    ],
)
def test_headers_that_say_nothing(api: Api, run_once: RunOnce, head: bytes) -> None:
    content = json.dumps(api.object("infra")).encode()
    answer = (
        b"HTTP/1.1 200 OK\r\n" + head + b"\r\nContent-Length: %d\r\n\r\n" % len(content) + content
    )
    api.fault("GET", "infra", raw(answer))
    assert run_once(SHUT)
    assert [suspended(api, name) for name in ("infra", "apps")] == [True, True]


# --- Answers without an end -----------------------------------------------------------------------

DRIPS = {
    "no answer": raw(endless=b"", pause=0),
    "a header": raw(b"HTTP/1.1 200 OK\r\nX: ", endless=b"x", pause=0.01),
    "a body": raw(HEAD + b"Content-Length: 100000\r\n\r\n{", endless=b" ", pause=0.01),
}
FLOODS = {
    "a body": raw(HEAD + b"Content-Length: 9999999999\r\n\r\n{", endless=b" " * 65536),
    "a body without length": raw(HEAD + b"\r\n{", endless=b" " * 65536),
}


@pytest.mark.parametrize("drip", mostly_slow(DRIPS, every=3))
def test_an_answer_that_drips(api: Api, run_once: RunOnce, drip: str) -> None:
    api.fault("GET", "infra", *[DRIPS[drip]] * 5)
    began = monotonic()
    assert not run_once(SHUT, timeout=PATIENCE)
    assert suspended(api, "apps") is True
    assert monotonic() - began < BUSY


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_an_answer_that_floods(api: Api, account: Path, port: int, flood: Fault) -> None:
    api.fault("GET", "infra", flood)
    cluster = Cluster("127.0.0.1", str(port), account, timeout=3 * BUSY)
    with pytest.raises(ApiError, match=f"more than {LARGEST} bytes"):
        observe(INFRA, cluster.get(INFRA))


def test_the_largest_object(api: Api, run_once: RunOnce) -> None:
    """What etcd takes at most, 1.5 MiB, is read."""
    api.add("infra", {"filler": "x" * (3 * 2**19)})
    assert run_once(SHUT)
    assert suspended(api, "infra") is True


@contextmanager
def plain(answer: Callable[[socket.socket, Event], None]) -> Iterator[int]:
    over = Event()
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while not over.is_set():
                connection, _ = server.accept()
                talks.append(Thread(target=talk, args=[connection]))
                talks[-1].start()

    def talk(connection: socket.socket) -> None:
        with suppress(OSError, ssl.SSLError), connection:
            answer(connection, over)

    talks = [Thread(target=serve)]
    talks[0].start()
    try:
        yield server.getsockname()[1]
    finally:
        over.set()
        server.shutdown(socket.SHUT_RDWR)
        for thread in talks:
            thread.join()
        server.close()


def _says_nothing(_: socket.socket, over: Event) -> None:
    over.wait(BUSY)


def _drips_a_handshake(connection: socket.socket, over: Event) -> None:
    """The beginning of a record of 16 KiB, a byte at a time."""
    connection.sendall(b"\x16\x03\x03\x40\x00")
    while not over.wait(0.01):
        connection.sendall(b"\x02")


def _hangs_up(connection: socket.socket, _: Event) -> None:
    connection.close()


@pytest.mark.parametrize("talk", [_says_nothing, _drips_a_handshake, _hangs_up])
def test_a_handshake_that_does_not_end(
    account: Path, talk: Callable[[socket.socket, Event], None]
) -> None:
    began = monotonic()
    with plain(talk) as port:
        cluster = Cluster("127.0.0.1", str(port), account, timeout=0.3)
        with pytest.raises(ApiError, match="no answer"):
            observe(INFRA, cluster.get(INFRA))
    assert monotonic() - began < BUSY


def test_a_server_that_does_not_read(account: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(TLS / "server.crt", TLS / "server.key")

    def talk(connection: socket.socket, over: Event) -> None:
        with tls.wrap_socket(connection, server_side=True):
            over.wait(BUSY)

    with plain(talk) as port:
        cluster = Cluster("127.0.0.1", str(port), account, timeout=2)
        with pytest.raises(ApiError, match="no answer"):
            cluster.ask("POST", "/apis", {"much": "x" * 20_000_000})


def _many(api: Api, count: int, slow: int) -> tuple[Target, ...]:
    targets = tuple(kustomization(f"t{number}", "v1") for number in range(count))
    for number, target in enumerate(targets):
        api.add(target.name, {})
        if number < slow:
            api.fault("GET", target.name, *[DRIPS["a body"]] * 9)
    return targets


def test_slow_targets_take_nothing_from_the_others(api: Api, run_once: RunOnce) -> None:
    targets = _many(api, 40, slow=20)
    began = monotonic()
    assert not run_once(SHUT._replace(targets=targets), timeout=1.0)
    assert all(suspended(api, target.name) for target in targets[20:])
    assert monotonic() - began < run_seconds(40, 1.0) + BUSY


def test_what_closes_is_updated_first(api: Api, run_once: RunOnce) -> None:
    targets = _many(api, 40, slow=0)
    api.add("old", {"suspend": True}, annotations={OURS: ANNOTATION})
    assert run_once(SHUT._replace(targets=targets, released=(kustomization("old", "v1"),)))
    assert len(api.writes()) == len(targets) + 1
    assert api.writes().index("old") > len(targets) - AT_ONCE


def test_the_time_of_a_run() -> None:
    """As long as twelve requests that hang; for two thousand targets an eighth of a second each."""
    assert [run_seconds(targets) for targets in (1, 12, 960, 2000)] == [120, 120, 120, 250]


@pytest.mark.parametrize("answer", [{}, {"kind": "Status"}, {"metadata": {"name": "infra"}}])
@pytest.mark.parametrize("timetable", [SHUT, SHUT._replace(state="Open")])
def test_an_object_that_does_not_say_whose_it_is(
    api: Api, run_once: RunOnce, timetable: Timetable, answer: dict[str, object]
) -> None:
    """It would look as one that is open, and nobody would ever hear of it."""
    api.fault("GET", "infra", *[said(answer)] * 100)
    assert not run_once(timetable)


# --- Around the run -------------------------------------------------------------------------------

HOOKED = partial(hooks.run, pause=0.01, grace=0.0)
AROUND = [
    pytest.param(partial(events.run, around=HOOKED), id="hooks and events"),
    pytest.param(HOOKED, id="hooks", marks=pytest.mark.slow),
    pytest.param(events.run, id="events", marks=pytest.mark.slow),
]
FAULTS = {
    "deep": body(b"[" * 200_000),
    "no object": said([]),
    "an odd object": said({"metadata": [], "status": "on"}),
    "an odd version": said({"metadata": {"resourceVersion": {}}}),
    "nonsense": raw(b"nonsense"),
    "refused": status(403),
}
# What drips is waited for to the end of its time.
FAULTY = [
    pytest.param(fault, id=name, marks=[pytest.mark.slow] if name == "drips" else [])
    for name, fault in {**FAULTS, "drips": DRIPS["a body"]}.items()
]


@pytest.mark.parametrize("fault", FAULTY)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(
    "where",
    [
        ("GET", "infra"),
        ("PATCH", "infra"),
        ("GET", "p-hooks"),
        ("PATCH", "p-hooks"),
        ("POST", "jobs"),
        ("POST", "events"),
    ],
)
def test_nothing_around_a_run_keeps_it_from_closing(
    api: Api, run_once: RunOnce, around: RunOnce, fault: Fault, where: tuple[str, str]
) -> None:
    before = {"occurrence": "2026-11-20T08:00:00+00:00", "cycle": 1, "stage": "MayOpen", "job": ""}
    api.store(NOTE, {"metadata": {"name": "p-hooks"}, "data": {"note": json.dumps(before)}})
    api.add("apps", {}, by="krm-windows", status={"lastAppliedRevision": "1"})
    api.fault(*where, *[fault] * 100)
    # What never ends takes all the time that a request has; what is refused at once takes none.
    timeout = PATIENCE if fault is DRIPS["a body"] else BUSY
    well = run_once(MORNING, around=around, now=NOON + HOUR, timeout=timeout)
    assert suspended(api, "apps") is True
    met = any(line.startswith(where[0]) and where[1] in line for line in api.asked)
    assert not well or where[0] == "POST" or not met


@pytest.mark.parametrize("fault", FAULTY)
def test_nothing_is_opened_where_a_hook_cannot_be_asked_for(
    api: Api, run_once: RunOnce, account: Path, fault: Fault
) -> None:
    """Its Job may be there or not: nothing is known of it."""
    for name in ("infra", "apps"):
        api.add(
            name,
            {"suspend": True},
            annotations={OURS: ANNOTATION},
            status={"lastAppliedRevision": "1"},
        )
    api.fault("POST", "jobs", *[fault] * 1000)
    (account / "hooks.json").write_text(HOOK.replace('"seconds": 1', '"seconds": 0.1'))
    assert not run_once(MORNING, around=HOOKED, timeout=0.2)
    assert [suspended(api, name) for name in ("infra", "apps")] == [True, True]


@pytest.mark.parametrize("version", [7, None, ["v1"]])
def test_a_version_that_is_none(api: Api, run_once: RunOnce, version: object) -> None:
    """It would become part of the path that is asked for."""
    api.fault("GET", GROUP, *[said({"preferredVersion": {"version": version}})] * 9)
    assert not run_once(SHUT._replace(targets=(kustomization("infra"), APPS)))
    assert suspended(api, "apps") is True
    assert not [line for line in api.asked if "infra" in line]


def test_a_token_that_is_gone_for_a_moment(api: Api, account: Path, port: int) -> None:
    """The one that was read before is good for some time."""
    gate = Gate(shipped(SHUT), partial(decide, SHUT), lambda: NOON, dict)
    cluster = Cluster("127.0.0.1", str(port), account)
    (account / "token").unlink()
    assert gate.run(cluster, allow_missing=False)
    assert suspended(api, "apps") is True
