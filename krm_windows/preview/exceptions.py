"""Freezes and overrides as they are in time, whatever wins.

For pictures that show more than what results.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from krm_windows.schedule import table, wallclock
from krm_windows.schedule.timetable import Rule, Timetable

FAR = timedelta(days=400)
"""What lasts for longer than this beyond what is asked for ends there."""


@dataclass(frozen=True, slots=True)
class RuleInForce:
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


def spans(timetable: Timetable, begins: datetime, ends: datetime) -> list[RuleInForce]:
    """Return the freezes and overrides that a UTC interval touches, with their own edges."""
    found: list[RuleInForce] = []
    for rule in (*timetable.freezes, *timetable.overrides):
        found += (RuleInForce(rule, *each) for each in touching(rule, timetable.zone, begins, ends))
    # By name where two begin together, so that a picture is drawn alike every time.
    return sorted(found, key=lambda span: (span.begins, span.rule.name))


# By rule and not by timetable: policies and clusters share their freezes. As many are remembered as
# a fleet has that differ: a service goes on for years.
@lru_cache(maxsize=2048)
def touching(
    rule: Rule, zone: ZoneInfo, begins: datetime, ends: datetime
) -> tuple[tuple[datetime, datetime], ...]:
    """Return when a rule is in force, in order: what a UTC interval touches, with its own edges."""
    first, last = begins - FAR, ends + FAR
    days = range(first.toordinal(), last.toordinal() + 1)
    found = (map(wallclock.at, each) for each in table.intervals((rule,), zone, days))
    return tuple(
        (max(opens, first), min(closes, last))
        for opens, closes in found
        if opens < ends and closes > begins
    )
