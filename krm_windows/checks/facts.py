"""What a timetable comes to over some years.

The facts that an audit judges, computed by the evaluator of the cluster. A week of a weekly rule is
like the next, so years are read only where something is out of the ordinary: beside what is
dated or recurs by the month, and beside clock changes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property, lru_cache

from krm_windows.checks.clock_changes import ClockChange, clock_changes
from krm_windows.gate import bits, coverage, wallclock
from krm_windows.gate.decide import Days
from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Rule, Timetable
from krm_windows.gate.zones import Zone
from krm_windows.plan import zone_rules
from krm_windows.plan.union import is_weekly
from krm_windows.schedule.occurrences import Occurrences
from krm_windows.schedule.timeline import (
    Segment,
    instant,
    openings,
    parts_of_days,
    segments,
    timeline,
)

DAY = timedelta(days=1)
WEEK = 7 * DAY
# A week before and after, for a closed run to begin and end in, and a day for its edges.
MARGIN = WEEK + DAY
# A zone whose clocks never change: in it the wall clock is read as if it were UTC.
WALL = "Etc/UTC"
# The end of what has none.
_EVER = datetime.max.replace(tzinfo=UTC)


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
        # The years end at midnight, which is not in them.
        end = self.local(self.years.ends)
        return (end - DAY).date()

    @cached_property
    def changes(self) -> tuple[ClockChange, ...]:
        """The clock changes in the audited years."""
        return _changes(self.zone, *self.years.edges)

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The parts of the years that are read, in order.

        Without those weeks that are as any other.
        """
        if not self._opens_every_week():
            return (self.years,)
        return tuple(_joined(self._unusual(), self.years))

    @property
    def segments(self) -> Iterator[Segment]:
        """What is open and what closed in `spans`, in order."""
        for span in self.spans:
            yield from segments(self._days, span.begins, span.ends)

    def segments_around(self, *rules: Rule) -> Iterator[Segment]:
        """Yield those `segments` in which any of some rules holds, and their neighbours."""
        if not rules:
            return
        for span in self.spans:
            held = _openings_of(rules, self.zone, span)
            if held is None:
                continue
            # A day more on each side, for the windows that it cuts to be seen.
            found = (Span(begins - DAY, ends + DAY) for begins, ends in held)
            near = [self._widened(each, span) for each in _joined(found, span)]
            for each in _joined(near, span):
                yield from segments(self._days, each.begins, each.ends)

    def _widened(self, span: Span, within: Span) -> Span:
        """Let a span begin at the second change before it, and end at the second one after it."""
        begins, ends = span.edges
        for _ in range(2):
            before = coverage.minute(begins) - 1
            begins = self._days.since(before) or within.begins
            ends = self._days.until(coverage.minute(ends)) or within.ends
        return Span(begins, ends)

    def is_opening(self, name: str) -> bool:
        """Whether anything is open in `spans` by the rule of that name."""
        # Most windows open in their first week: no more days are looked at than are needed.
        while name not in self._opening:
            more = next(self._openings, None)
            if more is None:
                return False
            self._opening.update(more)
        return True

    @cached_property
    def _opening(self) -> set[str]:
        """The names that were found so far."""
        return set()

    @cached_property
    def _openings(self) -> Iterator[Iterable[str]]:
        """The names of the rules by which anything is open, day by day."""
        # By days and bits, not by segments: years of them would have to be put together.
        for span in self.spans:
            for day, within in parts_of_days(span.begins, span.ends):
                opened = self._days.open(day) & within
                yield self._days.deciding(day, opened)

    def closures(self, longest: timedelta) -> Iterator[Span]:
        """Yield what is closed for more than `longest`, a day or more, in `spans`.

        And for as long before the years, as a closure may have begun there.
        """
        for span in self.spans:
            # Where the last open minute ended, and it has been closed since.
            closed = span.begins
            if closed == self.years.begins:
                closed -= longest
            # Most are weeks around a change of the clock, which have no room for one.
            if span.ends - closed <= longest:
                continue
            for day, within in parts_of_days(closed, span.ends):
                opened = self._days.open(day) & within
                if not opened:
                    continue
                # As `longest` is a day or more, what is closed within a day is none of them.
                ends = instant(day, bits.first(opened))
                if ends - closed > longest:
                    yield Span(closed, ends)
                closed = instant(day, bits.last(opened) + 1)
            if span.ends - closed > longest:
                yield Span(closed, span.ends)

    def occurrences(self, *rules: Rule) -> Occurrences:
        """Return when some rules hold, were there no others, by the wall clock."""
        looked = self.looked_at(*rules)
        return Occurrences.of(rules, looked.begins, looked.ends)

    @cached_property
    def union(self) -> Occurrences:
        """The occurrences of all windows together."""
        return self.occurrences(*self.timetable.windows)

    def is_endless(self, *rules: Rule) -> bool:
        """Whether some rules hold without an end, were there no others."""
        only = next(iter(self.occurrences(*rules)), None)
        if only is None:
            return False
        # One occurrence from the beginning of what is looked at to its end.
        return span_of(only) == self.looked_at(*rules)

    def is_open_in(self, rule: Rule) -> bool:
        """Whether anything is open while a rule holds, by whatever rule."""
        looked = self.looked_at(rule)
        alone = Days(bare(self.timetable, rule), self.zone)
        begins = self.instant(looked.begins)
        ends = self.instant(looked.ends)
        for day, within in parts_of_days(begins, ends):
            # A bit for each minute of the day.
            opened = self._days.open(day) & within
            if opened and opened & alone.open(day):
                return True
        return False

    @cached_property
    def _days(self) -> Days:
        return Days(self.timetable, self.zone)

    def looked_at(self, *rules: Rule) -> Span:
        """Return where `occurrences` looks.

        Three weeks of what is weekly, else all of the audited years.
        """
        begins = wallclock.wall(self.years.begins, self.zone)
        ends = wallclock.wall(self.years.ends, self.zone)
        # Occurrences are counted on the wall clock, as if it were UTC.
        first = begins.replace(tzinfo=UTC)
        last = ends.replace(tzinfo=UTC)
        # Of a weekly rule each week is like the next, and three have a whole one between two
        # others.
        if all(map(is_weekly, rules)):
            last = min(last, first + 3 * WEEK)
        return Span(first, last)

    def local(self, at: datetime) -> datetime:
        """Return an instant on the clocks of the policy's time zone."""
        return at.astimezone(self.zone)

    def instant(self, moment: datetime) -> datetime:
        """Return the instant of a moment on the wall clock that is given as if it were UTC."""
        naive = moment.replace(tzinfo=None)
        return wallclock.instant(naive, self.zone)

    def _opens_every_week(self) -> bool:
        """Whether the weekly rules alone leave something open in each of three weeks."""
        held = self.timetable
        weekly = held._replace(
            time_zone=WALL,
            zone_rules=zone_rules.make(WALL),
            windows=tuple(filter(is_weekly, held.windows)),
            freezes=tuple(filter(is_weekly, held.freezes)),
            overrides=(),
        )
        begins = self.years.begins
        # On a clock that never changes, so that a change of the clock hides no week.
        for _ in range(3):
            if not any(openings(weekly, begins, begins + WEEK)):
                return False
            begins += WEEK
        return True

    def _unusual(self) -> Iterator[Span]:
        """Yield what has to be looked at.

        A month to begin with, clock changes, and whatever is not weekly.
        """
        first, last = self.years.edges
        yield Span(first, first + 4 * WEEK)
        for change in self.changes:
            yield Span(change.at - MARGIN, change.at + MARGIN)
        held = self.timetable
        every = (*held.windows, *held.freezes, *held.overrides)
        around = Span(first - MARGIN, last + MARGIN)
        recurring: list[Rule] = []
        for rule in every:
            if isinstance(rule.begins, Recurrence):
                recurring.append(rule)
                continue
            # A dated rule says itself where it holds: no day has to be looked at for it.
            yield from _held(rule, self.zone, around)
        rest = [rule for rule in recurring if not is_weekly(rule)]
        if not rest:
            return
        for begins, ends in openings(bare(held, *rest), *around.edges):
            yield Span(begins - MARGIN, ends + MARGIN)


# Clusters of a fleet differ in windows, mostly, and share their freezes.
@lru_cache(maxsize=1024)
def _openings_of(
    rules: tuple[Rule, ...],
    zone: Zone,
    span: Span,
) -> tuple[tuple[datetime, datetime], ...] | None:
    """Return when any of some rules holds in a span; None where none may, as it is dated."""
    if not any(_may_hold(rule, zone, span) for rule in rules):
        return None
    alone = bare(Timetable(policy="", time_zone=zone.key, zone_rules=zone.rules), *rules)
    return tuple(openings(alone, *span.edges))


def _may_hold(rule: Rule, zone: Zone, span: Span) -> bool:
    if isinstance(rule.begins, Recurrence):
        return True
    return any(True for _ in _held(rule, zone, span))


def _held(rule: Rule, zone: Zone, within: Span) -> Iterator[Span]:
    """Yield where a dated rule holds within a span, and what is around that; nothing where not."""
    begins, ends = coverage.interval(rule, zone)
    # Compared as minutes: what has no end has no date.
    begins = max(begins, coverage.minute(within.begins))
    ends = min(ends, coverage.minute(within.ends))
    if begins < ends:
        span = span_of((begins, ends))
        yield Span(span.begins - MARGIN, span.ends + MARGIN)


# Most policies are in one of a few zones, and audited from today on.
@lru_cache(maxsize=64)
def _changes(
    zone: Zone,
    begins: datetime,
    ends: datetime,
) -> tuple[ClockChange, ...]:
    return tuple(clock_changes(zone, begins, ends))


def span_of(occurrence: tuple[int, int]) -> Span:
    """Return an occurrence, which is given in minutes, by the wall clock (as if it were UTC)."""
    # Each as a day and a minute of that day.
    first_day, first_minute = divmod(occurrence[0], bits.DAY)
    last_day, last_minute = divmod(occurrence[1], bits.DAY)
    return Span(
        instant(first_day, first_minute),
        instant(last_day, last_minute),
    )


def take(timetable: Timetable, first: date, years: int) -> Facts:
    """Return the facts of so many years from midnight of `first`, in the policy's zone."""
    span = Span(
        _midnight(first, timetable.zone),
        _midnight(later(first, years), timetable.zone),
    )
    # Held by hand it would be open or closed throughout, and nothing could be said of its rules.
    scheduled = timetable._replace(state="Scheduled")
    return Facts(scheduled, span)


def _midnight(day: date, zone: Zone) -> datetime:
    """Return the instant at which a day begins."""
    return wallclock.instant(datetime.combine(day, time()), zone)


def later(day: date, years: int) -> date:
    """Return the same day so many years later; of 29 February the 28th, where there is none."""
    try:
        return day.replace(year=day.year + years)
    except ValueError:
        return day.replace(year=day.year + years, day=28)


def bare(timetable: Timetable, *rules: Rule) -> Timetable:
    """Return a timetable that is open where these rules hold, and closed elsewhere."""
    # As windows, whatever they are: then `open` says where they hold.
    windows = tuple(Rule(rule.kind, rule.key, rule.begins, rule.ends) for rule in rules)
    return timetable._replace(
        windows=windows,
        freezes=(),
        overrides=(),
        outside_windows="Closed",
        closes_early=timedelta(),
    )


def end_of(timetable: Timetable, rule: Rule) -> datetime:
    """Return the instant at which a dated rule of a timetable ends.

    `datetime.max` for one without a beginning whose end is no date.
    """
    zone = timetable.zone
    if isinstance(rule.ends, datetime):
        return wallclock.utc(rule.ends, zone)
    if not isinstance(rule.begins, datetime):
        return _EVER
    # A time of day or a length counts from the beginning, on clocks that may change meanwhile.
    begins = wallclock.utc(rule.begins, zone)
    alone = bare(timetable, rule)
    first = next(timeline(alone, begins, _EVER))
    return first.ends


def is_open(timetable: Timetable, at: datetime) -> bool:
    """Whether a timetable is open at an instant."""
    # The least span there is: a microsecond.
    only = next(timeline(timetable, at, at + timedelta.resolution))
    return only.open


def _joined(spans: Iterable[Span], within: Span) -> Iterator[Span]:
    """Yield spans in order, cut to `within`, those that touch as one."""
    begins = ends = within.begins
    for span in sorted(spans, key=lambda span: span.begins):
        # A gap: what was joined so far ends before it.
        if span.begins > ends:
            yield Span(begins, min(ends, within.ends))
            begins = span.begins
        ends = max(ends, span.ends)
        if begins >= within.ends:
            return
    yield Span(begins, min(ends, within.ends))
