"""Freezes and overrides in time: what they cost, and where they end that have no end."""

from datetime import UTC, datetime, timedelta

import pytest
import work
import zoned

from krm_windows.gate.timetable import Target
from krm_windows.preview import exceptions
from krm_windows.schedule.timetable import Kind, Rule, Timetable

BEGINS = datetime(2026, 12, 21, tzinfo=UTC)
WEEK = timedelta(days=7)
RECURRING = Rule(Kind.FREEZE, "fridays", zoned.at(8, 5), timedelta(hours=30), "Nobody is here")
# Naive moments, by the policy's wall clock.
YEAR_END = Rule(Kind.FREEZE, "year-end", datetime(2026, 12, 20), datetime(2027, 1, 3), "Holidays")


def policy(number: int, freeze: Rule) -> Timetable:
    """Return a policy that differs from every other one in what it is called and gates."""
    target = Target("g", "kustomizations", "Kustomization", "flux-system", f"apps-{number}")
    return zoned.timetable(
        policy=f"flux-system/week-{number}",
        cluster=f"plant-{number}",
        time_zone="Europe/Berlin",
        targets=(target,),
        freezes=(freeze,),
    )


def whole(table: Timetable) -> list[exceptions.Span]:
    return list(exceptions.spans(table, BEGINS, BEGINS + WEEK))


@pytest.mark.parametrize("freeze", [RECURRING, YEAR_END], ids=lambda rule: rule.key)
def test_policies_with_the_same_freeze_find_it_once(freeze: Rule) -> None:
    """Whatever else differs: a freeze of a thousand policies is not looked for in each."""
    wanted = whole(policy(0, freeze))
    assert [span.rule for span in wanted] == [freeze]
    other = policy(1, freeze)
    assert work.calls(lambda: whole(other)) < 30
    assert whole(other) == wanted


def test_what_lasts_for_years_ends_a_year_beyond() -> None:
    """On either side, so that a calendar program has an edge to show."""
    ever = Rule(Kind.OVERRIDE, "shut", None, datetime(2040, 1, 1, tzinfo=UTC), "Sold", "Closed")
    table = policy(0, YEAR_END)._replace(freezes=(), overrides=(ever,))
    [found] = whole(table)
    far = timedelta(days=400)
    assert (found.begins, found.ends) == (BEGINS - far, BEGINS + WEEK + far)
    assert found.kind == "override-closed"
