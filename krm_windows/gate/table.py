"""A table of UTC days: when a policy is open, and by which rules. The build works it out.

Days are counted as `date.toordinal` does, minutes from midnight on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import cycle, islice, pairwise
from typing import NamedTuple, TypeAlias

DAY = 1440  # minutes
_FIRST = datetime(1, 1, 1, tzinfo=UTC)  # day 1
_MINUTE = timedelta(minutes=1)
_FAR = 400 * DAY  # minutes: a change that is as far away is none


class Span(NamedTuple):
    """Minutes of a day, from `begins` to before `ends`, and the rules that open, or close them."""

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
"""The spans of a day, in order. Between them no window is open."""


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
        """Read `rows` of days, such as `DBBE...`, by the date from which on they recur.

        The last row is where the table ends; `dates`, as `2026-12-20/2027-01-03`, have spans.
        """
        known = {name: tuple(map(Span.parse, spans)) for name, spans in patterns.items()}
        first = _ordinal(min(rows))
        days: list[Pattern] = []
        for (begins, row), (ends, _) in pairwise(rows.items()):
            # More patterns than letters: names with blanks behind them.
            week = [known[name] for name in (row.split() if " " in row else row)]
            days += islice(cycle(week), _ordinal(ends) - _ordinal(begins))
            if _ordinal(ends) != first + len(days):
                raise ValueError(f"there are no days from {begins} to {ends}")
        for text, spans in dates.items():
            begins, _, ends = text.partition("/")
            start, stop = _ordinal(begins) - first, _ordinal(ends or begins) - first + 1
            if not 0 <= start < stop <= len(days):
                raise LookupError(f"{text} is not in the table of days")
            days[start:stop] = [tuple(map(Span.parse, spans))] * (stop - start)
        return cls(first, tuple(days))

    def at(self, instant: datetime) -> tuple[Span, datetime | None, datetime | None]:
        """Give the span at an instant, and since and until when it is open, or closed."""
        now = (instant - _FIRST) // _MINUTE + DAY
        return self._span(now), self._change(now, -1), self._change(now, 1)

    def on(self, day: int) -> Pattern:
        """Return the pattern of a day; raise `LookupError` for one that is not in the table."""
        if not 0 <= day - self.first < len(self.days):
            raise LookupError(f"{date.fromordinal(day)} is not in the table of days")
        return self.days[day - self.first]

    def _span(self, minute: int) -> Span:
        """Give the span that a minute is in; it and the span are counted from day 0 on."""
        midnight = minute // DAY * DAY
        begins = midnight
        for span in self.on(minute // DAY):
            start, end = midnight + span.begins, midnight + span.ends
            if minute < start:
                return Span(begins, start, open=False, rules=())
            if minute < end:
                return span._replace(begins=start, ends=end)
            begins = end
        return Span(begins, midnight + DAY, open=False, rules=())

    def _change(self, now: int, step: int) -> datetime | None:
        """Find when it opened or closed last, or will next; a change that is far away is none."""
        here = span = self._span(now)
        edge = now
        while span.open == here.open:
            edge = span.ends if step > 0 else span.begins
            if abs(edge - now) >= _FAR:
                return None
            try:
                span = self._span(edge if step > 0 else edge - 1)
            except LookupError:  # nothing is known of that day
                return None
        return _FIRST + (edge - DAY) * _MINUTE


def _ordinal(day: str) -> int:
    return date.fromisoformat(day).toordinal()


def _minute(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)
