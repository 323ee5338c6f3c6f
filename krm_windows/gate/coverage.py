"""Which minutes rules cover: of wall-clock days what recurs, of UTC days what is dated.

All occurrences that began on one day are covered together, and of the days before only the last one counts on which
anything began: what began earlier does not end later. So a day is asked for alone, and no occurrence is listed.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from krm_windows.gate import bits
from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Rule
from krm_windows.gate.wallclock import utc, wall

_MINUTE = timedelta(minutes=1)
# Later than any minute that has a date.
NEVER = (date.max.toordinal() + 2) * bits.DAY


@dataclass(frozen=True)
class Lasting:
    """What begins on the days of `begins` and lasts for a time.

    `own`: the minutes that it covers of such a day. `reach`: its last minute from that day's midnight on.
    """

    begins: Recurrence
    own: int
    reach: int

    def on_day(self, day: int) -> int:
        """Return the minutes of a wall-clock day that are covered, as bits."""
        covered = self.own if self.begins.on(day) else 0
        before = _day_before(self.begins, day, self.reach)
        if before is not None:
            covered |= bits.below(min(bits.DAY, self.reach - (day - before) * bits.DAY))
        return covered


@dataclass(frozen=True)
class Ending:
    """What begins at `times` on the days of `begins`, and lasts until the next moment of `ends`."""

    begins: Recurrence
    times: int
    ends: Recurrence

    def on_day(self, day: int) -> int:
        """Return the minutes of a wall-clock day that are covered, as bits."""
        ends = self.ends.times if self.ends.on(day) else 0
        covered = self.times if self.begins.on(day) else 0
        before = self.begins.day_before(day) if self.times else None
        if before is not None and self._end(before) > day * bits.DAY:
            covered |= 1  # it is in force at midnight, and goes on from there
        return bits.filled(covered, bits.FULL & ~ends)

    def _end(self, begin_day: int) -> int:
        """Find when the last occurrence of a day ends, in minutes."""
        later = self.ends.times & ~bits.below(bits.last(self.times) + 1)
        if later and self.ends.on(begin_day):
            return begin_day * bits.DAY + bits.first(later)
        day = self.ends.day_after(begin_day) if self.ends.times else None
        return NEVER if day is None else day * bits.DAY + bits.first(self.ends.times)


@dataclass
class Dated:
    """Intervals in UTC minutes, in order and apart from each other: `begins` and `ends` of each, half open."""

    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, intervals: Iterable[tuple[int, int]]) -> "Dated":
        """Join intervals that overlap or touch; leave out what ends before it begins."""
        joined = cls()
        for begin, end in sorted(interval for interval in intervals if interval[0] < interval[1]):
            if joined.ends and begin <= joined.ends[-1]:
                joined.ends[-1] = max(joined.ends[-1], end)
            else:
                joined.begins.append(begin)
                joined.ends.append(end)
        return joined

    def on_day(self, day: int) -> int:
        """Return the minutes of a UTC day that are covered, as bits."""
        midnight, covered = day * bits.DAY, 0
        for number in range(bisect_right(self.ends, midnight), len(self.begins)):
            begin, end = self.begins[number] - midnight, self.ends[number] - midnight
            if begin >= bits.DAY:
                break
            covered |= bits.below(min(end, bits.DAY)) & ~bits.below(begin)
        return covered


def recurring(rules: Iterable[Rule]) -> list[Lasting | Ending]:
    """Cover what recurs; rules that begin on the same days, and end alike, are one."""
    lasting: dict[Recurrence, Lasting] = {}
    ending: dict[tuple[Recurrence, Recurrence], Ending] = {}
    for rule in rules:
        begins = rule.begins
        if not isinstance(begins, Recurrence):
            continue
        days = _days(begins)
        if isinstance(rule.ends, Recurrence):
            held = ending.get((days, rule.ends))
            times = begins.times | (held.times if held else 0)
            ending[days, rule.ends] = Ending(days, times, rule.ends)
        elif begins.times:
            own, reach = _span(begins.times, rule.ends)
            other = lasting.get(days, Lasting(days, 0, 0))
            lasting[days] = Lasting(days, other.own | own, max(other.reach, reach))
    found: list[Lasting | Ending] = [*lasting.values(), *ending.values()]
    # What covers most comes first: where that is the whole day, nothing else is asked.
    return sorted(found, key=lambda each: -(each.own if isinstance(each, Lasting) else each.times).bit_count())


def dated(rules: Iterable[Rule], tz: tzinfo) -> Dated:
    """Cover what is dated, or holds since always."""
    return Dated.of(interval(rule, tz) for rule in rules if not isinstance(rule.begins, Recurrence))


def minute(instant: datetime) -> int:
    """Return the number of the minute of an aware instant, or of a naive moment, days counted as by `toordinal`."""
    ahead = instant.utcoffset() or timedelta()
    seconds = (instant.hour * 60 + instant.minute) * 60 + instant.second - ahead // timedelta(seconds=1)
    return instant.toordinal() * bits.DAY + seconds // 60


def _days(recurrence: Recurrence) -> Recurrence:
    """Leave of a recurrence its days."""
    fields = recurrence
    return Recurrence(
        days=fields.days,
        months=fields.months,
        weekdays=fields.weekdays,
        either=fields.either,
        nth=fields.nth,
        shift=fields.shift,
    )


def _day_before(begins: Recurrence, day: int, reach: int) -> int | None:
    """Find the last day before `day` from which an occurrence may last until then."""
    if begins.on(day - 1):
        return day - 1
    return begins.day_before(day) if reach > 2 * bits.DAY else None


def _span(times: int, ends: object) -> tuple[int, int]:
    """Return what occurrences cover of the day on which they begin, and their last minute from its midnight on."""
    latest = bits.last(times)
    if isinstance(ends, timedelta):
        minutes = ends // _MINUTE
        return bits.lasting(times, min(minutes, bits.DAY)) & bits.FULL, latest + minutes
    if not isinstance(ends, time):
        raise TypeError(f"a rule that recurs has no end of type {type(ends).__name__}")
    end = ends.hour * 60 + ends.minute
    through = bits.FULL & ~(1 << end)
    reach = end if latest < end else bits.DAY + end
    return bits.filled(times, through), reach


def interval(rule: Rule, tz: tzinfo) -> tuple[int, int]:
    """Return the UTC minutes from and until which a dated rule holds; `NEVER` if it does not end."""
    begin = rule.begins
    if isinstance(begin, Recurrence):
        raise TypeError(f"{rule.name} is not dated")
    if begin is None:
        begin = datetime.min.replace(tzinfo=UTC)
    return _number(begin, tz), _number(_end(rule.ends, begin, tz), tz)


def _end(ends: object, begin: datetime, tz: tzinfo) -> datetime | None:
    """Find the end of what begins at `begin`, a naive moment or an instant; None for never."""
    if isinstance(ends, timedelta):
        return _later(begin, ends)
    if isinstance(ends, datetime):
        return ends
    shown = wall(begin, tz) if begin.tzinfo else begin
    match ends:
        case time():
            same_day = datetime.combine(shown, ends)
            return same_day if same_day > shown else _later(same_day, timedelta(days=1))
        case Recurrence():
            return ends.after(shown)
    raise TypeError(f"no end is of type {type(ends).__name__}")


def _later(moment: datetime, span: timedelta) -> datetime | None:
    """Add a span; None beyond the last year that has a name."""
    return moment + span if datetime.max.replace(tzinfo=moment.tzinfo) - moment > span else None


def _number(moment: datetime | None, tz: tzinfo) -> int:
    """Return the UTC minute of an instant, or at which the wall clock of `tz` shows a naive moment or later."""
    if moment is None:
        return NEVER
    aware = date.min.year < moment.year < date.max.year
    return minute(utc(moment, tz)) if aware else minute(moment)  # no clock is asked beyond the calendar's ends
