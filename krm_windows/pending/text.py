"""What waits, for a terminal of eighty columns, and for a message in the morning of the window."""

from krm_windows import escape
from krm_windows.pending import words
from krm_windows.pending.report import Pending
from krm_windows.preview import sentences, templating
from krm_windows.preview.calendar import named

_HERE = "krm_windows.pending"
_WIDTH = 80


def render(pending: Pending, stage: str) -> str:
    """Return what should hold, known from a stage (`preview.stages`), and what waits."""
    return sentences.state(pending.timetable, pending.decision, stage) + entries(pending)


def entries(pending: Pending) -> str:
    """Return a block for each target, an empty line above it."""
    return templating.text(
        "pending.txt",
        _HERE,
        pending=pending,
        zone=pending.timetable.zone,
        words=words,
        cut=_cut,
    )


def markdown(pending: Pending) -> str:
    """Return a heading, a list of what waits, and last what waits for nothing."""
    timetable = pending.timetable
    values = {"pending": pending, "name": named(timetable), "zone": timetable.zone, "words": words}
    return templating.markdown("pending.md", _HERE, **values)


def _cut(line: str) -> str:
    # Where the terminal ends.
    return escape.cut(escape.line(line), _WIDTH)
