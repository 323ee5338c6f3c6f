"""The evaluator: occurrences, precedence, the shortened edge, what changes next."""

from datetime import UTC, datetime, time, timedelta

import pytest
import zoned

from krm_windows.gate.table import Table
from krm_windows.plan.timetable import covered
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.table import rows
from krm_windows.schedule.timeline import decide, timeline
from krm_windows.schedule.timetable import Kind, Rule, Timetable
from krm_windows.schedule.zones import zone


def at(hour: int, minute: int = 0, *days: int) -> Recurrence:
    """Every such time of day; on these weekdays only, if any are given."""
    return Recurrence(
        minutes=frozenset({minute}), hours=frozenset({hour}), weekdays=frozenset(days or range(7))
    )


WEEK = Rule(Kind.WINDOW, "week", at(8, 0, 1), at(17, 0, 4))
NIGHT = Rule(Kind.WINDOW, "night", at(22, 0, 1, 2, 3, 4, 5), time(4))
FREEZE = Rule(Kind.FREEZE, "xmas", datetime(2026, 12, 20), datetime(2027, 1, 4), "Year-end")
BERLIN = zoned.timetable(policy="flux-system/p", time_zone="Europe/Berlin", windows=(WEEK,))


def open_intervals(timetable: Timetable, start: datetime, days: int) -> list[tuple[str, str]]:
    """The open intervals of some days from local midnight `start` on.

    As `dd hh:mm` in the timetable's zone.
    """
    tz = zone(timetable.time_zone)
    first = start.replace(tzinfo=tz)
    segments = timeline(timetable, first, first + timedelta(days=days))
    return [
        (f"{segment.begins.astimezone(tz):%d %H:%M}", f"{segment.ends.astimezone(tz):%d %H:%M}")
        for segment in segments
        if segment.open
    ]


def windows(
    *rules: tuple[Recurrence | datetime, Recurrence | datetime | time | timedelta],
) -> Timetable:
    """A timetable of windows only."""
    return BERLIN._replace(
        windows=tuple(Rule(Kind.WINDOW, f"w{n}", *rule) for n, rule in enumerate(rules))
    )


NOV_16 = datetime(2026, 11, 16)  # a Monday
INSTANT = datetime(2026, 11, 16, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("reason", "timetable", "want"),
    [
        ("from Monday to Thursday", BERLIN, [("16 08:00", "19 17:00")]),
        (
            "the end is a time of day, past midnight",
            windows((at(22, 0, 1), time(4))),
            [("16 22:00", "17 04:00")],
        ),
        (
            "an end at its own beginning is a day later",
            windows((at(6, 0, 2), time(6))),
            [("17 06:00", "18 06:00")],
        ),
        (
            "24:00 is the next midnight",
            windows((at(22, 0, 1), time(0))),
            [("16 22:00", "17 00:00")],
        ),
        ("a duration", windows((at(22, 0, 3), timedelta(hours=4))), [("18 22:00", "19 02:00")]),
        (
            "longer than the gap to the next: one",
            windows((at(8, 0, 1, 2), timedelta(hours=30))),
            [("16 08:00", "18 14:00")],
        ),
        (
            "all begins before an end are one",
            windows((at(22, 0, 1, 2, 3), at(4, 0, 4))),
            [("16 22:00", "19 04:00")],
        ),
        (
            "occurrences that touch are one",
            windows((at(8, 0, 1), time(12)), (at(12, 0, 1), time(14))),
            [("16 08:00", "16 14:00")],
        ),
        (
            "windows overlap: a union",
            windows((at(8, 0, 1), time(12)), (at(10, 0, 1), time(14))),
            [("16 08:00", "16 14:00")],
        ),
        (
            "two separate windows",
            windows((at(8, 0, 1), time(9)), (at(10, 0, 1), time(11))),
            [("16 08:00", "16 09:00"), ("16 10:00", "16 11:00")],
        ),
        (
            "one-off, on the wall clock",
            windows((datetime(2026, 11, 17, 20), datetime(2026, 11, 18))),
            [("17 20:00", "18 00:00")],
        ),
        (
            "one-off instant with real time",
            windows((INSTANT, timedelta(minutes=90))),
            [("16 10:00", "16 11:30")],
        ),
        (
            "one-off with a recurring end",
            windows((datetime(2026, 11, 17), at(9, 0, 3))),
            [("17 00:00", "18 09:00")],
        ),
        ("instant with a recurring end", windows((INSTANT, at(10, 0))), [("16 10:00", "17 10:00")]),
        (
            "an end before its beginning: never",
            windows((datetime(2026, 11, 17), datetime(2026, 11, 16))),
            [],
        ),
        ("no windows", windows(), []),
    ],
)
def test_occurrences(reason: str, timetable: Timetable, want: list[tuple[str, str]]) -> None:
    """An occurrence begins at every beginning, and ends at the first end after it.

    It merges with its neighbours.
    """
    assert open_intervals(timetable, NOV_16, 6) == want, reason


MARCH, OCTOBER = datetime(2026, 3, 28), datetime(2026, 10, 24)


@pytest.mark.parametrize(
    ("reason", "start", "rule", "want"),
    [
        (
            "opens in the missing hour",
            MARCH,
            (at(2, 30), time(6)),
            [("28 02:30", "28 06:00"), ("29 03:00", "29 06:00")],
        ),
        (
            "closes in the missing hour",
            MARCH,
            (at(1), time(2, 30)),
            [("28 01:00", "28 02:30"), ("29 01:00", "29 03:00")],
        ),
        ("lies in the missing hour", MARCH, (at(2), time(2, 45)), [("28 02:00", "28 02:45")]),
        (
            "opens in the repeated hour",
            OCTOBER,
            (at(2, 30), time(6)),
            [("24 02:30", "24 06:00"), ("25 02:30", "25 06:00")],
        ),
        (
            "closes in the repeated hour",
            OCTOBER,
            (at(1), time(2, 30)),
            [("24 01:00", "24 02:30"), ("25 01:00", "25 02:30")],
        ),
        (
            "lies in the repeated hour",
            OCTOBER,
            (at(2), time(2, 45)),
            [("24 02:00", "24 02:45"), ("25 02:00", "25 02:45")],
        ),
        (
            "a duration is wall-clock time",
            OCTOBER,
            (at(1), timedelta(hours=4)),
            [("24 01:00", "24 05:00"), ("25 01:00", "25 05:00")],
        ),
    ],
)
def test_clock_changes(
    reason: str,
    start: datetime,
    rule: tuple[Recurrence, time | timedelta],
    want: list[tuple[str, str]],
) -> None:
    """Same wall-clock ends every day.

    Nothing is lost in March, nothing happens twice in October.
    """
    assert open_intervals(windows(rule), start, 2) == want, reason


def test_an_instant_never_goes_through_the_wall_clock() -> None:
    """In the repeated hour the second 02:30 is another instant than the first."""
    second = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    timetable = windows((second, timedelta(minutes=10)))
    assert [
        segment.begins
        for segment in timeline(timetable, second - timedelta(1), second + timedelta(1))
        if segment.open
    ] == [second]


def test_half_open() -> None:
    """Open at the beginning, closed at the end."""
    tz = zone("Europe/Berlin")
    edges = [datetime(2026, 11, 16, 8, tzinfo=tz), datetime(2026, 11, 19, 17, tzinfo=tz)]
    second = timedelta(seconds=1)
    assert [
        decide(BERLIN, edge + step).open for edge in edges for step in (-second, second * 0)
    ] == [
        False,
        True,
        True,
        False,
    ]


OVERRIDE = Rule(
    Kind.OVERRIDE, "fix", datetime(2026, 12, 22, 9), datetime(2026, 12, 22, 12), "Patch", "Open"
)
SHUT = Rule(Kind.OVERRIDE, "shut", None, datetime(2026, 12, 22, 10), "No", "Closed")
DEC_22 = datetime(2026, 12, 22, 10, 30, tzinfo=UTC)  # 11:30 in Berlin
EVERYTHING = BERLIN._replace(freezes=(FREEZE,), overrides=(OVERRIDE, SHUT))


@pytest.mark.parametrize(
    ("timetable", "when", "want", "rules", "reason"),
    [
        (BERLIN, DEC_22, True, ("windows.week",), "windows.week"),
        (BERLIN, DEC_22 - timedelta(days=3), False, (), "no window is open"),
        (
            BERLIN._replace(freezes=(FREEZE,)),
            DEC_22,
            False,
            ("freezes.xmas",),
            "freezes.xmas: Year-end",
        ),
        (EVERYTHING, DEC_22, True, ("overrides.fix",), "overrides.fix: Patch"),
        (EVERYTHING, DEC_22 - timedelta(hours=2), False, ("overrides.shut",), "overrides.shut: No"),
        (EVERYTHING._replace(state="Closed"), DEC_22, False, ("state",), "state"),
        (EVERYTHING._replace(state="Open"), DEC_22 - timedelta(hours=2), True, ("state",), "state"),
        (
            BERLIN._replace(windows=(), outside_windows="Open"),
            DEC_22,
            True,
            ("outsideWindows",),
            "outsideWindows",
        ),
        (
            EVERYTHING._replace(windows=(), outside_windows="Open"),
            DEC_22 + timedelta(hours=1),
            False,
            ("freezes.xmas",),
            "freezes.xmas: Year-end",
        ),
        (
            BERLIN._replace(windows=(WEEK, NIGHT)),
            DEC_22 - timedelta(hours=10),
            True,
            ("windows.night", "windows.week"),
            "windows.night; windows.week",
        ),
    ],
)
def test_precedence(
    timetable: Timetable,
    when: datetime,
    want: bool,  # noqa: FBT001
    rules: tuple[str, ...],
    reason: str,
) -> None:
    """State, override Closed, override Open, freeze, window; the decision names what made it."""
    decision = decide(timetable, when)
    assert (decision.open, decision.rules, decision.reason) == (want, rules, reason)


def overridden(rules: tuple[Rule, ...], day: int, hour: int) -> Timetable:
    """An override that opens for twenty minutes, beside these windows."""
    begins = datetime(2026, 11, day, hour)
    override = OVERRIDE._replace(begins=begins, ends=begins + timedelta(minutes=20))
    return BERLIN._replace(windows=rules, overrides=(override,))


def test_a_freeze_cuts_a_window() -> None:
    """The rest of a window that a freeze touches stays open."""
    freeze = Rule(Kind.FREEZE, "day", datetime(2026, 11, 17), datetime(2026, 11, 18))
    assert open_intervals(BERLIN._replace(freezes=(freeze,)), NOV_16, 6) == [
        ("16 08:00", "17 00:00"),
        ("18 00:00", "19 17:00"),
    ]


@pytest.mark.parametrize(
    ("reason", "timetable", "want"),
    [
        ("before a plain edge", BERLIN, [("16 08:00", "19 16:30")]),
        ("a window that is shorter never opens", windows((at(8, 0, 1), timedelta(minutes=30))), []),
        (
            "a gap that another window fills is no edge",
            windows((at(8, 0, 1), time(12)), (at(11, 0, 1), time(14))),
            [("16 08:00", "16 13:30")],
        ),
        ("an override is open to its end", overridden((), 16, 9), [("16 09:00", "16 09:20")]),
        (
            "twenty minutes of an override that follows count as open",
            overridden((WEEK,), 19, 17),
            [("16 08:00", "19 16:50"), ("19 17:00", "19 17:20")],
        ),
        (
            "before a freeze",
            BERLIN._replace(freezes=(FREEZE._replace(begins=datetime(2026, 11, 18)),)),
            [("16 08:00", "17 23:30")],
        ),
    ],
)
def test_closes_early(reason: str, timetable: Timetable, want: list[tuple[str, str]]) -> None:
    """Open only if all of the next half hour is open by the rules, unless an override opens."""
    assert (
        open_intervals(timetable._replace(closes_early=timedelta(minutes=30)), NOV_16, 6) == want
    ), reason


def test_closes_early_is_real_time() -> None:
    """Two hours before 04:00 when clocks go back at 03:00 is the second 02:00."""
    timetable = windows((at(22), time(4)))._replace(closes_early=timedelta(hours=2))
    ends = [
        segment.ends
        for segment in timeline(
            timetable,
            datetime(2026, 10, 24, 21, tzinfo=UTC),
            datetime(2026, 10, 25, 12, tzinfo=UTC),
        )
    ]
    assert ends[0] == datetime(2026, 10, 25, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("reason", "timetable", "since", "until"),
    [
        ("within a week", BERLIN, datetime(2026, 12, 21, 7), datetime(2026, 12, 24, 16)),
        ("held by hand", BERLIN._replace(state="Open"), None, None),
        (
            "far past and future",
            windows((datetime(2025, 12, 1), datetime(2029, 1, 1))),
            datetime(2025, 11, 30, 23),
            None,
        ),
        (
            "farther than 400 days",
            windows((datetime(2024, 12, 1), datetime(2029, 1, 1))),
            None,
            None,
        ),
        ("always open, in pieces", windows((at(0), time(0))), None, None),
    ],
)
def test_since_and_until(
    reason: str, timetable: Timetable, since: datetime | None, until: datetime | None
) -> None:
    """The change before and the next, within 400 days."""
    decision = decide(timetable, DEC_22)
    assert (decision.since, decision.until) == (_utc(since), _utc(until)), reason


DAYS_400, MINUTE = timedelta(days=400), timedelta(minutes=1)


@pytest.mark.parametrize(("away", "is_found"), [(DAYS_400 - MINUTE, True), (DAYS_400, False)])
def test_changes_are_found_for_400_days(*, away: timedelta, is_found: bool) -> None:
    """Both ways, less than 400 days; to the minute."""
    held = windows((DEC_22 - away, DEC_22 + away))
    decision = decide(held, DEC_22)
    found = (DEC_22 - away, DEC_22 + away) if is_found else (None, None)
    assert (decision.since, decision.until) == found


@pytest.mark.parametrize("margin", [MINUTE, timedelta(hours=24), timedelta(days=2) + MINUTE])
@pytest.mark.parametrize("ends", [time(0), time(0, 1), time(23, 59)])
def test_a_margin_of_whole_days(margin: timedelta, ends: time) -> None:
    """It closes so much before the end, on whichever side of a midnight that is."""
    end = datetime.combine(datetime(2027, 1, 10), ends, UTC)
    held = windows((DEC_22 - MINUTE, end))._replace(closes_early=margin)
    assert decide(held, DEC_22).until == end - margin
    assert decide(held, end - margin - MINUTE).open
    assert not decide(held, end - margin).open


def test_what_begins_as_it_ends_lasts_until_the_next_end() -> None:
    """A moment that is both an end and a beginning ends what was, and begins anew."""
    weekly = Recurrence(frozenset({0}), frozenset({8}), weekdays=frozenset({2}))
    daily = Recurrence(frozenset({0}), frozenset({8}))
    assert decide(windows((weekly, weekly)), DEC_22 + timedelta(days=3)).open
    [ends] = {decide(windows((weekly, daily)), datetime(2026, 12, 22, 9, tzinfo=UTC)).until}
    assert ends == datetime(2026, 12, 23, 7, tzinfo=UTC)


def _utc(moment: datetime | None) -> datetime | None:
    return moment and moment.replace(tzinfo=UTC)


def test_a_rule_may_end_beyond_the_calendar() -> None:
    """What is long, or ends never, has no end."""
    last = datetime(9998, 12, 31, 12)
    never = Recurrence(days=frozenset({31}), months=frozenset({2}))
    for ends in (timedelta(days=400), time(8), never):
        assert decide(windows((last, ends)), datetime(9998, 12, 31, 18, tzinfo=UTC)).open
        assert decide(
            windows((last.replace(tzinfo=UTC), ends)), datetime(9998, 12, 31, 18, tzinfo=UTC)
        ).open


def test_no_reference_to_seconds() -> None:
    """Within a minute nothing changes; a margin with seconds counts as the next whole minute.

    No build emits such a margin.
    """
    early = BERLIN._replace(closes_early=timedelta(seconds=90))
    assert decide(early, DEC_22).until == datetime(2026, 12, 24, 15, 58, tzinfo=UTC)


NEVER = Recurrence(days=frozenset({31}), months=frozenset({2}))
NO_TIME = Recurrence(hours=frozenset())


def _open_on(rule: Rule, *days: tuple[int, int]) -> list[bool]:
    """Whether a policy in UTC is open at noon of some days of November 2026.

    And at the hours given.
    """
    held = zoned.timetable(windows=(rule,))
    return [decide(held, datetime(2026, 11, day, hour, 30, tzinfo=UTC)).open for day, hour in days]


def test_a_window_that_lasts_for_days() -> None:
    """Friday 22:00 for 60 hours: all of Saturday and Sunday, and Monday until 10:00."""
    rule = Rule(Kind.WINDOW, "w", at(22, 0, 5), timedelta(hours=60))
    moments = ((20, 21), (20, 22), (21, 12), (22, 12), (23, 9), (23, 10))
    assert _open_on(rule, *moments) == [False, True, True, True, True, False]


@pytest.mark.parametrize("ends", [NEVER, NO_TIME], ids=["on no day", "at no time"])
def test_a_window_that_nothing_ends(ends: Recurrence) -> None:
    """It is open from its first beginning on, and stays so."""
    begins = Recurrence(frozenset({0}), frozenset({8}), days=frozenset({2}), months=frozenset({2}))
    assert _open_on(Rule(Kind.WINDOW, "w", begins, ends), (1, 0), (30, 23)) == [True, True]
    held = zoned.timetable(windows=(Rule(Kind.WINDOW, "w", NEVER, ends),))
    assert not decide(held, datetime(2026, 11, 20, tzinfo=UTC)).open


@pytest.mark.parametrize("ends", [NEVER, time(4), timedelta(days=2)])
def test_a_window_that_never_begins(ends: Recurrence | time | timedelta) -> None:
    """However it would end."""
    rule = Rule(Kind.WINDOW, "w", NO_TIME, ends)
    assert not any(_open_on(rule, (1, 0), (20, 12), (30, 23)))


def test_a_dated_window_until_a_time() -> None:
    """On the same day where that is later, else on the next one."""
    morning = Rule(Kind.WINDOW, "w", datetime(2026, 11, 20, 9), time(12))
    assert _open_on(morning, (20, 8), (20, 9), (20, 11), (20, 12)) == [False, True, True, False]
    night = Rule(Kind.WINDOW, "w", datetime(2026, 11, 20, 22), time(4))
    assert _open_on(night, (20, 21), (20, 22), (21, 3), (21, 4)) == [False, True, True, False]


def test_dated_windows_that_overlap() -> None:
    """One within another, and one that begins before the last has ended: one interval."""
    first = datetime(2026, 11, 20, 8)
    hours = [(0, 10), (2, 4), (9, 12), (12, 13)]
    rules = [
        Rule(
            Kind.WINDOW,
            f"w{number}",
            first + timedelta(hours=begin),
            first + timedelta(hours=end),
        )
        for number, (begin, end) in enumerate(hours)
    ]
    held = zoned.timetable(windows=tuple(rules))
    for hour in range(13):
        found = decide(held, (first + timedelta(hours=hour)).replace(tzinfo=UTC))
        assert (found.since, found.until) == (
            first.replace(tzinfo=UTC),
            datetime(2026, 11, 20, 21, tzinfo=UTC),
        )


def test_what_is_no_instant() -> None:
    """A time without an offset from UTC is no instant."""
    with pytest.raises(ValueError, match="has no UTC offset"):
        decide(BERLIN, datetime(2026, 11, 20))


def test_what_is_written_is_read_back() -> None:
    """With more patterns than there are letters, too: one for each day of the month and offset."""
    monthly = [
        (
            Recurrence(frozenset({0}), frozenset({8}), days=frozenset({day})),
            timedelta(minutes=10 + day),
        )
        for day in range(1, 32)
    ]
    dated = (datetime(2026, 12, 24), datetime(2026, 12, 27))
    for timetable in (BERLIN._replace(freezes=(FREEZE,)), windows(*monthly, dated)):
        made = covered(timetable)
        written = rows(made)
        assert Table.parse(written["patterns"], written["days"], written["dates"]) == made.table
        names = {name for row in written["days"].values() for name in row.split()}
        assert written["dates"]
    assert {"1", "62"} <= names
