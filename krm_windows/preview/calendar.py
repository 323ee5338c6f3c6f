"""Calendars: the open intervals of timetables over a range of days, and which of them are alike."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from krm_windows.gate.timetable import Target
from krm_windows.plan import clocks
from krm_windows.plan.clocks import Day, Today
from krm_windows.plurals import on, some
from krm_windows.schedule import wallclock
from krm_windows.schedule.table import rules_of
from krm_windows.schedule.timeline import Segment, timeline
from krm_windows.schedule.timetable import Timetable

if TYPE_CHECKING:
    from krm_windows.policy.model import Spec

_MINUTE = timedelta(minutes=1)
# So many are named before "and 12 more".
_SOME = 4


@dataclass(frozen=True, slots=True)
class Period:
    """So many days on each policy's wall clock, or of 24 hours from a moment.

    From midnight of a date, or of today; a naive moment is read on each policy's wall clock, too.
    """

    start: Day | datetime
    days: int

    def bounds(self, zone: tzinfo) -> tuple[datetime, datetime]:
        """Return the half-open UTC interval of these days in a zone."""
        length = timedelta(days=self.days)
        if isinstance(self.start, datetime):
            begins = wallclock.utc(self.start, zone).astimezone(UTC)
            return begins, begins + length
        first = clocks.day_on(self.start, zone)
        # Midnight of either day: over a change of the clock, days are not 24 hours long.
        return _midnight(first, zone), _midnight(first + length, zone)

    def on(self, zone: tzinfo) -> "Period":
        """Return it with the date that today is in a zone; it is equal until midnight there."""
        if isinstance(self.start, Today):
            return replace(self, start=self.start.on(zone))
        return self


@dataclass(frozen=True, slots=True)
class Calendar:
    """When a timetable is open in the half-open UTC interval [`begins`, `ends`).

    `intervals` are maximal and in order; `descriptions` are the paths of windows in the spec, with
    what is written there about them; `requesters` are those of overrides, with who asked for them.
    """

    timetable: Timetable
    begins: datetime
    ends: datetime
    intervals: tuple[Segment, ...]
    descriptions: tuple[tuple[str, str], ...] = ()
    requesters: tuple[tuple[str, str], ...] = ()

    @property
    def zone(self) -> ZoneInfo:
        """The policy's time zone."""
        return self.timetable.zone

    @property
    def is_open_before(self) -> bool:
        """Whether it is open a minute before these days."""
        return _is_open(self.timetable, self.begins - _MINUTE)

    @property
    def is_open_after(self) -> bool:
        """Whether it is open when these days are over."""
        return _is_open(self.timetable, self.ends)

    @property
    def name(self) -> str:
        """The policy, and the cluster if it is for one: `flux-system/week on plant-7`."""
        return named(self.timetable)


def _is_open(timetable: Timetable, at: datetime) -> bool:
    return next(iter(timeline(timetable, at, at + _MINUTE))).open


def named(timetable: Timetable) -> str:
    """Return the policy of a timetable, and the cluster if it is for one."""
    # A policy for every cluster: `flux-system/week`.
    if not timetable.cluster:
        return timetable.policy
    return f"{timetable.policy} on {timetable.cluster}"


def titles(group: Iterable[Calendar]) -> list[str]:
    """Return the policies of calendars that are alike, each with its clusters."""
    policies: dict[str, list[str]] = {}
    for one in group:
        names = policies.setdefault(one.timetable.policy, [])
        names.extend(filter(None, [one.timetable.cluster]))
    return [on(*each) for each in policies.items()]


def gated_by(timetable: Timetable) -> str:
    """Name the targets of a policy; those by label are none before a cluster is asked."""
    named_targets = ", ".join(map(str, timetable.targets))
    return named_targets or "the objects that its targets select by label"


def calendars(timetables: Iterable[Timetable], period: Period) -> tuple[Calendar, ...]:
    """Return the calendar of each timetable; those that open alike are evaluated once."""
    return tuple(_calendar(timetable, period) for timetable in timetables)


def described(calendar: Calendar, spec: "Spec") -> Calendar:
    """Return a calendar with what its policy says of its rules, and no timetable has."""
    # By name, as a map in YAML has no order.
    found: list[tuple[str, str]] = []
    for name, window in sorted(spec.windows.items()):
        if window.description.strip():
            found.append((f"windows.{name}", window.description.strip()))
    asked: list[tuple[str, str]] = []
    for name, override in sorted(spec.overrides.items()):
        by = ", ".join(filter(None, (override.requested_by, override.ticket)))
        asked.append((f"overrides.{name}", f"Requested: {by}" if by else ""))
    return replace(calendar, descriptions=tuple(found), requesters=tuple(asked))


def alike(every: Iterable[Calendar]) -> list[list[Calendar]]:
    """Group calendars whose rules and days are the same, in the order of their first."""
    groups: dict[tuple[Timetable, datetime, datetime], list[Calendar]] = {}
    for calendar in every:
        key = (rules_of(calendar.timetable), calendar.begins, calendar.ends)
        groups.setdefault(key, []).append(calendar)
    return list(groups.values())


def _calendar(timetable: Timetable, period: Period) -> Calendar:
    # A date begins at another instant in each policy's zone.
    begins, ends = period.bounds(timetable.zone)
    intervals = _intervals(rules_of(timetable), begins, ends)
    return Calendar(timetable, begins, ends, intervals)


# As many as a fleet has calendars that differ; a service goes on for years.
@lru_cache(maxsize=2048)
def _intervals(
    timetable: Timetable,
    begins: datetime,
    ends: datetime,
) -> tuple[Segment, ...]:
    return tuple(segment for segment in timeline(timetable, begins, ends) if segment.open)


def gates(names: Sequence[str], group: Sequence[Calendar]) -> Iterator[str]:
    """Say what is gated, by what the calendars have in common; nothing of what is by label."""
    found: dict[tuple[Target, ...], list[str]] = {}
    for name, calendar in zip(names, group, strict=True):
        found.setdefault(calendar.timetable.targets, []).append(name)
    for targets, of in found.items():
        if targets:
            whose = f"{some(of, _SOME)}: " if len(found) > 1 else ""
            yield f"{whose}gates {some([str(target) for target in targets], _SOME)}"


def _midnight(day: date, zone: tzinfo) -> datetime:
    """Return the first instant of a day, which a clock change may move off 00:00."""
    return wallclock.instant(datetime.combine(day, time()), zone)
