"""Simulations as text: a column of figures for each policy, and below it what waited when."""

from datetime import datetime, time, timedelta

from krm_windows.history.simulation import Simulation
from krm_windows.preview.clock import span

NONE = "-"


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
    waited, changes = len(of.waits), len(of.changes)
    most, at = NONE, NONE
    if of.openings:
        opens, number = of.openings[0]
        most, at = str(number), f"{opens.astimezone(of.zone):%Y-%m-%d %H:%M}"
    return [
        ("changes", str(changes)),
        ("  offered while open", str(changes - waited)),
        # Such as `47 (30 %)`; of no changes none is a share.
        ("  waited", f"{waited} ({f'{100 * waited / changes:.0f} %' if changes else NONE})"),
        ("    pending at the end", str(of.pending)),
        ("    without an opening", str(of.never)),
        ("waiting time, median", length(of.median)),
        ("  95th percentile", length(of.percentile(95))),
        ("  longest", length(of.percentile(100))),
        ("openings with changes", str(len(of.openings))),
        ("  most at one opening", most),
        ("    at", at),
    ]


def end(text: str, width: int) -> str:
    """Return the end of a name: there names of one namespace or folder differ."""
    if len(text) <= width:
        return text
    return f"…{text[1 - width :]}"
