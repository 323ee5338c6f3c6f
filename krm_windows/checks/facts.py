"""What a timetable comes to over some years: the facts that an audit judges, told by the evaluator of the cluster.

A week of a weekly rule is like the next, so years are looked at only where something is out of the ordinary: beside
what is dated or recurs by the month, and beside clock changes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property

from krm_windows.checks.clock_changes import ClockChange, clock_changes
from krm_windows.gate import wallclock
from krm_windows.gate.timetable import Rule, Timetable
from krm_windows.gate.zones import Zone
from krm_windows.plan import zone_rules
from krm_windows.plan.union import is_weekly
from krm_windows.schedule.timeline import Segment, openings, timeline

DAY = timedelta(days=1)
WEEK = 7 * DAY
# A week before and after, for a closed run to begin and end in, and a day for its edges.
MARGIN = WEEK + DAY
WALL = "Etc/UTC"


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open UTC interval [`begins`, `ends`)."""

    begins: datetime
    ends: datetime

    @property
    def edges(self) -> tuple[datetime, datetime]:
        """Its beginning and its end."""
        return self.begins, self.ends

    @property
    def length(self) -> timedelta:
        """How long it is."""
        return self.ends - self.begins


@dataclass(frozen=True)
class Facts:
    """A timetable, on its schedule and not held by hand, over the audited `years`."""

    timetable: Timetable
    years: Span

    @property
    def zone(self) -> Zone:
        """The policy's time zone."""
        return self.timetable.zone

    @property
    def first(self) -> date:
        """The first audited day."""
        return self.local(self.years.begins).date()

    @property
    def last(self) -> date:
        """The last audited day."""
        return (self.local(self.years.ends) - DAY).date()

    @cached_property
    def changes(self) -> tuple[ClockChange, ...]:
        """The clock changes in the audited years."""
        return tuple(clock_changes(self.zone, self.years.begins, self.years.ends))

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """What is open and what closed, in order, without those weeks that are as any other."""
        whole = (self.years,)
        spans = tuple(_joined(self._unusual(), self.years)) if self._opens_every_week() else whole
        return tuple(
            segment
            for span in spans
            for segment in timeline(self.timetable, span.begins, span.ends)
        )

    @cached_property
    def opening(self) -> frozenset[str]:
        """The names of the rules by which anything of `segments` is open."""
        return frozenset(
            name for segment in self.segments if segment.open for name in segment.rules
        )

    def occurrences(self, *rules: Rule) -> Iterator[Span]:
        """Yield when some rules hold, were there no others: maximal, by the wall clock (as if it were UTC).

        It is the evaluator that finds them: over years of a rule that is not weekly it is what an audit waits for.
        """
        looked = self.looked_at(*rules)
        alone = replace(
            bare(self.timetable, *rules), time_zone=WALL, zone_rules=zone_rules.make(WALL)
        )
        return (Span(begins, ends) for begins, ends in openings(alone, looked.begins, looked.ends))

    @cached_property
    def union(self) -> tuple[Span, ...]:
        """The occurrences of all windows together, in order."""
        return tuple(self.occurrences(*self.timetable.windows))

    def is_endless(self, *rules: Rule) -> bool:
        """Whether some rules hold without an end, were there no others."""
        return next(self.occurrences(*rules), None) == self.looked_at(*rules)

    def looked_at(self, *rules: Rule) -> Span:
        """Return where `occurrences` looks: three weeks of what is weekly, else all of the audited years."""
        first, last = (
            wallclock.wall(at, self.zone).replace(tzinfo=UTC)
            for at in (self.years.begins, self.years.ends)
        )
        return Span(first, min(last, first + 3 * WEEK) if all(map(is_weekly, rules)) else last)

    def local(self, at: datetime) -> datetime:
        """Return an instant on the clocks of the policy's time zone."""
        return at.astimezone(self.zone)

    def instant(self, moment: datetime) -> datetime:
        """Return the instant of a moment of `occurrences`."""
        return wallclock.instant(moment.replace(tzinfo=None), self.zone)

    def _opens_every_week(self) -> bool:
        """Whether the weekly rules alone leave something open in each of three weeks."""
        held = self.timetable
        weekly = replace(
            held,
            time_zone=WALL,
            zone_rules=zone_rules.make(WALL),
            windows=tuple(filter(is_weekly, held.windows)),
            freezes=tuple(filter(is_weekly, held.freezes)),
            overrides=(),
        )
        first = self.years.begins
        weeks = ((first + n * WEEK, first + (n + 1) * WEEK) for n in range(3))
        return all(any(part.open for part in timeline(weekly, *week)) for week in weeks)

    def _unusual(self) -> Iterator[Span]:
        """Yield what has to be looked at: a month to begin with, clock changes, and whatever is not weekly."""
        yield Span(self.years.begins, self.years.begins + 4 * WEEK)
        yield from (Span(change.at - MARGIN, change.at + MARGIN) for change in self.changes)
        held = self.timetable
        for rule in (*held.windows, *held.freezes, *held.overrides):
            if not is_weekly(rule):
                alone = timeline(
                    bare(held, rule), self.years.begins - MARGIN, self.years.ends + MARGIN
                )
                yield from (
                    Span(part.begins - MARGIN, part.ends + MARGIN) for part in alone if part.open
                )


def take(timetable: Timetable, first: date, years: int) -> Facts:
    """Return the facts of so many years from midnight of `first` on the wall clock of the policy."""
    zone = timetable.zone
    begins, ends = (
        wallclock.instant(datetime.combine(day, time()), zone)
        for day in (first, later(first, years))
    )
    return Facts(replace(timetable, state="Scheduled"), Span(begins, ends))


def later(day: date, years: int) -> date:
    """Return the same day so many years later; of 29 February the 28th, where there is none."""
    try:
        return day.replace(year=day.year + years)
    except ValueError:
        return day.replace(year=day.year + years, day=28)


def bare(timetable: Timetable, *rules: Rule) -> Timetable:
    """Return a timetable that is open where these rules hold, and closed elsewhere."""
    windows = tuple(Rule(rule.name, rule.begins, rule.ends) for rule in rules)
    return replace(
        timetable,
        windows=windows,
        freezes=(),
        overrides=(),
        outside_windows="Closed",
        closes_early=timedelta(),
    )


def is_open(timetable: Timetable, at: datetime) -> bool:
    """Whether a timetable is open at an instant."""
    return next(timeline(timetable, at, at + timedelta.resolution)).open


def _joined(spans: Iterable[Span], within: Span) -> Iterator[Span]:
    """Yield spans in order, cut to `within`, those that touch as one."""
    begins = ends = within.begins
    for span in sorted(spans, key=lambda span: span.begins):
        if span.begins > ends:
            yield Span(begins, min(ends, within.ends))
            begins = span.begins
        ends = max(ends, span.ends)
        if begins >= within.ends:
            return
    yield Span(begins, min(ends, within.ends))
