"""Laws of the rules among themselves: equations between sets of instants around a change."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise

import zoned
from changes import CHANGES, Change
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import utc
from shapes import SHAPE, plan

from krm_windows.schedule import wallclock, zones
from krm_windows.schedule.timeline import timeline
from krm_windows.schedule.timetable import Kind, Rule, Timetable

MINUTE = timedelta(minutes=1)
Edges = list[datetime]


def opened(timetable: Timetable, change: Change) -> Edges:
    start, until = utc(change.at - 2 * 1440), utc(change.at + 2 * 1440)
    parts = [segment for segment in timeline(timetable, start, until) if segment.open]
    return [edge for part in parts for edge in (part.begins, part.ends)]


def holds(edges: Edges, at: datetime) -> bool:
    return sum(edge <= at for edge in edges) % 2 == 1


def combined(one: Edges, other: Edges, rule: Callable[[bool, bool], bool]) -> Edges:
    kept: Edges = []
    for edge in sorted({*one, *other}):
        if rule(holds(one, edge), holds(other, edge)) != (len(kept) % 2 == 1):
            kept.append(edge)
    return kept


def ruled(
    timetable: Timetable, windows: tuple[Rule, ...] = (), freezes: tuple[Rule, ...] = ()
) -> Timetable:
    return zoned.timetable(
        policy=timetable.policy, time_zone=timetable.time_zone, windows=windows, freezes=freezes
    )


def renamed(
    kind: Kind, rules: tuple[Rule, ...], state: str | None = None, prefix: str = ""
) -> tuple[Rule, ...]:
    return tuple(
        rule._replace(kind=kind, key=f"{prefix}{number}", state=state)
        for number, rule in enumerate(rules)
    )


@st.composite
def policies(draw: st.DrawFn, count: int) -> tuple[Change, list[Timetable]]:
    change = draw(CHANGES)
    drawn = [plan(draw(SHAPE), change).timetable for _ in range(count)]
    sets = []
    for each in drawn:
        every = (*each.windows, *each.freezes, *each.overrides)
        begun = tuple(rule for rule in every if rule.begins is not None)
        sets.append(ruled(each, windows=renamed(Kind.WINDOW, begun)))
    return change, sets


law = settings(max_examples=examples(60))


@law
@given(policies(2))
def test_windows_are_a_union(drawn: tuple[Change, list[Timetable]]) -> None:
    """Of two sets of windows: open where one is or the other."""
    change, (one, other) = drawn
    others = renamed(Kind.WINDOW, other.windows, prefix="v")
    both = opened(ruled(one, windows=one.windows + others), change)
    assert both == combined(opened(one, change), opened(other, change), lambda a, b: a or b)
    assert both == opened(ruled(one, windows=others + one.windows), change)
    assert opened(ruled(one, windows=one.windows + one.windows), change) == opened(one, change)


@law
@given(policies(2))
def test_a_freeze_cuts(drawn: tuple[Change, list[Timetable]]) -> None:
    """What it covers is closed, and what is left of a window stays open."""
    change, (one, frozen) = drawn
    cut = one._replace(freezes=renamed(Kind.FREEZE, frozen.windows))
    assert opened(cut, change) == combined(
        opened(one, change), opened(frozen, change), lambda a, b: a and not b
    )


@law
@given(policies(1))
def test_outside_windows_is_the_complement(drawn: tuple[Change, list[Timetable]]) -> None:
    """Freezes of a policy that is open otherwise mirror the same windows."""
    change, (one,) = drawn
    freezes = ruled(one, freezes=renamed(Kind.FREEZE, one.windows))._replace(outside_windows="Open")
    always = opened(one._replace(state="Open"), change)
    assert opened(freezes, change) == combined(
        always, opened(one, change), lambda a, b: a and not b
    )


@law
@given(policies(3))
def test_overrides_outrank_freezes_and_windows(drawn: tuple[Change, list[Timetable]]) -> None:
    """One that opens opens what is frozen; one that closes closes even that."""
    change, (one, opening, closing) = drawn
    frozen = one._replace(freezes=renamed(Kind.FREEZE, closing.windows))
    opens = renamed(Kind.OVERRIDE, opening.windows, "Open", prefix="o")
    closes = renamed(Kind.OVERRIDE, closing.windows, "Closed", prefix="c")
    first = combined(opened(frozen, change), opened(opening, change), lambda a, b: a or b)
    assert opened(frozen._replace(overrides=opens), change) == first
    both = combined(first, opened(closing, change), lambda a, b: a and not b)
    assert opened(frozen._replace(overrides=opens + closes), change) == both
    assert opened(frozen._replace(overrides=closes + opens), change) == both


@law
@given(policies(2), st.integers(0, 400), st.integers(0, 400))
def test_closing_early_moves_the_ends(
    drawn: tuple[Change, list[Timetable]], one: int, more: int
) -> None:
    """Every open interval ends earlier by so much real time, or is none; and margins add up."""
    change, (policy, frozen) = drawn
    policy = policy._replace(freezes=renamed(Kind.FREEZE, frozen.windows))

    until = utc(change.at + 2 * 1440)
    whole = list(timeline(policy, utc(change.at - 2 * 1440), until + MINUTE * 800))
    for margin in (MINUTE * one, MINUTE * (one + more)):
        parts = [(part.begins, min(part.ends - margin, until)) for part in whole if part.open]
        left = [edge for part in parts if part[0] < part[1] for edge in part]
        assert opened(policy._replace(closes_early=margin), change) == left


@law
@given(policies(2), st.integers(1, 300))
def test_an_override_opens_to_its_very_end(
    drawn: tuple[Change, list[Timetable]], margin: int
) -> None:
    """What an override opens is not closed early; beside it, the margin looks through it."""
    change, (one, opening) = drawn
    overridden = one._replace(overrides=renamed(Kind.OVERRIDE, opening.windows, "Open"))
    early = overridden._replace(closes_early=margin * MINUTE)
    union = ruled(one, windows=one.windows + renamed(Kind.WINDOW, opening.windows, prefix="o"))
    shortened = opened(union._replace(closes_early=margin * MINUTE), change)
    assert opened(early, change) == combined(
        shortened, opened(opening, change), lambda a, b: a or b
    )


@law
@given(CHANGES, st.lists(st.integers(-3000, 3000), min_size=2, max_size=8))
def test_moments_and_instants_keep_their_order(change: Change, minutes: list[int]) -> None:
    """A later moment on the wall clock is no earlier instant."""
    tz = zones.zone(change.zone)
    moments = [change.wall + number * MINUTE for number in sorted(minutes)]
    instants = [change.utc + number * MINUTE for number in sorted(minutes)]
    assert all(wallclock.instant(a, tz) <= wallclock.instant(b, tz) for a, b in pairwise(moments))
    assert all(wallclock.wall(a, tz) <= wallclock.wall(b, tz) for a, b in pairwise(instants))
    for moment in moments:
        assert wallclock.wall(wallclock.instant(moment, tz), tz) >= moment
        assert wallclock.wall(wallclock.instant(moment, tz) - MINUTE, tz) < moment
