"""States in a plain sentence."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from operator import itemgetter
from zoneinfo import ZoneInfo

from krm_windows import escape
from krm_windows.gate.timetable import Decision
from krm_windows.plurals import clusters, on, some
from krm_windows.preview.calendar import gated_by, named
from krm_windows.preview.clock import coming, shown
from krm_windows.schedule.timetable import Timetable

# So many targets are named.
_FEW = 5


def state(timetable: Timetable, decision: Decision, stage: str) -> str:
    """Say what should hold, why, since when and until when; `stage` is where that is known from.

    Whether the cluster knows it, and the targets are so, is for those to say who ask it.
    """
    zone = timetable.zone
    # The evaluator looks no further than 400 days.
    since, until = "for more than 400 days", "for more than 400 days to come"
    if decision.since:
        since = f"since {shown(decision.since, zone)}"
    if decision.until:
        until = f"until {shown(decision.until, zone)}"
    is_open = "open" if decision.open else "closed"
    said = f"{stage}: {named(timetable)} should be {is_open}: {decision.reason}"
    return f"{escape.line(said)}\n{since}, {until} ({zone.key})\n"


def turns(every: Iterable[tuple[Timetable, Decision, Decision]]) -> str:
    """Say what a change makes hold from now on, and what would have held without it.

    Once for all clusters of which the same is said.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for timetable, was, now in every:
        zone = timetable.zone
        # Another rule may decide the same: `stays open`.
        verb = "stays" if was.open is now.open else "becomes"
        targets = some([str(target) for target in timetable.targets], _FEW)
        said = (
            timetable.policy,
            f"{verb} {_brief(now, zone)} ({zone.key})",
            f"  without this change: {_brief(was, zone)}",
            f"  targets: {targets or gated_by(timetable)}",
        )
        groups.setdefault(said, []).extend(filter(None, [timetable.cluster]))
    lines: list[str] = []
    for (policy, holds, *more), names in groups.items():
        lines += [f"once applied, {on(policy, names)} {holds}", *more]
    return "".join(f"{escape.line(line)}\n" for line in lines)


def brief(every: Iterable[tuple[Timetable, Decision, Decision]]) -> str:
    """Say what a change opens and closes, and what it leaves so: `  becomes open on munich`."""
    groups: dict[str, list[str]] = {}
    for timetable, was, now in every:
        verb = "stays" if was.open is now.open else "becomes"
        holds = f"  {verb} {'open' if now.open else 'closed'}"
        groups.setdefault(holds, []).extend(filter(None, [timetable.cluster]))
    return "".join(f"{escape.line(on(holds, names))}\n" for holds, names in groups.items())


def held(every: Iterable[tuple[Timetable, Decision]], now: datetime) -> Iterator[str]:
    """Yield what should hold and why, once for all clusters of which the same is said."""
    groups: dict[tuple[str, str], list[str]] = {}
    for timetable, decision in every:
        holds = "open" if decision.open else "closed"
        until = f"for more than 400 days ({timetable.zone.key})"
        if decision.until:
            until = f"until {coming(decision.until, timetable.zone, now)}"
        said = f"{holds} {until}", decision.reason
        groups.setdefault(said, []).extend(filter(None, [timetable.cluster]))
    for (holds, reason), names in groups.items():
        yield f"  {holds}"
        yield f"    {clusters(names)}: {reason}" if names else f"    {reason}"


def opening(every: Iterable[tuple[Timetable, Decision]], now: datetime) -> Iterator[str]:
    """Yield which of the policies that are closed opens first, and when."""
    closed = [(held.until, each) for each, held in every if held.until and not held.open]
    if closed:
        at, first = min(closed, key=itemgetter(0))
        yield f"opens next: {named(first)}, {coming(at, first.zone, now)}"


def waiting(timetable: Timetable, decision: Decision) -> str:
    """Say in a line what holds while somebody waits for something else."""
    zone = timetable.zone
    return f"{named(timetable)} should be {_brief(decision, zone)} ({zone.key})"


def _brief(decision: Decision, zone: ZoneInfo) -> str:
    """Say what holds, until when and why: `open until Mon 2026-12-14 08:00 (windows.week)`."""
    word = "open" if decision.open else "closed"
    until = "for more than 400 days"
    if decision.until:
        until = f"until {shown(decision.until, zone)}"
    return f"{word} {until} ({decision.reason})"
