"""Freezes and overrides as they are in time, whatever wins.

For pictures that show more than what results.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from krm_windows.schedule import table, wallclock
from krm_windows.schedule.timetable import Rule, Timetable

_FAR = timedelta(days=400)
_MINUTE = timedelta(minutes=1)
# Rules that are remembered, as many as a fleet has that differ: a service goes on for years.
_KEPT = 2048
# When a rule is in force: half-open UTC intervals, in order, that do not touch each other.
_Intervals = tuple[tuple[datetime, datetime], ...]


@dataclass(frozen=True, slots=True)
class Span:
    """One freeze or override in force during the half-open UTC interval [`begins`, `ends`)."""

    rule: Rule
    begins: datetime
    ends: datetime

    @property
    def kind(self) -> str:
        """What it does: `freeze`, `override-open` or `override-closed`."""
        if self.rule.state is None:
            return "freeze"
        return f"override-{self.rule.state.lower()}"


def spans(
    timetable: Timetable,
    begins: datetime,
    ends: datetime,
) -> tuple[Span, ...]:
    """Return where freezes and overrides are in force in a UTC interval, by beginning."""
    return _spans(_in_force, timetable, begins, ends)


def whole(
    timetable: Timetable,
    begins: datetime,
    ends: datetime,
) -> tuple[Span, ...]:
    """Return the freezes and overrides that a UTC interval touches, with their own edges.

    What lasts for more than a year beyond the interval ends there.
    """
    return _spans(_touching, timetable, begins, ends)


def goes_back(timetable: Timetable, span: Span) -> bool:
    """Whether a freeze or override is in force in the minute before a span of it, too."""
    return _holds(timetable, span, span.begins - _MINUTE)


def goes_on(timetable: Timetable, span: Span) -> bool:
    """Whether a freeze or override is in force in the minute after a span of it, too."""
    return _holds(timetable, span, span.ends)


def _holds(timetable: Timetable, span: Span, at: datetime) -> bool:
    return bool(_in_force(span.rule, timetable.zone, at, at + _MINUTE))


def _spans(
    find: Callable[[Rule, ZoneInfo, datetime, datetime], _Intervals],
    timetable: Timetable,
    begins: datetime,
    ends: datetime,
) -> tuple[Span, ...]:
    found: list[Span] = []
    for rule in (*timetable.freezes, *timetable.overrides):
        found += (Span(rule, *each) for each in find(rule, timetable.zone, begins, ends))
    # By name where two begin together, so that a picture is drawn alike every time.
    return tuple(sorted(found, key=lambda span: (span.begins, span.rule.name)))


# By rule and not by timetable: policies and clusters share their freezes.
@lru_cache(maxsize=_KEPT)
def _in_force(rule: Rule, zone: ZoneInfo, begins: datetime, ends: datetime) -> _Intervals:
    """Return when a rule is in force within a UTC interval."""
    days = range(begins.toordinal(), ends.toordinal() + 1)
    found = (map(wallclock.at, each) for each in table.intervals((rule,), zone, days))
    within = ((max(opens, begins), min(closes, ends)) for opens, closes in found)
    return tuple(each for each in within if each[0] < each[1])


def _touching(rule: Rule, zone: ZoneInfo, begins: datetime, ends: datetime) -> _Intervals:
    """Return when a rule is in force that is so within a UTC interval, with its own edges."""
    far = _in_force(rule, zone, begins - _FAR, ends + _FAR)
    return tuple(each for each in far if each[0] < ends and each[1] > begins)
