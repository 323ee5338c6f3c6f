"""Freezes and overrides as they lie in time, whatever wins.

For pictures that show more than what results.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

from krm_windows.gate.timetable import Rule, Timetable
from krm_windows.plan.zone_rules import FIRST_YEAR
from krm_windows.schedule.timeline import timeline

_FAR = timedelta(days=400)
# Before it a timetable has no rules of its zone.
_EARLIEST = datetime(FIRST_YEAR, 1, 2, tzinfo=UTC)


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


@cache
def spans(
    timetable: Timetable,
    begins: datetime,
    ends: datetime,
) -> tuple[Span, ...]:
    """Return where freezes and overrides are in force in a UTC interval, by beginning."""
    found: list[Span] = []
    for rule in (*timetable.freezes, *timetable.overrides):
        found.extend(_of(rule, timetable, begins, ends))
    # By name where two begin together, so that a picture is drawn alike every time.
    found.sort(key=lambda span: (span.begins, span.rule.name))
    return tuple(found)


def whole(
    timetable: Timetable,
    begins: datetime,
    ends: datetime,
) -> Iterator[Span]:
    """Yield the freezes and overrides that a UTC interval touches, with their own edges.

    What lasts for more than a year beyond the interval ends there.
    """
    first = max(begins - _FAR, _EARLIEST)
    for span in spans(timetable, first, ends + _FAR):
        if span.begins < ends and span.ends > begins:
            yield span


def _of(
    rule: Rule,
    timetable: Timetable,
    begins: datetime,
    ends: datetime,
) -> Iterator[Span]:
    """Ask the evaluator about a timetable that is open but for this one rule."""
    # The one evaluator answers for clock changes, cron and dates here as it does in the cluster.
    alone = Timetable(
        policy="",
        time_zone=timetable.time_zone,
        zone_rules=timetable.zone_rules,
        outside_windows="Open",
        freezes=(rule._replace(state=None),),
    )
    return (
        Span(rule, part.begins, part.ends)
        for part in timeline(alone, begins, ends)
        if not part.open
    )
