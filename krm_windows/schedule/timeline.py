"""When a timetable is open over a span of time, and by which rules.

The days of the gate's evaluator, put together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from krm_windows.gate import bits, coverage
from krm_windows.gate.decide import Days
from krm_windows.gate.timetable import Timetable


@dataclass(frozen=True)
class Segment:
    """The half-open UTC interval [`begins`, `ends`), and whether `rules` make it open or closed.

    The rules are paths in the spec; there are none where it is closed because no window is open.
    """

    begins: datetime
    ends: datetime
    open: bool
    rules: tuple[str, ...]

    @property
    def grouping_key(self) -> tuple[bool, tuple[str, ...]]:
        """What it says beside its time."""
        return self.open, self.rules


@dataclass
class _Run:
    """A segment that is still growing.

    The keys of `rules` are in the order in which they came into force.
    """

    begins: datetime
    open: bool
    rules: dict[str, None]

    def until(self, ends: datetime) -> Segment:
        return Segment(self.begins, ends, self.open, tuple(self.rules))


def timeline(
    timetable: Timetable,
    start: datetime,
    until: datetime,
) -> Iterator[Segment]:
    """Cover [`start`, `until`) with segments, open and closed in turn, lazily.

    Each has all rules that make it so.

    Raises `LookupError` without the rules of its zone.
    """
    return segments(Days(timetable, timetable.zone), start, until)


def segments(days: Days, start: datetime, until: datetime) -> Iterator[Segment]:
    """Cover [`start`, `until`) as `timeline` does, with days that were worked out before."""
    start = start.astimezone(UTC)
    until = until.astimezone(UTC)
    run: _Run | None = None
    for day, first, last, is_open in _parts(days, start, until):
        # A segment goes on over midnight: that of the first day begins with the span.
        if run is None:
            run = _Run(start, is_open, {})
        elif run.open != is_open:
            begins = instant(day, first)
            yield run.until(begins)
            run = _Run(begins, is_open, {})
        # Which rules hold is asked for these minutes alone: at others there may be other ones.
        minutes = bits.below(last - first) << first
        run.rules |= dict.fromkeys(days.deciding(day, minutes))
    if run:
        yield run.until(until)


def openings(
    timetable: Timetable,
    start: datetime,
    until: datetime,
) -> Iterator[tuple[datetime, datetime]]:
    """Yield the open segments of `timeline` alone, by beginning and end.

    To name the rules takes long.
    """
    start = start.astimezone(UTC)
    until = until.astimezone(UTC)
    days = Days(timetable, timetable.zone)
    begins: datetime | None = None
    last = False
    for day, minute, _, is_open in _parts(days, start, until):
        # An edge: an opening begins, or one ends.
        if is_open != last:
            # What was open before the span is cut at its beginning.
            at = max(instant(day, minute), start)
            if begins:
                yield begins, at
            begins = None
            if is_open:
                begins = at
        last = is_open
    if begins:
        yield begins, until


def _parts(
    days: Days,
    start: datetime,
    until: datetime,
) -> Iterator[tuple[int, int, int, bool]]:
    """Yield each day's stretches, which are open or closed throughout.

    Of each: the day, its beginning and end in minutes of that day (UTC), and whether it is open.
    """
    for day, within in parts_of_days(start, until):
        opened = days.open(day)
        begins = bits.first(within)
        ends = bits.last(within) + 1
        while begins < ends:
            rest = opened >> begins
            is_open = rest & 1 == 1
            # The first minute that is otherwise: that of the lowest bit.
            other = rest
            if is_open:
                other = ~rest
            change = ends
            if other:
                change = min(begins + bits.first(other), ends)
            yield day, begins, change, is_open
            begins = change


def parts_of_days(start: datetime, until: datetime) -> Iterator[tuple[int, int]]:
    """Yield the UTC days between two instants.

    With each come the minutes of it that lie between them, as bits.
    """
    if start >= until:
        return
    first = coverage.minute(start)
    last = coverage.minute(until - timedelta.resolution)
    for day in range(first // bits.DAY, last // bits.DAY + 1):
        yield day, coverage.of_interval((first, last + 1), day)


def instant(day: int, minute: int) -> datetime:
    """Give the instant of a minute of a UTC day, of its end too."""
    # The end of a day is minute 1440, which is midnight of the next.
    day += minute // bits.DAY
    minute %= bits.DAY
    return datetime.combine(date.fromordinal(day), time(minute // 60, minute % 60), UTC)
