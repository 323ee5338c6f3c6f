"""The audit: the facts it judges by are those of the evaluator, and its findings name the day."""

from datetime import date, datetime

import pytest
from calls import POLICY
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from krm_windows.checks.audit import Scope
from krm_windows.checks.facts import DAY, Facts, take
from krm_windows.fleet import audit
from krm_windows.inventory import Inventory, no_resources
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy
from krm_windows.policy.load import load
from krm_windows.preview.versions import Choice
from krm_windows.schedule.timeline import Segment, timeline

HEAD = POLICY[: POLICY.index("  windows:")]
FIRST = date(2027, 1, 1)
SCOPE = Scope(FIRST, years=6)
WEEK = "  windows: {w: {opens: Mon 08:00, closes: Thu 17:00}}"
HOOK = (
    "hooks: {namespace: maintenance, beforeOpen: {image: 'docker.io/library/busybox:1.37', "
    "timeout: 10m}}"
)
WINDOWS = (
    "a: {opens: Mon 08:00, closes: Thu 17:00}",
    "b: {opens: Sun 02:30, duration: 30m}",
    "c: {opens: last Fri 22:00, duration: 6h}",
    "d: {opens: '2027-05-01', duration: 3d}",
    "e: {opens: 0 8 1 */3 *, closes: '17:00'}",
    "f: {opens: daily 23:00, closes: '01:00'}",
)
FREEZES = (
    "x: {starts: '2027-12-20', ends: '2028-02-10', reason: r}",
    "y: {starts: Tue 00:00, duration: 1d, reason: r}",
    "z: {starts: 1st Mon 00:00, duration: 8d, reason: r}",
)
OVERRIDES = (
    "o: {state: Closed, starts: '2027-06-01', ends: '2027-08-01', reason: r}",
    "p: {state: Open, starts: '2027-01-05T10:00', ends: '12:00', reason: r}",
)


def some(entries: tuple[str, ...], least: int = 0) -> st.SearchStrategy[str]:
    return st.sets(st.sampled_from(entries), min_size=least).map(
        lambda chosen: f"{{{', '.join(sorted(chosen))}}}"
    )


def facts(fields: str, years: int = 2, zone: str = "Europe/Berlin") -> Facts:
    head = HEAD.replace("Europe/Berlin", zone)
    policy = load(KubeObject.parse(f"{head}{fields}\n".encode()).node).policy
    assert policy
    plan, _ = compile_policy(policy, None, Inventory((), visible=False))
    return take(plan.timetable, FIRST, years)


def joined(segments: list[Segment]) -> list[tuple[datetime, datetime]]:
    spans: list[tuple[datetime, datetime]] = []
    for each in segments:
        if not each.open and spans and spans[-1][1] == each.begins:
            spans[-1] = spans[-1][0], each.ends
        elif not each.open:
            spans.append((each.begins, each.ends))
    return spans


def found(fields: str, scope: Scope = SCOPE) -> list[str]:
    policy = KubeObject.parse(f"{HEAD}{fields}\n".encode())
    [report] = audit.reports(policy, no_resources, Choice(), scope)
    return [
        f"{each.tags['rule']} {each.field.path if each.field else ''}: {each.message}"
        for each in report.results
    ]


@pytest.mark.parametrize(("first", "said"), [(date(2034, 12, 30), False), (date(2035, 1, 1), True)])
def test_the_table_ends(*, first: date, said: bool) -> None:
    assert any("table-ends" in each for each in found(WEEK, Scope(first))) is said


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(
    some((*WINDOWS, "g: {opens: '*/7 * 1-9 * *', duration: 4m}"), least=1),
    some((*FREEZES, "w: {starts: '*/20 12-13 * * *', duration: 3m, reason: r}")),
    some(OVERRIDES),
    st.sampled_from(["0m", "3m", "1h"]),
    st.sampled_from(
        ["Africa/Cairo", "Africa/Casablanca", "America/Vancouver", "Australia/Lord_Howe"]
    ),
)
def test_facts_are_those_of_the_timeline(
    windows: str, freezes: str, overrides: str, early: str, zone: str
) -> None:
    fields = (
        f"  windows: {windows}\n  freezes: {freezes}\n  overrides: {overrides}\n"
        f"  closesEarly: {early}"
    )
    held = facts(fields, zone=zone)
    segments = list(timeline(held.timetable, *held.years))
    opening = {rule for each in segments if each.open for rule in each.rules}
    every = (*held.timetable.windows, *held.timetable.freezes, *held.timetable.overrides)
    for rule in every:
        assert (rule.name in held.opening) is (rule.name in opening)
    for longest in (2 * DAY, 16 * DAY, 35 * DAY):
        before = timeline(held.timetable, held.years[0] - longest, held.years[0])
        closed = joined([*before, *segments])
        assert list(held.closures(longest)) == [
            each for each in closed if each[1] - each[0] > longest
        ]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (
            (
                "  windows: {a: {opens: daily 00:00, closes: '12:00'}, "
                "b: {opens: daily 12:00, closes: '24:00'}}"
            ),
            "window-always-open spec.windows: together are never closed",
        ),
        (
            "  windows: {w: {opens: 0 8 29 2 *, duration: 4h}}",
            (
                "closed-long spec.windows: are closed from Tue 2028-02-29 12:00 "
                "to Sun 2032-02-29 08:00, 1460 days "
            ),
        ),
        (
            f"  windows: {{w: {{opens: daily 10:00, duration: 15m}}}}\n  interval: 5m\n  {HOOK}",
            (
                "window-short spec.windows.w: is open for only 15 minutes on Fri 2027-01-01 "
                "10:00, and its targets may open as much as 16 minutes late (`interval`, as a run "
                "may fail, and `beforeOpen`); make the window at least 16 minutes long"
            ),
        ),
        (
            f"{WEEK}\n  freezes: {{f: {{starts: Wed 12:00, duration: 4h, reason: r}}}}",
            (
                "freeze-cuts spec.freezes.f: cuts windows.w: the rest stays open, "
                "from Mon 2027-01-04 08:00 to Wed 2027-01-06 12:00 and from Wed 2027-01-06 16:00 "
                "to Thu 2027-01-07 17:00"
            ),
        ),
        (
            (
                "  outsideWindows: Open\n"
                "  freezes: {f: {starts: '2027-03-28T02:30', ends: '2027-04-01', reason: r}}"
            ),
            (
                "edge-missing-hour spec.freezes.f.starts: falls on 02:30 of Sun 2027-03-28, "
                "which the clocks of Europe/Berlin skip, so it happens at 03:00 instead; use a "
                "time outside 02:00 to 03:00"
            ),
        ),
        (
            f"{WEEK}\n  overrides: {{o: {{state: Open, ends: '2026-12-29', reason: r}}}}",
            (
                "override-over spec.overrides.o: ended at Wed 2026-12-30 00:00: remove it, or "
                "extend it"
            ),
        ),
    ],
)
def test_a_finding_names_field_date_and_fix(fields: str, line: str) -> None:
    assert any(each.startswith(line) for each in found(fields)), found(fields)


@pytest.mark.parametrize(
    "fields",
    [
        # Nested in one opening: no shorter occurrence of its own.
        "  windows: {w: {opens: Mon-Wed 08:00, closes: Thu 17:00}}",
        # A week off is no long closure, and a freeze that takes whole windows cuts none.
        f"{WEEK}\n  freezes: {{f: {{starts: '2027-03-05', ends: '2027-03-14', reason: r}}}}",
        # An override wins over a freeze, which cuts it nowhere.
        (
            f"{WEEK}\n  freezes: {{f: {{starts: '2027-03-08', ends: '2027-03-14', reason: r}}}}\n"
            "  overrides: {o: {state: Open, starts: '2027-03-10', ends: '2027-03-10', reason: r}}"
        ),
        # A short one that prolongs another, with time left before the end.
        f"{WEEK[:-1]}, v: {{opens: Thu 17:00, duration: 5m}}}}\n  closesEarly: 10m",
        # Open all the same, by an override.
        (
            f"{WEEK[:-1]}, v: {{opens: '2027-03-06', duration: 1d}}}}\n"
            "  overrides: {o: {state: Open, starts: '2027-03-06', ends: '2027-03-06', reason: r}}"
        ),
        # Only an override opens it, which is what it says.
        "  outsideWindows: Closed",
        # What is over by an instant is known by that; what is to come is not over.
        (
            "  outsideWindows: Open\n  freezes: {f: {starts: '2027-01-01T00:00Z', duration: 4h, "
            "reason: r}}"
        ),
        # An override cuts the window, and the freeze begins in what is closed by that.
        (
            f"{WEEK}\n  freezes: {{f: {{starts: '2027-01-09', ends: '2027-01-10', reason: r}}}}\n"
            "  overrides: {o: {state: Closed, starts: '2027-01-05T12:00', "
            "ends: '2027-01-09T12:00', reason: r}}"
        ),
    ],
)
def test_nothing_to_say(fields: str) -> None:
    assert found(fields) == []


def test_a_closure_that_began_before_is_seen_whole() -> None:
    frozen = f"{WEEK}\n  freezes: {{f: {{starts: '2026-12-01', ends: '2027-01-10', reason: r}}}}"
    assert [line.partition(" ")[0] for line in found(frozen)] == ["closed-long"]
