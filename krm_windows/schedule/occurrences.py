"""When some rules hold on a wall clock that never changes, were there no others.

Kept as the minutes of each day.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache

from krm_windows.gate import bits, coverage
from krm_windows.gate.recurrence import Calendar, Recurrence, calendar
from krm_windows.gate.timetable import Rule
from krm_windows.gate.zones import ZoneRules, zone
from krm_windows.schedule.durations import rounded_up

UTC_ZONE = zone("UTC", ZoneRules("", "+00:00 UTC", (), "UTC0"))
"""The wall clock that never changes."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The minutes of wall-clock days that are covered, as bits.

    Days, and minutes, are counted as `coverage` does.
    """

    days: dict[int, int]

    @classmethod
    def of(
        cls,
        rules: Iterable[Rule],
        first: datetime,
        until: datetime,
    ) -> "Occurrences":
        """Work them out from `first` to before `until`, wall-clock moments given as if in UTC."""
        begins = coverage.minute(first)
        ends = coverage.minute(until)
        years = calendar(max(first.year - coverage.YEARS_BEFORE, date.min.year), until.year)
        # The last day counts, however little of it is asked for.
        days = range(begins // bits.DAY, rounded_up(ends, bits.DAY))
        found: dict[int, int] = {}
        for rule in rules:
            for day, minutes in _covered(rule, years, days):
                found[day] = found.get(day, 0) | minutes
        kept: dict[int, int] = {}
        for day in sorted(found):
            # Of the first and the last day only the part that was asked for.
            minutes = found[day] & coverage.of_interval((begins, ends), day)
            if minutes:
                kept[day] = minutes
        return cls(kept)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield begin and end of each occurrence, in order; those that touch are one."""
        last: tuple[int, int] | None = None
        for day, minutes in self.days.items():
            midnight = day * bits.DAY
            for first, after in stretches(minutes):
                begins = midnight + first
                # One that begins where the last one ended, over midnight too, goes on.
                if last and last[1] == begins:
                    begins = last[0]
                elif last:
                    yield last
                last = (begins, midnight + after)
        if last:
            yield last

    def around(self, minute: int) -> tuple[int, int]:
        """Return begin and end of the occurrence to which a covered minute belongs."""
        day, at = divmod(minute, bits.DAY)
        before = day
        after = day
        # The last minute before it that is not covered, found over as many midnights as it takes.
        closed = ~self._on(day) & bits.below(at)
        while not closed and self._on(before - 1) >> (bits.DAY - 1):
            before -= 1
            closed = ~self._on(before) & bits.FULL
        begins = before * bits.DAY + closed.bit_length()
        # And the first one after it.
        closed = ~self._on(day) & bits.FULL & ~bits.below(at)
        while not closed and self._on(after + 1) & 1:
            after += 1
            closed = ~self._on(after) & bits.FULL
        ends = bits.DAY
        if closed:
            ends = bits.first(closed)
        return begins, after * bits.DAY + ends

    def _on(self, day: int) -> int:
        return self.days.get(day, 0)


def _covered(
    rule: Rule,
    years: Calendar,
    days: range,
) -> Iterator[tuple[int, int]]:
    """Yield those of some days of which a rule covers anything, and what, as bits."""
    if not isinstance(rule.begins, Recurrence):
        interval = coverage.interval(rule, UTC_ZONE)
        for day in days:
            yield day, coverage.of_interval(interval, day)
        return
    for on_days, minutes in coverage.recurring(rule, years):
        # One bit a day from the calendar's first on, cut to the days asked for.
        named = (on_days >> (days.start - years.first)) & bits.below(len(days))
        # As text, the lowest bit last: quicker than a shift of a long number for each day.
        for day, is_named in zip(days, reversed(f"{named:b}"), strict=False):
            if is_named == "1":
                yield day, minutes


@lru_cache(maxsize=1024)
def stretches(minutes: int) -> tuple[tuple[int, int], ...]:
    """Return begin and end of each run of minutes of a day; most days are as one before them."""
    found = []
    after = 0
    while minutes >> after:
        # To the first bit that is set from here on, and then to the first that is not.
        first = after + bits.first(minutes >> after)
        after = first + bits.first(~(minutes >> first))
        found.append((first, after))
    return tuple(found)
