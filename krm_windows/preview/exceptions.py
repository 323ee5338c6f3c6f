"""Freezes and overrides as they lie in time, whatever wins: for pictures that show more than what results."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from krm_windows.gate.timetable import Rule, Timetable
from krm_windows.schedule.timeline import timeline


@dataclass(frozen=True, slots=True)
class Span:
    """One freeze or override in force during the half-open UTC interval [`begins`, `ends`)."""

    rule: Rule
    begins: datetime
    ends: datetime

    @property
    def kind(self) -> str:
        """What it does: `freeze`, `override-open` or `override-closed`."""
        return f"override-{self.rule.state.lower()}" if self.rule.state else "freeze"


@cache
def spans(timetable: Timetable, begins: datetime, ends: datetime) -> tuple[Span, ...]:
    """Return where the freezes and overrides of a timetable are in force within a UTC interval, by their beginning."""
    found = (
        span
        for rule in (*timetable.freezes, *timetable.overrides)
        for span in _of(rule, timetable, begins, ends)
    )
    return tuple(sorted(found, key=lambda span: (span.begins, span.rule.name)))


def _of(rule: Rule, timetable: Timetable, begins: datetime, ends: datetime) -> Iterator[Span]:
    """Ask the evaluator about a timetable that is open but for this one rule."""
    alone = Timetable(
        policy="",
        time_zone=timetable.time_zone,
        zone_rules=timetable.zone_rules,
        outside_windows="Open",
        freezes=(replace(rule, state=None),),
    )
    return (
        Span(rule, part.begins, part.ends)
        for part in timeline(alone, begins, ends)
        if not part.open
    )
