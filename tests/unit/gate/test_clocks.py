"""A node whose clock is wrong opens nothing, and says so.

It closes what either clock says is closed.
"""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from threading import Event

import pytest
import zoned
from api_server import Api, closed_by, kustomization

from krm_windows.gate import events, hooks
from krm_windows.gate.annotations import APART, Cause, annotation, read
from krm_windows.gate.clocks import MOST, Clocks
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Kind, Rule, Timetable

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
FIVE = 5 * MINUTE
APPS = kustomization("apps", "v1")
OURS = annotation("flux-system/p")
CLOSED: dict[str, object] = {OURS: closed_by("flux-system/p")}
WINDOW = Rule(Kind.WINDOW, "midday", NOON, NOON + HOUR)
POLICY = zoned.timetable(
    policy="flux-system/p", time_zone="UTC", targets=(APPS,), windows=(WINDOW,)
)
HOOK = json.dumps(
    {
        "namespace": "line",
        "hooks": {
            "beforeOpen": {"name": "p-before-open", "seconds": 1, "metadata": {}, "spec": {}}
        },
    }
)


@dataclass
class Node:
    """A node whose clock shows a time, and is ahead of the API server's by the last `Date`."""

    api: Api
    port: int
    account: Path
    log: list[dict[str, object]] = field(default_factory=list)

    def run(
        self,
        now: datetime,
        ahead: timedelta,
        timetable: Timetable = POLICY,
        around: Callable[..., bool] = Gate.run,
    ) -> bool:
        """Run once."""
        self.api.ahead = -ahead
        gate = Gate(
            shipped(timetable),
            partial(decide, timetable),
            lambda: now,
            lambda **line: self.log.append(line),
        )
        return around(
            gate, Cluster("127.0.0.1", str(self.port), self.account, 5), allow_missing=False
        )

    def puts(self, *, suspended: bool) -> None:
        """Let the target be open, or closed by the gate."""
        spec, notes = ({"suspend": True}, CLOSED) if suspended else ({}, None)
        self.api.add(
            "apps", spec, annotations=notes, by="krm-windows", status={"lastAppliedRevision": "1"}
        )

    def suspended(self) -> bool:
        """Whether the target is."""
        return dig(self.api.object("apps"), "spec", "suspend") is True


@pytest.fixture
def node(api: Api, port: int, account: Path) -> Node:
    """A node, and an API server with a target."""
    return Node(api, port, account)


# When it is by the node's clock, and how far that is ahead; whether the window is open by it, and
# by the server's.
TIMES = {
    "ahead, at the opening": (NOON + MINUTE, FIVE),
    "behind, at the opening": (NOON - MINUTE, -FIVE),
    "ahead, in the window": (NOON + HOUR / 2, FIVE),
    "behind, in the window": (NOON + HOUR / 2, -FIVE),
    "ahead, at the close": (NOON + HOUR + MINUTE, FIVE),
    "behind, at the close": (NOON + HOUR - MINUTE, -FIVE),
    "ahead, long closed": (NOON + 3 * HOUR, FIVE),
    "a day behind, in the window": (NOON + HOUR / 2 - 24 * HOUR, -24 * HOUR),
}


@pytest.mark.parametrize(("now", "ahead"), TIMES.values(), ids=TIMES)
def test_nothing_is_opened(node: Node, now: datetime, ahead: timedelta) -> None:
    """Whatever either clock says; the run has failed, and says by how much they are apart."""
    node.puts(suspended=True)
    assert not node.run(now, ahead)
    assert node.suspended()
    assert not [body for body in node.api.bodies if dig(body, "spec", "suspend") is False]
    seconds = round(ahead.total_seconds())
    skew_seconds = node.log[-1]["skewSeconds"]
    assert isinstance(skew_seconds, int)
    assert abs(skew_seconds - seconds) <= 2
    words = f"nothing was opened: this node's clock is {skew_seconds:+} s from the API server's"
    assert node.log[-2]["error"] == words


@pytest.mark.parametrize(("now", "ahead"), TIMES.values(), ids=TIMES)
def test_what_either_clock_closes_is_closed(node: Node, now: datetime, ahead: timedelta) -> None:
    """And what is open by both stays as it is; the run has failed either way."""
    node.puts(suspended=False)
    assert not node.run(now, ahead)
    is_open_by_both = decide(POLICY, now).open and decide(POLICY, now - ahead).open
    assert node.suspended() is not is_open_by_both


@pytest.mark.parametrize("ahead", [timedelta(0), MINUTE - 2 * SECOND, 2 * SECOND - MINUTE])
def test_a_small_difference_is_none(node: Node, ahead: timedelta) -> None:
    """What nodes that keep time are apart by is no error."""
    node.puts(suspended=True)
    assert node.run(NOON + HOUR / 2, ahead)
    assert not node.suspended()


# By the name of why it would be opened: the policy, when it is by the node's clock, and what the
# target has applied.
OPENED = {
    "open": (POLICY, NOON + MINUTE, {"lastAppliedRevision": "1"}),
    "released": (
        POLICY._replace(targets=(), released=(APPS,)),
        NOON + MINUTE,
        {"lastAppliedRevision": "1"},
    ),
    "released, while closed": (
        POLICY._replace(targets=(), released=(APPS,)),
        NOON + 3 * HOUR,
        {"lastAppliedRevision": "1"},
    ),
    "never applied": (POLICY, NOON + 3 * HOUR, {}),
}


@pytest.mark.parametrize(("policy", "now", "status"), OPENED.values(), ids=OPENED)
def test_the_annotation_and_an_event_say_why(
    node: Node, policy: Timetable, now: datetime, status: dict[str, object]
) -> None:
    """`status` and the alerts read the annotation, which is written once."""
    node.api.add("apps", {"suspend": True}, annotations=CLOSED, by="krm-windows", status=status)
    metadata = node.api.object("apps")["metadata"]
    assert isinstance(metadata, dict)
    metadata["creationTimestamp"] = (now - HOUR / 2).isoformat()
    for _ in range(3):
        assert not node.run(now, FIVE, policy, around=events.run)
    assert node.suspended()
    said = read(str(dig(node.api.object("apps"), "metadata", "annotations", OURS)))
    assert said is not None
    if policy is POLICY and status:  # what opens without a window has nothing to be read
        assert (said.reason, said.cause) == (APART, Cause.CLOCK_SKEW)
        assert len(node.api.bodies) == 1
    written = [live for path, live in node.api.objects.items() if "/events/" in path]
    assert [(each["type"], each["reason"]) for each in written] == [("Warning", "WindowNotOpened")]
    assert str(written[0]["message"]).startswith(f"not opened: {APART}, by flux-system/p")
    node.log.clear()
    assert node.run(now, timedelta(0), policy)
    assert not node.suspended()


@pytest.mark.parametrize("now", [NOON + MINUTE, NOON + HOUR / 2, NOON + 2 * HOUR])
def test_no_hook_is_begun(node: Node, now: datetime) -> None:
    """Neither before an opening that may not be due nor after a close that may not have come."""
    node.puts(suspended=True)
    assert not node.run(now, FIVE, around=partial(hooks.run, text=HOOK, pause=0.01, grace=0.0))
    assert node.api.jobs() == []
    assert node.suspended()


def test_hooks_keep_nothing_from_being_closed(node: Node) -> None:
    """By the node's clock it is open, by the API server's the window has ended."""
    node.puts(suspended=False)
    around = partial(hooks.run, text=HOOK, pause=0.01, grace=0.0)
    assert not node.run(NOON + HOUR - MINUTE, -FIVE, around=around)
    assert node.suspended()


def compared(date: str | None, answered: datetime = NOON) -> timedelta:
    """Return how far clocks are apart by one answer."""
    clocks = Clocks()
    clocks.compare(date, answered)
    return clocks.skew


@pytest.mark.parametrize("ahead", [-FIVE, -SECOND, timedelta(0), 3 * SECOND, FIVE])
def test_the_way_of_an_answer_is_part_of_it(ahead: timedelta) -> None:
    """A request takes ten seconds at most, and nothing is opened from sixty on."""
    assert compared(format_datetime(NOON, usegmt=True), NOON + ahead) == ahead
    assert MOST == MINUTE


@pytest.mark.parametrize(
    "date", [None, "", "now", "Fri, 20 Nov 2026 12:00:00 -0000", "Fri, 20 Nov 99999 12:00:00 GMT"]
)
def test_a_date_that_says_nothing(date: str | None) -> None:
    """It cannot be read, or is of no time zone."""
    assert compared(date) == timedelta(0)


def test_a_date_of_another_zone() -> None:
    """It is an instant all the same."""
    assert compared(format_datetime(NOON.astimezone(timezone(HOUR)))) == timedelta(0)


class Compared(timedelta):
    """A skew that tells when it is compared first, and has that wait for the other thread."""

    begun = Event()
    other_is_done = Event()

    def __abs__(self) -> timedelta:
        """Its amount."""
        if not self.begun.is_set():
            self.begun.set()
            self.other_is_done.wait(0.5)
        return timedelta(seconds=self.total_seconds())


def test_the_largest_skew_is_kept_whichever_thread_stores_it() -> None:
    """One has compared 30 s with what is known while another compares and stores 70 s."""
    clocks = Clocks(Compared(seconds=1))

    def compare(seconds: int) -> None:
        clocks.compare(format_datetime(NOON, usegmt=True), NOON + seconds * SECOND)

    def compare_meanwhile() -> None:
        assert Compared.begun.wait(20)
        compare(70)
        Compared.other_is_done.set()

    with ThreadPoolExecutor() as pool:
        first = pool.submit(compare, 30)
        second = pool.submit(compare_meanwhile)
        first.result()
        second.result()
    assert clocks.skew == 70 * SECOND
    assert clocks.are_apart
