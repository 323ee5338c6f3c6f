"""A table of UTC days: when a policy is open, and by which rules.

The build works it out (`krm_windows.schedule.table`). Days are counted as `date.toordinal` does,
minutes from the midnight of their day on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, TypeAlias

DAY = 1440  # minutes
DATED = "x"  # in place of the name of a pattern: the day has a line of its own
_FIRST = datetime(1, 1, 1, tzinfo=UTC)  # day 1
_MINUTE = timedelta(minutes=1)
_FAR = 400  # days: for how long a change is searched, either way


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
        begins, ends = map(_minutes, times.split("-"))
        if not 0 <= begins < ends <= DAY:
            raise ValueError(f"{text!r} is no span of a day")
        if rules[0] == "closed":
            return cls(begins, ends, open=False, rules=tuple(rules[1:]))
        return cls(begins, ends, open=True, rules=tuple(rules))

    def __str__(self) -> str:
        """Write it as `parse` reads it."""
        words = [f"{_clock(self.begins)}-{_clock(self.ends)}", *self.rules]
        if not self.open:
            words.insert(1, "closed")
        return " ".join(words)


Pattern: TypeAlias = tuple[Span, ...]
"""The spans of a day, in order. Between them it is closed, because no window is open."""


class Verdict(NamedTuple):
    """What holds at an instant, by which rules.

    `since` and `until` are None where they are 400 days away or more, or outside the table.
    """

    open: bool
    rules: tuple[str, ...]
    since: datetime | None
    until: datetime | None


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

        `dates` are days with a pattern of their own, such as `2026-12-20/2027-01-03`. Raises
        `ValueError` or `LookupError` for anything else.
        """
        known = {name: _pattern(spans) for name, spans in patterns.items()}
        dated: dict[int, Pattern] = {}
        for text, spans in dates.items():
            begins, _, ends = text.partition("/")
            own = range(_ordinal(begins), _ordinal(ends or begins) + 1)
            dated.update(dict.fromkeys(own, _pattern(spans)))
        first = _ordinal(f"{min(rows)}-01")
        days: list[Pattern] = []
        for month, row in rows.items():
            if _ordinal(f"{month}-01") != first + len(days):
                raise ValueError(f"{month} does not follow the month before it")
            # More patterns than letters: names with blanks between them.
            names = row.split() if " " in row else row
            for name in names:
                days.append(dated[first + len(days)] if name == DATED else known[name])
        return cls(first, tuple(days))

    def at(self, instant: datetime) -> Verdict:
        """Say what holds at an aware instant; raise `LookupError` for one outside the table."""
        now = (instant - _FIRST) // _MINUTE + DAY
        day, minute = divmod(now, DAY)
        spans = (span for span in self.on(day) if span.begins <= minute < span.ends)
        span = next(spans, _CLOSED)
        since = self._change(range(day, day - _FAR - 1, -1), now, span.open)
        until = self._change(range(day, day + _FAR + 1), now, span.open)
        return Verdict(span.open, span.rules, since, until)

    def on(self, day: int) -> Pattern:
        """Return the pattern of a day; raise `LookupError` for one that is not in the table."""
        if not self._has(day):
            raise LookupError(f"{date.fromordinal(day)} is not in the table of days")
        return self.days[day - self.first]

    def _has(self, day: int) -> bool:
        return 0 <= day - self.first < len(self.days)

    def _change(self, days: range, now: int, is_open: bool) -> datetime | None:  # noqa: FBT001
        """Find the nearest minute, before `now` or after it, from which it is otherwise."""
        for day in filter(self._has, days):
            for part in _parts(self.days[day - self.first], not is_open)[:: days.step]:
                begins, ends = (day * DAY + minute for minute in part)
                if days.step > 0 and begins > now:
                    return _instant(begins, now)
                if days.step < 0 and ends <= now:
                    return _instant(ends, now)
        return None


_CLOSED = Span(0, DAY, open=False, rules=())


@lru_cache(maxsize=1024)
def _parts(pattern: Pattern, is_open: bool) -> list[tuple[int, int]]:  # noqa: FBT001
    """Return the open parts of a day, or the closed ones: where each begins and ends."""
    opened: list[tuple[int, int]] = []
    for span in pattern:
        if span.open and opened and opened[-1][1] == span.begins:
            opened[-1] = opened[-1][0], span.ends
        elif span.open:
            opened.append((span.begins, span.ends))
    if is_open:
        return opened
    edges = [0, *chain.from_iterable(opened), DAY]
    closed = zip(edges[::2], edges[1::2], strict=True)
    return [(begins, ends) for begins, ends in closed if begins < ends]


def _instant(minute: int, now: int) -> datetime | None:
    if abs(minute - now) >= _FAR * DAY:
        return None
    return _FIRST + (minute - DAY) * _MINUTE


def _pattern(spans: Iterable[str]) -> Pattern:
    return tuple(map(Span.parse, spans))


def _ordinal(day: str) -> int:
    return date.fromisoformat(day).toordinal()


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
