"""Simulations as text: a column of figures for each policy, and below it what waited when."""

from collections.abc import Iterator
from datetime import datetime, time, timedelta

from krm_windows.history.simulation import Simulation
from krm_windows.preview.text import span

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
# Signs of ASCII, which every terminal has in one width.
WAITED = "#"
AT_ONCE = "."


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
    edges = (at.astimezone(simulation.zone) for at in (simulation.begins, simulation.ends))
    return f"{' to '.join(map(_moment, edges))} ({simulation.timetable.time_zone})"


def _moment(local: datetime) -> str:
    """Write a day at midnight without its hour."""
    if local.time() == time():
        return f"{local:%Y-%m-%d}"
    return f"{local:%Y-%m-%d %H:%M}"


def length(waited: timedelta | None) -> str:
    """Say how long something waited."""
    return NONE if waited is None else span(waited)


def figures(of: Simulation) -> list[tuple[str, str]]:
    """Return what is said of a policy, a line each."""
    waited, changes, week = len(of.waits), len(of.changes), of.worst_week
    most, at = NONE, NONE
    if of.openings:
        opens, waits = of.openings[0]
        most, at = str(len(waits)), f"{opens.astimezone(of.zone):%Y-%m-%d %H:%M}"
    return [
        ("changes", str(changes)),
        ("  offered while open", str(changes - waited)),
        # Such as `47 (30 %)`; of no changes none is a share.
        ("  waited", f"{waited} ({f'{100 * waited / changes:.0f} %' if changes else NONE})"),
        ("    pending at the end", str(len(of.pending))),
        ("    without an opening", str(len(of.never))),
        ("waiting time, median", length(of.median)),
        ("  95th percentile", length(of.percentile(95))),
        ("  longest", length(of.percentile(100))),
        ("openings with changes", str(len(of.openings))),
        ("  most at one opening", most),
        ("    at", at),
        ("worst week, from", week.title if week else NONE),
        ("  waited", f"{week.waited} of {week.changes}" if week else NONE),
        ("  total wait", span(week.total) if week else NONE),
    ]


def bar(waited: int, changes: int, most: int, room: int) -> str:
    """Draw a part of the largest one: a sign a change, as long as there is room for that."""
    if not changes:
        return ""
    # What is there at all is seen.
    whole = changes if most <= room else max(1, changes * room // most)
    dark = round(waited * whole / changes)
    return WAITED * dark + AT_ONCE * (whole - dark)


def end(text: str, width: int) -> str:
    """Return the end of a name: there names of one namespace or folder differ."""
    if len(text) <= width:
        return text
    return f"…{text[1 - width :]}"
