"""When the gate has to run: the schedules that cover every edge of a timetable.

With the actuator `Gate` a CronJob only says when the gate runs, so a schedule may fire too often
but must never leave an edge uncovered. The windows' own schedules, in the policy's time zone, are
those that a person reads. That no edge is missed is for those in UTC beside them (`utc_edges`), as
the controller may know other zone rules than the gate. Closing edges are moved ahead by
`closesEarly`, on the wall clock here and in real time there.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import time, timedelta
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from krm_windows.gate.annotations import digest
from krm_windows.plan import covering, utc_edges
from krm_windows.plan import timetable as timetables
from krm_windows.plan.covering import HOUR
from krm_windows.policy import phrases
from krm_windows.policy.model import CronJobNames
from krm_windows.schedule.bits import DAY
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import End, Rule, Timetable

UTC = "Etc/UTC"


class Edge(Enum):
    """What a CronJob runs for, where it is not the periodic resync."""

    OPENING = "opening"
    CLOSING = "closing"
    # In UTC, for what recurs and what is dated: it may be an hour beside the edge (ADR 24).
    EITHER = "either"


class Trigger(NamedTuple):
    """One CronJob: what its name says, when it fires, in which zone, and the windows in words.

    For the actuator `Kubectl`, `suspends` is what it writes, at the edge of the field `path` below
    `spec`; one that only runs the gate has neither. `edge` is None for the resync.
    """

    slug: str
    schedule: str
    time_zone: str
    words: str
    given: str | None = None
    suspends: bool | None = None
    path: str = ""
    edge: Edge | None = None


class Wording(NamedTuple):
    """What the policy says of each rule.

    Its own cron schedules to keep, given names, and sentences.
    """

    schedules: Mapping[tuple[str, str], str] = MappingProxyType({})
    given: Mapping[str, CronJobNames] = MappingProxyType({})
    words: Mapping[str, str] = MappingProxyType({})


def triggers(
    timetable: Timetable,
    wording: Wording,
    interval: timedelta,
) -> tuple[Trigger, ...]:
    """Return every trigger of a timetable, sorted by name, equal schedules once."""
    found = [_resync(timetable, interval)]
    for rule in timetable.windows:
        found.extend(_window(timetable, rule, wording))
    # A run every minute meets all edges.
    if interval > timedelta(minutes=1):
        found.extend(_edges(timetable))
    return _distinct(found)


def _distinct(triggers: Iterable[Trigger]) -> tuple[Trigger, ...]:
    """Merge triggers with one schedule, but never two whose names the policy gives."""
    groups: dict[tuple[str, str], list[Trigger]] = {}
    # What a person knows a window by comes first.
    ordered = sorted(triggers, key=lambda each: (each.edge is Edge.EITHER, each.slug))
    for trigger in ordered:
        same = (trigger.schedule, trigger.time_zone)
        groups.setdefault(same, []).append(trigger)
    found: list[Trigger] = []
    for group in groups.values():
        found.extend(_merged(group))
    return tuple(sorted(found, key=lambda trigger: trigger.slug))


def _merged(group: list[Trigger]) -> list[Trigger]:
    # A dict keeps the order of its keys, a set would not.
    words = "; ".join(dict.fromkeys(trigger.words for trigger in group))
    # A name in the policy is a promise; where there is none, the first by name stands for all.
    kept = [trigger for trigger in group if trigger.given]
    if not kept:
        kept = group[:1]
    return [trigger._replace(words=words) for trigger in kept]


def _window(
    timetable: Timetable,
    rule: Rule,
    wording: Wording,
) -> Iterator[Trigger]:
    if not isinstance(rule.begins, Recurrence):
        return
    name = rule.key
    given = wording.given.get(rule.name)
    words = wording.words.get(rule.name, name)
    zone = timetable.time_zone
    # A schedule that the policy itself has is kept as it is written, as a person knows it again.
    opens = wording.schedules.get((rule.name, "opens"))
    if opens is None:
        opens = covering.cover(rule.begins, covering.moments(rule.begins))
    yield Trigger(
        f"open-{name}",
        opens,
        zone,
        f"opens {words}",
        given.open if given else None,
        edge=Edge.OPENING,
    )
    closes = wording.schedules.get((rule.name, "closes"))
    # One that is moved ahead by `closesEarly` is not what was written, and no fields are moved
    # alone.
    if closes is None or timetable.closes_early:
        closes = _closing(rule.begins, rule.ends, timetable.closes_early)
    yield Trigger(
        f"close-{name}",
        closes,
        zone,
        f"closes {words}",
        given.close if given else None,
        edge=Edge.CLOSING,
    )


def _closing(begins: Recurrence, ends: End, early: timedelta) -> str:
    """Return the schedule that covers the ends of a recurring window, `early` ahead of them."""
    back = -_minutes(early)
    if isinstance(ends, Recurrence):
        return covering.cover(ends, covering.shifted(covering.moments(ends), back))
    if not isinstance(ends, time | timedelta):
        raise TypeError(f"a recurring window has no end of type {type(ends).__name__}")
    at = covering.ends_of(covering.moments(begins), ends)
    return covering.cover(begins, covering.shifted(at, back))


def _edges(timetable: Timetable) -> Iterator[Trigger]:
    """Yield the runs in UTC that meet every edge, whatever the controller's zone data."""
    for hour, schedule in utc_edges.schedules(timetables.covered(timetable).table):
        slug = f"edge-utc-{hour:02}"
        yield Trigger(slug, schedule, UTC, "edges, in UTC", edge=Edge.EITHER)


def _resync(timetable: Timetable, interval: timedelta) -> Trigger:
    """Return the periodic resync, its offset hashed so that a fleet does not run in one second."""
    every = _minutes(interval)
    # Two clusters with one policy do not run in the same second either.
    who = f"{timetable.policy}@{timetable.cluster or ''}"
    # Not at random: the same policy has the same schedule in each build.
    # 64 bits are enough to spread evenly over the at most 1440 minutes of a period.
    offset = int(digest(who), 16) % every
    # `every hour` is every 1 hour.
    every_in_words = phrases.duration(interval).removeprefix("1 ")
    return Trigger("resync", _every(every, offset), UTC, f"runs every {every_in_words}")


def _every(every: int, offset: int) -> str:
    """Return the schedule of a period that divides a day, in minutes, moved by `offset` minutes."""
    hour, minute = divmod(offset, HOUR)
    if every == 1:
        return "* * * * *"
    if every < HOUR:
        # A step counts from the first value of its range: 7-59/15 is 7, 22, 37 and 52.
        return f"{minute}-59/{every} * * * *"
    if every == HOUR:
        return f"{minute} * * * *"
    if every == DAY:
        return f"{minute} {hour} * * *"
    return f"{minute} {hour}-23/{every // HOUR} * * *"


def _minutes(span: timedelta) -> int:
    return span // timedelta(minutes=1)
