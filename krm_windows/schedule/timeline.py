"""When a timetable is open over a span of time, and by which rules: its table, put together."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import TypeAlias

from krm_windows.gate import timetable as gate
from krm_windows.gate.table import DAY, Table
from krm_windows.gate.timetable import Decision
from krm_windows.schedule import table, zones
from krm_windows.schedule.timetable import Timetable
from krm_windows.schedule.wallclock import at as instant

# A decision looks 400 days back and ahead.
_YEARS_AROUND = 2
Followed: TypeAlias = Timetable | gate.Timetable
# The first and last years of which every clock shows all days.
_YEARS = range(date.min.year + 1, date.max.year)


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


def decide(timetable: Timetable, at: datetime) -> Decision:
    """Say whether `timetable` is open at the aware instant `at`.

    Raises `LookupError` for an unknown zone, or an instant that no table has.
    """
    if at.tzinfo is None:
        raise ValueError(f"{at.isoformat()} is not an instant: it has no UTC offset")
    followed = gate.Timetable(
        policy=timetable.policy,
        table=around(timetable, at, at),
        reasons=timetable.reasons,
        state=timetable.state,
    )
    return followed.decide(at)


def around(timetable: Followed, begins: datetime, ends: datetime) -> Table:
    """Return the table of the years of an interval, and of those before and after.

    What was rendered has a table of its own.
    """
    if isinstance(timetable, gate.Timetable):
        return timetable.table
    first = max(begins.astimezone(UTC).year - _YEARS_AROUND, _YEARS.start)
    last = min(ends.astimezone(UTC).year + _YEARS_AROUND, _YEARS.stop - 1)
    return _of_years(table.rules_of(timetable), first, last)


# A fleet has few policies that differ in their hours, and each is asked many times.
@lru_cache(maxsize=256)
def _of_years(rules: Timetable, first: int, last: int) -> Table:
    days = range(date(first, 1, 1).toordinal(), date(last, 12, 31).toordinal() + 1)
    return table.make(rules, zones.zone(rules.time_zone), days).table


def timeline(
    timetable: Followed, start: datetime, until: datetime, *, apart: frozenset[str] = frozenset()
) -> Iterator[Segment]:
    """Cover [`start`, `until`) with segments, open and closed in turn, lazily.

    Each has all rules that make it so; what rules in `apart` do is a segment of its own. Raises
    `LookupError` for an unknown zone, or a day that what was rendered does not have.
    """
    start, until = start.astimezone(UTC), until.astimezone(UTC)
    if start >= until:
        return
    if timetable.state != "Scheduled":
        yield Segment(start, until, timetable.state == "Open", ("state",))
        return
    segment: Segment | None = None
    rules: dict[str, None] = {}
    for part in _parts(timetable, start, until):
        beside = apart.isdisjoint(rules) == apart.isdisjoint(part.rules)
        if beside and segment and segment.open == part.open:
            rules |= dict.fromkeys(part.rules)
            segment = Segment(segment.begins, part.ends, part.open, tuple(rules))
            continue
        if segment:
            yield segment
        segment, rules = part, dict.fromkeys(part.rules)
    if segment:
        yield segment


def _parts(timetable: Followed, start: datetime, until: datetime) -> Iterator[Segment]:
    """Yield each span of the table that lies in an interval, and what is closed between them."""
    found = around(timetable, start, until)
    now = start
    for day in range(start.toordinal(), until.toordinal() + 1):
        for begins, ends, is_open, rules in found.on(day):
            first = max(instant(day * DAY + begins), start)
            last = min(instant(day * DAY + ends), until)
            if first >= last:
                continue
            if now < first:
                yield Segment(now, first, open=False, rules=())
            yield Segment(first, last, is_open, rules)
            now = last
    if now < until:
        yield Segment(now, until, open=False, rules=())


def openings(
    timetable: Followed, start: datetime, until: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """Yield the open segments of `timeline` alone, by beginning and end."""
    for segment in timeline(timetable, start, until):
        if segment.open:
            yield segment.begins, segment.ends
