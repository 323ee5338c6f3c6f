"""Which minutes rules cover: of wall-clock days what recurs, of UTC days what is dated.

A rule that recurs is a few sets of days with the same minutes each, found for years at once,
without a list of its occurrences: Friday 22:00 for 30 hours is Fridays from 22:00 on, all of
Saturdays, and Sundays until 04:00.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import reduce
from itertools import chain
from operator import or_
from typing import NamedTuple, TypeAlias

from krm_windows.gate import bits
from krm_windows.gate.bits import DAY, FULL, LAST_DAY
from krm_windows.gate.recurrence import Calendar, Recurrence, calendar
from krm_windows.gate.timetable import End, Rule
from krm_windows.gate.wallclock import instant, steady, wall
from krm_windows.gate.zones import Zone

_MINUTE = timedelta(minutes=1)
_SECOND = timedelta(seconds=1)
# Later than any minute that has a date.
NEVER = (LAST_DAY + 2) * DAY
# As far as a decision looks from a day of a year: 400 days, and a margin of 366 days later.
_YEARS_BACK = 2
_YEARS_AHEAD = 3
YEARS_BEFORE = 9  # what began on a 29 February may last until the next one, eight years later
_BYTE = 8
# Some days, and the minutes that are covered of each of them, both as bits.
Covered: TypeAlias = tuple[int, int]


class Years:
    """What rules that recur cover of the wall-clock `days` of some years, which are ordinals.

    Each rule covers some sets of days, and the same minutes of all days of a set.
    """

    def __init__(self, rules: Iterable[Rule], year: int) -> None:
        """Work it out for the years around one, as far as a decision on a day of it looks."""
        first_year = max(year - _YEARS_BACK, date.min.year)
        last_year = min(year + _YEARS_AHEAD, date.max.year)
        # What began in the years before reaches into these.
        years = calendar(max(first_year - YEARS_BEFORE, date.min.year), last_year)
        self._counted_from = years.first
        self.days = range(date(first_year, 1, 1).toordinal(), years.first + years.length)
        self._rules = [recurring(rule, years) for rule in rules]
        # Eight days are a byte; at least one is beyond the end.
        self._size = len(self.days) // _BYTE + 1
        together = self._joined()
        self._minutes = tuple(together.values())
        self._bytes = b"".join(days.to_bytes(self._size, "little") for days in together)
        # What is covered of eight days: by the number of their byte, and by the bytes of all sets.
        self._of_bytes: dict[int, list[int]] = {}
        self._sums: dict[bytes, list[int]] = {}

    def _joined(self) -> dict[int, int]:
        """Return sets of days, with the minutes that are covered of each day of a set."""
        from_midnight: dict[int, int] = {}
        until_midnight: dict[int, int] = {}
        others = []
        for days, minutes in chain.from_iterable(self._rules):
            if _is_from_midnight(minutes):
                from_midnight[minutes] = from_midnight.get(minutes, 0) | days
            elif _is_until_midnight(minutes):
                until_midnight[minutes] = until_midnight.get(minutes, 0) | days
            else:
                others.append((days, minutes))
        passed = self.days.start - self._counted_from
        left = bits.below(self._size * _BYTE) << passed
        full = from_midnight.pop(FULL, 0) & left
        together = {full >> passed: FULL}
        left ^= full  # of a day that is covered throughout nothing else counts
        every = chain(_longest(from_midnight, left), _longest(until_midnight, left), others)
        for days, minutes in every:
            known = (days & left) >> passed
            if known:  # often the same for many rules
                together[known] = together.get(known, 0) | minutes
        return together

    def on_day(self, day: int) -> int:
        """Return the minutes of a wall-clock day that rules cover, as bits."""
        byte, bit = divmod(day - self.days.start, _BYTE)
        if byte not in self._of_bytes:
            self._of_bytes[byte] = self._of_byte(byte)
        return self._of_bytes[byte][bit]

    def of_rules(self, day: int) -> dict[int, int]:
        """Return what each rule covers of a wall-clock day, by its number among them.

        Only of those that cover any of it.
        """
        index = max(day - self._counted_from, 0)
        found: dict[int, int] = {}
        for number, covered in enumerate(self._rules):
            for days, minutes in covered:
                if (days >> index) & 1:
                    found[number] = found.get(number, 0) | minutes
        return found

    def _of_byte(self, number: int) -> list[int]:
        """Return what is covered of each of eight days.

        What is covered on the same ones of them is joined first: for however many rules, these are
        256 sets at most.
        """
        of_sets = b""
        if 0 <= number < self._size:
            of_sets = self._bytes[number :: self._size]
        if of_sets not in self._sums:
            joined = [0] * 256
            for days, minutes in zip(of_sets, self._minutes, strict=False):
                joined[days] |= minutes
            self._sums[of_sets] = _by_bit(joined)
        return self._sums[of_sets]


def _is_from_midnight(minutes: int) -> bool:
    # One more than 0b0111 has no bit in common with it.
    return minutes & (minutes + 1) == 0


def _is_until_midnight(minutes: int) -> bool:
    # One less than 0b1000 has all the bits below it.
    return minutes | (minutes - 1) == FULL


def _longest(by_minutes: dict[int, int], left: int) -> Iterator[Covered]:
    """Give each day that is `left` the longest of what all begins, or all ends, at midnight."""
    for minutes in sorted(by_minutes, reverse=True):  # as numbers, the longer ones are greater
        days = by_minutes[minutes] & left
        left ^= days
        yield days, minutes


def _by_bit(joined: list[int]) -> list[int]:
    """Join, for each of eight bits, those of 256 sets whose number has it.

    The upper half of the numbers has the highest bit. Once its sets are joined to those of the
    lower half, half as many sets are left for the other bits.
    """
    highest_first = []
    while len(joined) > 1:
        half = len(joined) // 2
        without = joined[:half]
        having = joined[half:]
        highest_first.append(reduce(or_, having))
        joined = list(map(or_, without, having))
    highest_first.reverse()
    return highest_first


def recurring(rule: Rule, years: Calendar) -> list[Covered]:
    """Return what a rule that recurs covers of some years' days, nothing of what began before."""
    begins = rule.begins
    if not isinstance(begins, Recurrence):
        raise TypeError(f"{rule.name} does not recur")
    if not begins.times:
        return []
    if isinstance(rule.ends, Recurrence):
        return _ending(begins, rule.ends, years)
    days = begins.days_of(years)
    own, reach = _span(begins.times, rule.ends)
    covered = [(days, own)]
    if reach <= DAY:  # as most do
        return covered
    # Beyond its midnight it lasts for whole days, and for the rest of minutes on the next one.
    whole, rest = divmod(reach - DAY, DAY)
    following = days << 1
    covered.append((following << whole, bits.below(rest)))
    if whole:
        covered.append((bits.lasting(following, whole), FULL))
    return covered


def _span(times: int, ends: End) -> tuple[int, int]:
    """Return what occurrences cover of the day on which they begin, and for how long they last.

    The latter in minutes from that day's midnight on.
    """
    latest = bits.last(times)
    if isinstance(ends, timedelta):
        minutes = ends // _MINUTE
        covered = bits.lasting(times, min(minutes, DAY))
        return covered & FULL, latest + minutes
    if not isinstance(ends, time):
        raise TypeError(f"a rule that recurs has no end of type {type(ends).__name__}")
    end = ends.hour * 60 + ends.minute
    # From each beginning on, until the end comes or the day is over.
    covered = bits.filled(times, FULL & ~(1 << end))
    if latest < end:
        return covered, end
    return covered, DAY + end  # 22:00 to 04:00


def _ending(begins: Recurrence, ends: Recurrence, years: Calendar) -> list[Covered]:
    """Cover what lasts from each moment of `begins` until the next one of `ends`."""
    begun = begins.days_of(years)
    ended = 0
    if ends.times:
        ended = ends.days_of(years)
    every = bits.below(years.length + _BYTE)
    never_ended = every & ~ended
    times = begins.times
    end_times = ends.times
    from_first = FULL ^ bits.below(bits.first(times))
    # In force at the end of a day is what began on it after the last end, and so it is on later
    # days until one that has an end.
    lasting = begun
    if bits.last(times) < bits.last(end_times):
        lasting &= never_ended
    in_force = bits.filled(lasting, never_ended) << 1  # when these days begin
    until_next_end = bits.filled(times, FULL ^ end_times)
    until_first_end = bits.below(bits.first(end_times))
    return [
        (begun & never_ended, from_first),
        (begun & ended, until_next_end),
        (in_force & never_ended, FULL),
        (in_force & ended, until_first_end),
    ]


class Dated(NamedTuple):
    """Intervals in UTC minutes, in order and apart from each other.

    `begins` and `ends` of each, half open.
    """

    begins: list[int]
    ends: list[int]

    @classmethod
    def of(cls, intervals: Iterable[tuple[int, int]]) -> "Dated":
        """Join intervals that overlap or touch; leave out what ends before it begins."""
        joined = cls([], [])
        for begin, end in sorted(intervals):
            if begin >= end:
                continue
            if joined.ends and begin <= joined.ends[-1]:  # as they are sorted, no other one
                joined.ends[-1] = max(joined.ends[-1], end)
            else:
                joined.begins.append(begin)
                joined.ends.append(end)
        return joined

    def on_day(self, day: int) -> int:
        """Return the minutes of a UTC day that are covered, as bits."""
        midnight = day * DAY
        next_midnight = midnight + DAY
        covered = 0
        first = bisect_right(self.ends, midnight)  # that ends after the day has begun
        for number in range(first, len(self.begins)):
            begin = self.begins[number]
            if begin >= next_midnight:
                break
            covered |= of_interval((begin, self.ends[number]), day)
        return covered


def of_interval(interval: tuple[int, int], day: int) -> int:
    """Return the minutes of a UTC day in an interval of UTC minutes, as bits."""
    midnight = day * DAY
    begin, end = interval
    before_begin = bits.below(min(begin - midnight, DAY))
    before_end = bits.below(min(end - midnight, DAY))
    return before_end & ~before_begin


def minute(moment: datetime) -> int:
    """Return the number of the minute of an aware instant, or of a naive moment.

    Days are counted as by `toordinal`, so minutes from the midnight of a day 0 on.
    """
    ahead = moment.utcoffset() or timedelta()
    of_day = moment.hour * 60 + moment.minute
    shown = of_day * 60 + moment.second
    seconds = shown - ahead // _SECOND  # may be of the day before, or after
    return moment.toordinal() * DAY + seconds // 60


def interval(rule: Rule, tz: Zone) -> tuple[int, int]:
    """Return the UTC minutes from and until which a dated rule holds; `NEVER` if it has no end."""
    begin = rule.begins
    if isinstance(begin, Recurrence):
        raise TypeError(f"{rule.name} is not dated")
    if begin is None:  # since always
        begin = datetime.min.replace(tzinfo=UTC)
    end = _end(rule.ends, begin, tz)
    if end is None:
        return _number(begin, tz), NEVER
    return _number(begin, tz), _number(end, tz)


def _end(ends: End, begin: datetime, tz: Zone) -> datetime | None:
    """Find the end of what begins at `begin`, a naive moment or an instant; None for never."""
    if isinstance(ends, timedelta):
        return _later(begin, ends)
    if isinstance(ends, datetime):
        return ends
    shown = begin
    if begin.tzinfo:
        shown = wall(begin, tz)
    if isinstance(ends, Recurrence):
        return ends.after(shown)
    if not isinstance(ends, time):
        raise TypeError(f"no end is of type {type(ends).__name__}")
    same_day = datetime.combine(shown, ends)
    if same_day > shown:
        return same_day
    return _later(same_day, timedelta(days=1))  # 22:00 to 04:00 ends on the next day


def _later(moment: datetime, span: timedelta) -> datetime | None:
    """Add a span; None beyond the last year that has a name."""
    last = datetime.max.replace(tzinfo=moment.tzinfo)
    if last - moment > span:
        return moment + span
    return None


def _number(moment: datetime, tz: Zone) -> int:
    """Return the UTC minute of an instant, or of when the wall clock of `tz` shows a moment."""
    if moment.tzinfo or not date.min.year < moment.year < date.max.year:
        return minute(moment)  # no clock is asked beyond the calendar's ends
    day = moment.toordinal()
    around = steady(day, tz)
    # Offsets are less than a day: while it is this day on the clock, it is one of three in UTC.
    if around and day - 1 in around.days and day + 1 in around.days:
        return minute(moment - around.ahead)
    return minute(instant(moment, tz))
