"""The edges of the actuator Kubectl: exactly those of the union, in turn, or refused."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile

import pytest
import zoned
from calls import loaded, spec
from hypothesis import assume, given
from hypothesis import strategies as st

from krm_windows.inventory import Inventory
from krm_windows.plan import compile_policy
from krm_windows.plan.edges import Edges, edges
from krm_windows.plan.triggers import Trigger, Wording
from krm_windows.policy.model import CronJobNames
from krm_windows.rules import KUBECTL_DEADLINE, KUBECTL_RESUMES_ALL, KUBECTL_UNION, TARGET_UNSEEN
from krm_windows.schedule import controller
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timeline import timeline
from krm_windows.schedule.timetable import Kind, Rule, Timetable

FIRST = datetime(2027, 1, 3, tzinfo=UTC)  # a Sunday
LAST = FIRST + timedelta(days=28)
TIMES = st.sampled_from([0, 7, 300, 480, 719, 1020, 1439])
DAYS = st.sets(st.integers(0, 6), min_size=1)


def at(clock: int, days: frozenset[int]) -> Recurrence:
    return Recurrence(frozenset({clock % 60}), frozenset({clock // 60}), weekdays=days)


@st.composite
def windows(draw: st.DrawFn) -> tuple[Rule, ...]:
    drawn = []
    for number in range(draw(st.integers(1, 4))):
        begins = at(draw(TIMES), frozenset(draw(DAYS)))
        lengths = st.sampled_from([timedelta(minutes=length) for length in (30, 300, 1440, 3000)])
        clocks = TIMES.map(lambda clock: datetime(1, 1, 1, clock // 60, clock % 60).time())
        closing = st.builds(at, TIMES, DAYS.map(frozenset))
        ends = draw(st.one_of(lengths, clocks, closing))
        assume(ends != begins)
        drawn.append(Rule(Kind.WINDOW, f"w{number}", begins, ends))
    return tuple(drawn)


def timetable(*rules: Rule) -> Timetable:
    return zoned.timetable(policy="a/b", time_zone="Etc/UTC", windows=rules)


def fired(triggers: tuple[Trigger, ...]) -> list[tuple[datetime, bool]]:
    runs = (
        (run, bool(each.suspends))
        for each in triggers
        for run in takewhile(
            lambda run: run < LAST, controller.runs(each.schedule, each.time_zone, FIRST)
        )
    )
    return sorted(runs)


@given(windows())
def test_they_are_the_edges_of_the_union(rules: tuple[Rule, ...]) -> None:
    held = timetable(*rules)
    segments = list(timeline(held, FIRST, LAST))
    found = edges(held, Wording())
    if len(segments) == 1:
        assert ids(found) == [KUBECTL_RESUMES_ALL.id, KUBECTL_UNION.id]
        return
    wanted = [(segment.begins, not segment.open) for segment in segments[1:]]
    got = [edge for edge in fired(found.triggers) if edge[0] > FIRST]
    assert got == wanted
    assert all(one != other for (_, one), (_, other) in pairwise(got))


@given(windows())
def test_a_late_job_never_meets_the_next_edge(rules: tuple[Rule, ...]) -> None:
    found = edges(timetable(*rules), Wording())
    times = [when for when, _ in fired(found.triggers)]
    if KUBECTL_DEADLINE.id not in ids(found):
        assert found.patience >= timedelta(minutes=1)
        assert all(after - before > 2 * found.patience for before, after in pairwise(times))


def ids(found: Edges) -> list[str]:
    return [result.tags["rule"] for result in found.results]


def compiled(windows: str) -> tuple[list[tuple[str, str, str | None]], list[str]]:
    """Return name, schedule and given name of each edge, and what is said."""
    policy = loaded(spec(windows=windows, actuator="{type: Kubectl}")).policy
    assert policy
    plan, results = compile_policy(policy, None, Inventory((), visible=False))
    said = [
        f"{each.field.path}: {each.message}"
        for each in results
        if each.field and each.tags["rule"] != TARGET_UNSEEN.id
    ]
    return [(each.slug, each.schedule, each.given) for each in plan.triggers], said


WORKING = "{w: {opens: 0 8 * * MON-FRI, closes: 0 17 * * MON-FRI}}"
TOUCHING = "{a: {opens: daily 08:00, closes: '12:00'}, b: {opens: daily 12:00, closes: '17:00'}}"
TOGETHER = "{a: {opens: Mon 08:00, closes: '12:00'}, b: {opens: Mon 08:00, closes: '17:00'}}"
OVERLAP = "{a: {opens: daily 08:00, closes: '09:00'}, b: {opens: Mon 08:30, closes: '10:30'}}"


@pytest.mark.parametrize(
    ("windows", "wanted"),
    [
        ("{w: {opens: Mon 08:00, closes: Thu 17:00}}", ["0 8 * * 1", "0 17 * * 4"]),
        (WORKING, ["0 8 * * MON-FRI", "0 17 * * MON-FRI"]),
        # A close that finds nothing open is no edge, and neither is an opening inside what is open.
        ("{w: {opens: Mon 08:00, closes: daily 17:00}}", ["0 8 * * 1", "0 17 * * 1"]),
        ("{w: {opens: Mon-Wed 08:00, closes: Thu 17:00}}", ["0 8 * * 1", "0 17 * * 4"]),
        # Two that touch have one edge at each end; of two that begin together, the first by name.
        (TOUCHING, ["0 8 * * *", "0 17 * * *"]),
        (TOGETHER, ["0 8 * * 1", "0 17 * * 1"]),
        # What no single schedule says takes several.
        ("{w: {opens: '0,30 8,10 * * 1', duration: 45m}}", ["0 8,10 * * 1", "15 9,11 * * 1"]),
        (OVERLAP, ["0 8 * * *", "0 9 * * 0,2-6", "30 10 * * 1"]),
        ("{w: {opens: 0 8 1 * *, closes: '17:00'}}", ["0 8 1 * *", "0 17 1 * *"]),
        ("{w: {opens: 0 22 15 * *, closes: 0 4 16 * *}}", ["0 22 15 * *", "0 4 16 * *"]),
    ],
)
def test_schedules(windows: str, wanted: list[str]) -> None:
    got, _ = compiled(windows)
    opening = [schedule for slug, schedule, _ in got if slug.startswith("open-")]
    closing = [schedule for slug, schedule, _ in got if slug.startswith("close-")]
    assert opening + closing == wanted
    assert {slug for slug, _, _ in got} <= {"open-w", "close-w", "open-a", "close-a", "close-b"}


def test_an_edge_at_two_times_of_day_is_two_cron_jobs() -> None:
    got, _ = compiled(
        "{w: {opens: '15 8,20 * * *', closes: '30 9,22 * * *'}, "
        "x: {opens: Mon 09:00, closes: '12:45'}}"
    )
    assert got == [
        ("close-w-0930", "30 9 * * 0,2-6", None),
        ("close-w-2230", "30 22 * * *", None),
        ("close-x", "45 12 * * 1", None),
        ("open-w", "15 8,20 * * *", None),
    ]


NTH = "is an nth day of a month"
MONTHLY = "{w: {opens: 0 8 1 * *, closes: '17:00'}, x: {opens: Mon 16:00, closes: '18:00'}}"
WITHIN = "{a: {opens: Mon 08:00, closes: '17:00'}, b: {opens: Mon 09:00, closes: '10:00', %s}}"


@pytest.mark.parametrize(
    ("windows", "path", "words"),
    [
        ("{w: {opens: 2nd Tue 22:00, duration: 4h}}", ".w.opens", NTH),
        ("{w: {opens: Tue 22:00, closes: last Fri 04:00}}", ".w.closes", NTH),
        ("{w: {opens: '2027-01-01', duration: 4h}}", ".w.opens", "happens once"),
        ("{w: {opens: daily 00:00, closes: '24:00'}}", "", "together are never closed"),
        (
            "{w: {opens: 0 8 1 * *, duration: 2d}}",
            ".w.duration",
            "is on another day than its beginning",
        ),
        (MONTHLY, "", "leave no time between them, as on 2026-06-01 at 16:00 Europe/Berlin: "),
        (WITHIN % "cronJobs: {open: b}", ".b.cronJobs.open", "must not be set"),
        ("{a: {opens: daily 08:00, closes: '08:02'}}", "", "are within 2 minutes"),
        ("{a: {opens: '*/2 * 1-9 * *', duration: 1m}}", "", "are within 1 minutes"),
    ],
)
def test_refusals(windows: str, path: str, words: str) -> None:
    _, said = compiled(windows)
    [line] = [each for each in said if not each.startswith("spec.actuator")]
    assert line.startswith(f"spec.windows{path}: ")
    assert words in line
    assert "Gate" in line or "together are never closed" in line


def test_names_that_cannot_be_distinguished() -> None:
    both = (
        "a: {opens: '0 8,20 * * *', duration: 1h}, b: {opens: Mon 08:30, closes: '10:00'}, "
        "a-0900: {opens: Mon 22:30, closes: '23:30'}"
    )
    assert any("with the same name" in line for line in compiled(f"{{{both}}}")[1])


def test_given_names_are_kept() -> None:
    names = Wording(given={"windows.w": CronJobNames(open="infra-open", close="infra-close")})
    rule = Rule(Kind.WINDOW, "w", at(480, frozenset({1})), timedelta(hours=4))
    found = edges(timetable(rule), names).triggers
    assert [each.given for each in found] == ["infra-close", "infra-open"]
