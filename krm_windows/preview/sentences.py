"""States in a plain sentence."""

from krm_windows import escape
from krm_windows.gate.decide import Decision
from krm_windows.gate.timetable import Timetable
from krm_windows.preview.clock import shown


def state(timetable: Timetable, decision: Decision) -> str:
    """Say what holds, why, since when and until when."""
    tz = timetable.zone
    name = f"{timetable.policy} on {timetable.cluster}" if timetable.cluster else timetable.policy
    since = f"since {shown(decision.since, tz)}" if decision.since else "for more than 400 days"
    until = (
        f"until {shown(decision.until, tz)}" if decision.until else "for more than 400 days to come"
    )
    said = f"{name} is {'open' if decision.open else 'closed'}: {decision.reason}"
    return f"{escape.line(said)}\n{since}, {until} ({tz.key})\n"
