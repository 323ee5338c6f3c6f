"""A table of UTC days: when a policy is open, and by which rules.

The build works it out (`krm_windows.schedule.table`). Days are counted as `date.toordinal` does,
minutes from the midnight of their day on.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import NamedTuple, TypeAlias

DAY = 1440  # minutes
DATED = "x"  # in place of the name of a pattern: the day has a line of its own
_FIRST = datetime(1, 1, 1, tzinfo=UTC)  # day 1
_MINUTE = timedelta(minutes=1)
_FAR = 400 * DAY  # minutes: a change that is as far away is none


class Span(NamedTuple):
    """Minutes of a day, from `begins` to before `ends`, that rules open, or close."""

    begins: int
    ends: int
    open: bool
    rules: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Span":
        """Read `07:00-24:00 windows.week` or `00:00-24:00 closed freezes.christmas`."""
        times, *rules = text.split()
        begins, ends = map(_minute, times.split("-"))
        if not 0 <= begins < ends <= DAY:
            raise ValueError(f"{text!r} is no span of a day")
        closed = rules.count("closed")
        return cls(begins, ends, not closed, tuple(rules[closed:]))


Pattern: TypeAlias = tuple[Span, ...]
"""The spans of a day, in order. Between them it is closed, because no window is open."""
_CLOSED = Span(0, DAY, open=False, rules=())


@dataclass(frozen=True)
class Table:
    """The pattern of each day from `first` on."""

    first: int
    days: tuple[Pattern, ...]

    @classmethod
    def parse(
        cls,
        patterns: Mapping[str, Iterable[str]],
        rows: Mapping[str, str],
        dates: Mapping[str, Iterable[str]],
    ) -> "Table":
        """Read `rows` of months, such as `2026-12`, with the name of a pattern for each day.

        `dates` are days with a pattern of their own, such as `2026-12-20/2027-01-03`.
        """
        known = {name: tuple(map(Span.parse, spans)) for name, spans in patterns.items()}
        dated: dict[int, Pattern] = {}
        for text, spans in dates.items():
            begins, _, ends = text.partition("/")
            own = range(_ordinal(begins), _ordinal(ends or begins) + 1)
            dated |= dict.fromkeys(own, tuple(map(Span.parse, spans)))
        first = _ordinal(f"{min(rows)}-01")
        days: list[Pattern] = []
        for month, row in rows.items():
            if _ordinal(f"{month}-01") != first + len(days):
                raise ValueError(f"{month} does not follow the month before it")
            # More patterns than letters: names with blanks between them.
            for name in row.split() if " " in row else row:
                days.append(dated[first + len(days)] if name == DATED else known[name])
        return cls(first, tuple(days))

    def at(self, instant: datetime) -> tuple[Span, datetime | None, datetime | None]:
        """Give the span at an instant, and since and until when it is open, or closed.

        These are None where they are 400 days away or more, or outside the table.
        """
        now = (instant - _FIRST) // _MINUTE + DAY
        spans = self.on(now // DAY)
        span = next((each for each in spans if each.begins <= now % DAY < each.ends), _CLOSED)
        later = bisect_right(self._changes, now)
        return span, self._change(later - 1, now), self._change(later, now)

    def on(self, day: int) -> Pattern:
        """Return the pattern of a day; raise `LookupError` for one that is not in the table."""
        if not 0 <= day - self.first < len(self.days):
            raise LookupError(f"{date.fromordinal(day)} is not in the table of days")
        return self.days[day - self.first]

    def _change(self, number: int, now: int) -> datetime | None:
        minute = self._changes[number]
        return None if abs(minute - now) >= _FAR else _FIRST + (minute - DAY) * _MINUTE

    @cached_property
    def _changes(self) -> list[int]:
        """Every minute from which it is open, or closed, between two that are out of reach."""
        found: set[int] = set()
        for day, pattern in enumerate(self.days, self.first):
            for span in pattern:
                if span.open:  # what ends as the next one begins goes on
                    found ^= {day * DAY + span.begins, day * DAY + span.ends}
        found -= {self.first * DAY, (self.first + len(self.days)) * DAY}  # nothing changes there
        return [-_FAR, *sorted(found), _FAR**2]


def _ordinal(day: str) -> int:
    return date.fromisoformat(day).toordinal()


def _minute(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)
