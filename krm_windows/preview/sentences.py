"""States in a plain sentence."""

from krm_windows import escape
from krm_windows.gate.decide import Decision
from krm_windows.gate.timetable import Timetable
from krm_windows.preview.calendar import named
from krm_windows.preview.clock import shown


def state(timetable: Timetable, decision: Decision) -> str:
    """Say what holds, why, since when and until when."""
    zone = timetable.zone
    # The evaluator looks no further than 400 days.
    since, until = "for more than 400 days", "for more than 400 days to come"
    if decision.since:
        since = f"since {shown(decision.since, zone)}"
    if decision.until:
        until = f"until {shown(decision.until, zone)}"
    is_open = "closed"
    if decision.open:
        is_open = "open"
    said = f"{named(timetable)} is {is_open}: {decision.reason}"
    return f"{escape.line(said)}\n{since}, {until} ({zone.key})\n"
