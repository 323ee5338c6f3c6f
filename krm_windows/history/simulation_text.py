"""Simulations as text: a column of figures for each policy, and below it what waited when."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, time, timedelta
from typing import TypeAlias

from krm_windows.escape import cut, word
from krm_windows.history.simulation import Breakdown, Simulation, Wait
from krm_windows.preview.clock import shown
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
_LABEL = 26
_COLUMN = 18
_FEW = 5  # of the longest waits
COMMIT = 12
"""Digits of a commit's name that are enough in a large repository."""
# Signs of ASCII, which every terminal has in one width.
_WAITED = "#"
_AT_ONCE = "."
_NOTES = (
    "offered: when its commit reached the branch (committer time, first parents only)",
    "waits: from then until the policy next opens",
)


def render(every: Sequence[Simulation], width: int) -> str:
    """Return a page of lines that are no wider than this, from 60 on."""
    lines = [line.rstrip() for line in _lines(every, width)]
    return "".join(f"{line}\n" for line in lines)


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


def _lines(every: Sequence[Simulation], width: int) -> Iterator[str]:
    for simulation in every:
        yield cut(simulation.name, width)
    # One period for all, by the clock of the first.
    yield period(every[0])
    yield ""
    if len(every) > 1:
        # Two spaces at least between two names.
        names = [_end(each.name, _COLUMN - 2) for each in every]
        yield _columns("", names)
    for label, figure in FIGURES:
        values = [figure(each) for each in every]
        yield _columns(label, values)
    yield from _skewed(every[0])
    for simulation in every:
        yield ""
        if len(every) > 1:
            yield cut(f"{simulation.name}:", width)
        yield from _classes(simulation)
        yield from _parts(simulation, width)
        yield ""
        yield from _histogram(simulation, width)
        yield from _longest(simulation, width)
    yield ""
    for note in _NOTES:
        yield from _wrapped(note, width)


def _columns(label: str, values: Iterable[str]) -> str:
    columns = [value.ljust(_COLUMN) for value in values]
    return label.ljust(_LABEL) + "".join(columns)


def _skewed(simulation: Simulation) -> Iterator[str]:
    """Say where clocks have gone backwards: each commit counts at its own time."""
    # It is of the branch, and so the same for every policy.
    if simulation.skewed:
        yield f"of them with a commit time before the previous {simulation.skewed}"


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


def _classes(simulation: Simulation) -> Iterator[str]:
    # Only where they were asked for.
    if not simulation.classes:
        return
    heading = "class".ljust(_LABEL)
    yield f"{heading}changes  waited   total wait"
    for part in simulation.classes:
        name = cut(part.title, _LABEL - 2).ljust(_LABEL)
        total = span(part.total)
        yield f"{name}{part.changes:<9}{part.waited:<9}{total}"
    yield ""


def _parts(simulation: Simulation, width: int) -> Iterator[str]:
    unit, parts = simulation.parts
    # One scale for all lines: the longest bar is that of the most changes.
    yield f"{unit:<12}changes  waited  ({_WAITED} waited, {_AT_ONCE} did not)"
    most = max((part.changes for part in parts), default=0)
    room = width - len("2026-11-23    changes  waited  ")
    for part in parts:
        bar = _bar(part.waited, part.changes, most, room)
        yield f"{part.title:<12}{part.changes:>7}  {part.waited:>6}  {bar}"


def _bar(waited: int, changes: int, most: int, room: int) -> str:
    """Draw a part of the largest one; what is there at all has a sign."""
    whole = _scaled(changes, most, room)
    # Both are rounded, each on its own.
    dark = min(_scaled(waited, most, room), whole)
    # Whoever did not wait is seen, too, where there is room for both.
    if dark == whole and waited < changes and whole > 1:
        dark -= 1
    light = whole - dark
    return _WAITED * dark + _AT_ONCE * light


def _scaled(number: int, most: int, room: int) -> int:
    if not number:
        return 0
    # A sign a change as long as there is room: `most` is then the scale itself.
    scale = min(room, most)
    # What is there at all is seen.
    return max(1, round(number * scale / most))


def _histogram(simulation: Simulation, width: int) -> Iterator[str]:
    yield f"{'waited for':<15}changes"
    found = list(buckets(simulation))
    # The last of `width`: names, numbers and the spaces between take 24.
    most = max(number for _, number in found)
    for name, number in found:
        bar = _WAITED * _scaled(number, most, width - 24)
        yield f"{name:<15}{number:>7}  {bar}"


def _longest(simulation: Simulation, width: int) -> Iterator[str]:
    if not simulation.longest:
        return
    yield ""
    yield "longest waits"
    for wait in simulation.longest[:_FEW]:
        yield cut(_row(simulation, wait), width)


def _row(simulation: Simulation, wait: Wait) -> str:
    change = wait.change
    # The length first, as that is what the lines are sorted by.
    waited = length(wait.length).ljust(15)
    offered = shown(change.at, simulation.zone).ljust(22)
    subject = word(change.subject)
    return f"{waited}{offered}{change.commit[:COMMIT]}  {subject}"


def _end(text: str, width: int) -> str:
    """Return the end of a name: there names of one namespace or folder differ."""
    if len(text) <= width:
        return text
    return f"…{text[1 - width :]}"


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Yield a text in lines, the later ones indented."""
    yield from textwrap.wrap(text, width, subsequent_indent="  ")
