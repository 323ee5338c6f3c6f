"""States in a plain sentence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from operator import itemgetter
from zoneinfo import ZoneInfo

from krm_windows import escape
from krm_windows.gate.timetable import Decision
from krm_windows.plurals import clusters, on, some
from krm_windows.policy import phrases
from krm_windows.preview.calendar import gated_by, named
from krm_windows.preview.clock import coming, shown
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Timetable

# So many targets are named.
_FEW = 5
_MINUTE = timedelta(minutes=1)


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


def turns(
    every: Iterable[tuple[Timetable, Timetable, Decision, Decision, datetime | None]],
) -> str:
    """Say what a change makes hold from now on, or from an instant, and what would without it.

    Once for all clusters of which the same is said: each instant in the zone of the first.
    """
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    gated: dict[str, list[str]] = {}
    zones: dict[datetime | None, ZoneInfo] = {}
    for old, new, was, now, begins in every:
        # Another rule may decide the same: `stays open`.
        verb = "stays" if was.open is now.open else "becomes"
        if begins:
            verb = f"is, from {shown(begins, zones.setdefault(begins, new.zone))} on,"
        said, unsaid = (
            _brief(each, decision, zones.setdefault(decision.until, each.zone))
            for each, decision in ((new, now), (old, was))
        )
        targets = some([str(target) for target in new.targets], _FEW) or gated_by(new)
        name = [new.cluster] if new.cluster else []
        without = groups.setdefault((new.policy, f"{verb} {said}"), {})
        without.setdefault(unsaid, []).extend(name)
        gated.setdefault(targets, []).extend(name)
    lines: list[str] = []
    for (policy, holds), without in groups.items():
        lines.append(f"once applied, {on(policy, list(chain(*without.values())))} {holds}")
        lines += _apart("without this change", without)
    lines += _apart("targets", gated)
    return escape.lines(lines)


def _apart(what: str, said: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield what is said, and of which clusters where it is not the same of all."""
    for words, names in said.items():
        yield f"  {on(what, names if len(said) > 1 else ())}: {words}"


def held(every: Iterable[tuple[Timetable, Decision]], now: datetime) -> Iterator[str]:
    """Yield what should hold and why, once for all clusters of which the same is said."""
    groups: dict[tuple[str, str], list[str]] = {}
    for timetable, decision in every:
        holds = "open" if decision.open else "closed"
        until = f"for more than 400 days ({timetable.zone.key})"
        if decision.until:
            until = f"until {coming(decision.until, timetable.zone, now)}"
        said = f"{holds} {until}", _why(timetable, decision)
        groups.setdefault(said, []).extend(filter(None, [timetable.cluster]))
    for (holds, reason), names in groups.items():
        yield f"  {holds}"
        yield f"    {clusters(names)}: {reason}" if names else f"    {reason}"


def opening(every: Iterable[tuple[Timetable, Decision]], now: datetime) -> Iterator[str]:
    """Yield which policy opens first, and when; one that is open now may close and open before."""
    turns = (
        (each, decide(each, held.until) if held.open and held.until else held)
        for each, held in every
    )
    openings = [(held.until, each) for each, held in turns if held.until and not held.open]
    if openings:
        at, first = min(openings, key=itemgetter(0))
        yield f"opens next: {named(first)}, {coming(at, first.zone, now)}"


def waiting(timetable: Timetable, decision: Decision) -> str:
    """Say in a line what holds while somebody waits for something else."""
    return f"{named(timetable)} should be {_brief(timetable, decision, timetable.zone)}"


def _brief(timetable: Timetable, decision: Decision, zone: ZoneInfo) -> str:
    """Say what holds, until when and why: `open until Mon 2026-12-14 08:00 (UTC), by the hold`."""
    word = "open" if decision.open else "closed"
    until = "for more than 400 days"
    if decision.until:
        until = f"until {shown(decision.until, zone)} ({zone.key})"
    return f"{word} {until}, {_why(timetable, decision)}"


def _why(timetable: Timetable, decision: Decision) -> str:
    """Say which rules decide, and which others do so at the end: `by the hold, then by …`."""
    why = [because(timetable, decision.rules)]
    if decision.until:
        # The rule that ends then may be another one than the one that holds now.
        last = decide(timetable, decision.until - _MINUTE).rules
        if last != decision.rules:
            why.append(because(timetable, last))
    return ", then ".join(why)


def because(timetable: Timetable, rules: Sequence[str]) -> str:
    """Say which rules decide: `by the window week`."""
    return f"by {phrases.rules(rules, timetable.reasons)}" if rules else "as no window is open"
