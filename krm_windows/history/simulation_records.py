"""What `simulate -o json` says: lengths are seconds, instants as RFC 3339 writes them."""

from datetime import timedelta

from krm_windows.history import simulation_text
from krm_windows.history.simulation import Breakdown, Simulation, Wait
from krm_windows.preview.clock import stamp, stamp_or_none
from krm_windows.preview.records import Record


def simulation(of: Simulation) -> Record:
    """Return a simulation with every change that waited."""
    unit, parts = of.parts
    # Null where there is none, and not an object of nulls.
    largest = None
    if of.openings:
        opens, waits = of.openings[0]
        largest = {
            "opens": stamp(opens, of.zone),
            "changes": len(waits),
        }
    # None in a period in which nothing waited.
    worst = None
    if of.worst_week:
        worst = _part(of.worst_week, "from")
    return {
        "policy": of.timetable.policy,
        "cluster": of.timetable.cluster,
        "timeZone": of.timetable.time_zone,
        "from": stamp(of.begins, of.zone),
        "until": stamp(of.ends, of.zone),
        "changes": len(of.changes),
        "timesOutOfOrder": of.skewed,
        "atOnce": len(of.changes) - len(of.waits),
        "waited": len(of.waits),
        # Those that never came in are among the pending ones.
        "pending": len(of.pending),
        "withoutOpening": len(of.never),
        # Of those that waited and came in: to the next opening, also one after the period.
        "waitSeconds": {
            "median": _seconds(of.median),
            "percentile95": _seconds(of.percentile(95)),
            "longest": _seconds(of.percentile(100)),
            "total": _seconds(sum(of.lengths, timedelta())),
        },
        "waitLengths": dict(simulation_text.buckets(of)),
        "openings": len(of.openings),
        "largestOpening": largest,
        "worstWeek": worst,
        # `weeks` or `months`, by the length of the period.
        f"{unit}s": [_part(part, unit) for part in parts],
        "classes": [_part(part, "class") for part in of.classes],
        "waits": [_wait(wait, of) for wait in of.waits],
    }


def _part(part: Breakdown, key: str) -> Record:
    return {
        key: part.title,
        "changes": part.changes,
        "waited": part.waited,
        "totalSeconds": _seconds(part.total),
    }


def _wait(wait: Wait, of: Simulation) -> Record:
    change = wait.change
    return {
        "commit": change.commit,
        "subject": change.subject,
        "author": change.author,
        "classes": list(change.classes),
        "offered": stamp(change.at, of.zone),
        "opens": stamp_or_none(wait.opens, of.zone),
        "seconds": _seconds(wait.length),
    }


# Null is what never came, or what nothing can be said of.
def _seconds(length: timedelta | None) -> int | None:
    if length is None:
        return None
    return int(length.total_seconds())
