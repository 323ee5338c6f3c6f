"""A node whose clock is wrong opens nothing, and says so.

It closes what either clock says is closed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from functools import partial
from pathlib import Path

import pytest
import zoned
from api_server import Api, closed_by, kustomization
from hook_runs import NOTE, file

from krm_windows.gate import events, hooks
from krm_windows.gate.annotations import APART, Cause, annotation, read
from krm_windows.gate.clocks import MOST, skew
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


@dataclass
class Node:
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
        self.api.ahead = -ahead
        gate = Gate(
            shipped(timetable),
            partial(decide, timetable),
            lambda: now,
            lambda **line: self.log.append(line),
            files=self.account,
        )
        return around(
            gate, Cluster("127.0.0.1", str(self.port), self.account, 5), allow_missing=False
        )

    def puts(self, *, suspended: bool) -> None:
        spec, notes = ({"suspend": True}, CLOSED) if suspended else ({}, None)
        self.api.add(
            "apps", spec, annotations=notes, by="krm-windows", status={"lastAppliedRevision": "1"}
        )

    def suspended(self) -> bool:
        return dig(self.api.object("apps"), "spec", "suspend") is True


@pytest.fixture
def node(api: Api, port: int, account: Path) -> Node:
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
    node.puts(suspended=False)
    assert not node.run(now, ahead)
    is_open_by_both = decide(POLICY, now).open and decide(POLICY, now - ahead).open
    assert node.suspended() is not is_open_by_both


@pytest.mark.parametrize("ahead", [timedelta(0), MINUTE - 2 * SECOND, 2 * SECOND - MINUTE])
def test_a_small_difference_is_none(node: Node, ahead: timedelta) -> None:
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


@pytest.mark.parametrize(
    ("now", "ahead", "suspended"),
    [
        (NOON + MINUTE, FIVE, True),
        (NOON + HOUR / 2, FIVE, True),
        (NOON + 2 * HOUR, FIVE, True),
        # By the node's clock it is open, by the API server's the window has ended.
        (NOON + HOUR - MINUTE, -FIVE, False),
    ],
)
def test_no_hook_is_begun(node: Node, now: datetime, ahead: timedelta, *, suspended: bool) -> None:
    node.puts(suspended=suspended)
    node.api.store(NOTE, {"metadata": {"name": "p-hooks"}})
    (node.account / "hooks.json").write_text(file("beforeOpen"))
    assert not node.run(now, ahead, around=partial(hooks.run, pause=0.01, grace=0.0))
    assert node.api.jobs() == []
    assert node.suspended()


@pytest.mark.parametrize("ahead", [-FIVE, -SECOND, timedelta(0), 3 * SECOND, FIVE])
def test_the_way_of_an_answer_is_part_of_it(ahead: timedelta) -> None:
    """A request takes ten seconds at most, and nothing is opened from sixty on."""
    assert skew(format_datetime(NOON, usegmt=True), NOON + ahead) == ahead
    assert MOST == MINUTE


@pytest.mark.parametrize(
    "date", [None, "", "now", "Fri, 20 Nov 2026 12:00:00 -0000", "Fri, 20 Nov 99999 12:00:00 GMT"]
)
def test_a_date_that_says_nothing(date: str | None) -> None:
    assert skew(date, NOON) == timedelta(0)


def test_a_date_of_another_zone() -> None:
    assert skew(format_datetime(NOON.astimezone(timezone(HOUR))), NOON) == timedelta(0)
