"""Freezes and overrides as they are in time, whatever wins.

For pictures that show more than what results.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from krm_windows.gate import bits, coverage
from krm_windows.gate.decide import decide
from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Rule, Timetable
from krm_windows.gate.zones import Zone
from krm_windows.preview.calendar import EARLIEST
from krm_windows.schedule.timeline import instant, openings

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
    found: list[Span] = []
    for rule in (*timetable.freezes, *timetable.overrides):
        intervals = _in_force(rule, timetable.zone, begins, ends)
        found.extend(Span(rule, *interval) for interval in intervals)
    return _in_order(found)


def whole(
    timetable: Timetable,
    begins: datetime,
    ends: datetime,
) -> tuple[Span, ...]:
    """Return the freezes and overrides that a UTC interval touches, with their own edges.

    What lasts for more than a year beyond the interval ends there.
    """
    found: list[Span] = []
    for rule in (*timetable.freezes, *timetable.overrides):
        intervals = _touching(rule, timetable.zone, begins, ends)
        found.extend(Span(rule, *interval) for interval in intervals)
    return _in_order(found)


def goes_back(timetable: Timetable, span: Span) -> bool:
    """Whether a freeze or override is in force in the minute before a span of it, too."""
    return _holds(timetable, span, span.begins - _MINUTE)


def goes_on(timetable: Timetable, span: Span) -> bool:
    """Whether a freeze or override is in force in the minute after a span of it, too."""
    return _holds(timetable, span, span.ends)


def _holds(timetable: Timetable, span: Span, at: datetime) -> bool:
    # Before that, nobody knows.
    if at < EARLIEST:
        return True
    return bool(_in_force(span.rule, timetable.zone, at, at + _MINUTE))


def _in_order(found: Iterable[Span]) -> tuple[Span, ...]:
    # By name where two begin together, so that a picture is drawn alike every time.
    return tuple(sorted(found, key=lambda span: (span.begins, span.rule.name)))


# By rule and not by timetable: policies and clusters share their freezes.
@lru_cache(maxsize=_KEPT)
def _in_force(
    rule: Rule,
    zone: Zone,
    begins: datetime,
    ends: datetime,
) -> _Intervals:
    """Return when a rule is in force within a UTC interval."""
    if isinstance(rule.begins, Recurrence):
        return tuple(openings(_alone(rule, zone), begins, ends))
    return tuple(_dated(rule, zone, begins, ends))


@lru_cache(maxsize=_KEPT)
def _touching(
    rule: Rule,
    zone: Zone,
    begins: datetime,
    ends: datetime,
) -> _Intervals:
    """Return when a rule is in force that is so within a UTC interval, with its own edges."""
    first = max(begins - _FAR, EARLIEST)
    last = ends + _FAR
    if not isinstance(rule.begins, Recurrence):
        far = _in_force(rule, zone, first, last)
        return tuple(each for each in far if each[0] < ends and each[1] > begins)
    begins = max(begins, first)
    within = list(_in_force(rule, zone, begins, ends))
    # Only the first and the last may reach beyond: no other day of these years is asked for.
    alone = _alone(rule, zone)
    if within and within[0][0] == begins:
        since = decide(alone, begins).since or first
        within[0] = (max(since, first), within[0][1])
    if within and within[-1][1] == ends:
        within[-1] = next(openings(alone, within[-1][0], last))
    return tuple(within)


def _dated(
    rule: Rule,
    zone: Zone,
    begins: datetime,
    ends: datetime,
) -> Iterator[tuple[datetime, datetime]]:
    """Yield when a rule that does not recur is in force within a UTC interval, if it is."""
    if begins >= ends:
        return
    first = coverage.minute(begins)
    last = coverage.minute(ends - timedelta.resolution) + 1
    begin, end = coverage.interval(rule, zone)
    if max(begin, first) >= min(end, last):
        return
    # What reaches beyond is cut at the interval, which may begin within a minute.
    opens = begins
    closes = ends
    if begin > first:
        opens = instant(*divmod(begin, bits.DAY))
    if end < last:
        closes = instant(*divmod(end, bits.DAY))
    yield opens, closes


def _alone(rule: Rule, zone: Zone) -> Timetable:
    """Return a timetable that is open while a rule is in force, whatever the rule does.

    The one evaluator answers for clock changes and cron here as it does in the cluster.
    """
    return Timetable(
        policy="",
        time_zone=zone.key,
        zone_rules=zone.rules,
        windows=(rule._replace(state=None),),
    )
