"""Simulations as text: a column of figures for each policy, and below it what waited when."""

from collections.abc import Callable, Iterator
from datetime import datetime, time, timedelta
from typing import TypeAlias

from krm_windows.history.simulation import Breakdown, Simulation
from krm_windows.preview.text import span

Figure: TypeAlias = tuple[str, Callable[[Simulation], str]]

NONE = "-"
BUCKETS = (
    ("under 1 h", timedelta(hours=1)),
    ("1 h to 4 h", timedelta(hours=4)),
    ("4 h to 12 h", timedelta(hours=12)),
    ("12 h to 1 d", timedelta(days=1)),
    ("1 d to 2 d", timedelta(days=2)),
    ("2 d to 4 d", timedelta(days=4)),
    ("4 d to 8 d", timedelta(days=8)),
    ("8 d and more", timedelta.max),
)
"""Lengths of waits that are counted together: a name, and the length that is the next one's."""
COMMIT = 12
"""Digits of a commit's name that are enough in a large repository."""
# Signs of ASCII, which every terminal has in one width.
WAITED = "#"
AT_ONCE = "."


def share(part: int, whole: int) -> str:
    """Say how much of a whole a part is: `34 %`."""
    # Of no changes none is a share.
    if not whole:
        return NONE
    percent = 100 * part / whole
    return f"{percent:.0f} %"


def buckets(simulation: Simulation) -> Iterator[tuple[str, int]]:
    """Yield the names of lengths, and how many waits were as long."""
    found = simulation.lengths
    # Each begins where the one before it ends, so that every length is in one of them.
    least = timedelta()
    for name, below in BUCKETS:
        yield name, sum(least <= one < below for one in found)
        least = below


def period(simulation: Simulation) -> str:
    """Say which days the simulation is about, on the policy's clock."""
    first = simulation.begins.astimezone(simulation.zone)
    last = simulation.ends.astimezone(simulation.zone)
    since = _moment(first)
    until = _moment(last)
    return f"{since} to {until} ({simulation.timetable.time_zone})"


def _moment(local: datetime) -> str:
    """Write a day at midnight without its hour."""
    if local.time() == time():
        return f"{local:%Y-%m-%d}"
    return f"{local:%Y-%m-%d %H:%M}"


def length(waited: timedelta | None) -> str:
    """Say how long something waited."""
    if waited is None:
        return NONE
    return span(waited)


def _instant(at: datetime | None, simulation: Simulation) -> str:
    if at is None:
        return NONE
    local = at.astimezone(simulation.zone)
    return f"{local:%Y-%m-%d %H:%M}"


def _waited(simulation: Simulation) -> str:
    # Such as `47 (30 %)`.
    number = len(simulation.waits)
    part = share(number, len(simulation.changes))
    return f"{number} ({part})"


def _largest(simulation: Simulation) -> str:
    if not simulation.openings:
        return NONE
    _, waits = simulation.openings[0]
    return str(len(waits))


def _largest_at(simulation: Simulation) -> str:
    if not simulation.openings:
        return NONE
    opens, _ = simulation.openings[0]
    return _instant(opens, simulation)


def _longest_length(simulation: Simulation) -> str:
    if not simulation.longest:
        return NONE
    return length(simulation.longest[0].length)


def _at_once(simulation: Simulation) -> str:
    number = len(simulation.changes) - len(simulation.waits)
    return str(number)


def _week(write: Callable[[Breakdown], str]) -> Callable[[Simulation], str]:
    """Return what writes a figure of the worst week."""

    def written(simulation: Simulation) -> str:
        week = simulation.worst_week
        if week is None:
            return NONE
        return write(week)

    return written


FIGURES: tuple[Figure, ...] = (
    ("changes", lambda each: str(len(each.changes))),
    ("  offered while open", _at_once),
    ("  waited", _waited),
    ("    pending at the end", lambda each: str(len(each.pending))),
    ("    without an opening", lambda each: str(len(each.never))),
    ("waiting time, median", lambda each: length(each.median)),
    ("  95th percentile", lambda each: length(each.percentile(95))),
    ("  longest", _longest_length),
    ("openings with changes", lambda each: str(len(each.openings))),
    ("  most at one opening", _largest),
    ("    at", _largest_at),
    ("worst week, from", _week(lambda week: week.title)),
    ("  waited", _week(lambda week: f"{week.waited} of {week.changes}")),
    ("  total wait", _week(lambda week: span(week.total))),
)
"""What is said of each policy, a line each."""


def bar(waited: int, changes: int, most: int, room: int) -> str:
    """Draw a part of the largest one; what is there at all has a sign."""
    whole = scaled(changes, most, room)
    # Both are rounded, each on its own.
    dark = min(scaled(waited, most, room), whole)
    # Whoever did not wait is seen, too, where there is room for both.
    if dark == whole and waited < changes and whole > 1:
        dark -= 1
    light = whole - dark
    return WAITED * dark + AT_ONCE * light


def scaled(number: int, most: int, room: int) -> int:
    """Return as how many signs a number is drawn, beside the largest one."""
    if not number:
        return 0
    # A sign a change as long as there is room: `most` is then the scale itself.
    scale = min(room, most)
    # What is there at all is seen.
    return max(1, round(number * scale / most))


def end(text: str, width: int) -> str:
    """Return the end of a name: there names of one namespace or folder differ."""
    if len(text) <= width:
        return text
    return f"…{text[1 - width :]}"
