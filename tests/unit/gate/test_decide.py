"""The evaluator: occurrences, precedence, the shortened edge, what changes next."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, timezone

import pytest
import zoned
from work import calls, steps

from krm_windows.gate import bits, coverage
from krm_windows.gate.decide import Days, Decider, decide
from krm_windows.gate.recurrence import EVERY_DAY, Recurrence, calendar
from krm_windows.gate.timetable import Kind, Rule, Timetable
from krm_windows.gate.zones import ZoneRules
from krm_windows.schedule.timeline import timeline
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


@dataclass
class Replaced:
    """Days that are found open throughout; as soon as one was looked for, `later` are instead."""

    days: Days
    found: range
    later: range

    def __contains__(self, day: int) -> bool:
        """Whether a day is one of those, for the last time."""
        self.days._clear = self.later
        return day in self.found

    @property
    def stop(self) -> int:
        """The day after them."""
        return self.found.stop


def test_another_thread_may_ask_for_later_days_meanwhile() -> None:
    """No day is passed over that nobody has looked at."""
    begin = datetime(2026, 11, 10, tzinfo=UTC)
    end = datetime(2026, 11, 20, tzinfo=UTC)
    rule = Rule(Kind.WINDOW, "ten-days", begin, end)
    early = BERLIN._replace(windows=(rule,), closes_early=timedelta(days=2))
    days = Days(early, early.zone)
    shortened = end.toordinal() - 2
    days._clear = Replaced(  # type: ignore[assignment]  # as another thread stores it
        days,
        found=range(shortened + 1, shortened + 2),
        later=range(shortened + 20, shortened + 30),
    )
    assert days.open(shortened) == 0


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


@pytest.mark.parametrize(
    ("margin", "reached"),
    [(MINUTE, 1), (timedelta(hours=23), 1), (timedelta(days=2) + MINUTE, 3)],
)
def test_no_day_is_looked_at_that_the_margin_does_not_reach(
    margin: timedelta, reached: int
) -> None:
    """Which days a day rests on: itself, and those that its last minute reaches."""
    always_open = windows((at(0), time(0)))._replace(closes_early=margin)
    days = Days(always_open, always_open.zone)
    day = DEC_22.toordinal()
    assert days.open(day) == bits.FULL
    assert sorted(days._by_rules) == list(range(day, day + reached + 1))


def test_what_begins_as_it_ends_lasts_until_the_next_end() -> None:
    """A moment that is both an end and a beginning ends what was, and begins anew."""
    weekly = Recurrence(frozenset({0}), frozenset({8}), weekdays=frozenset({2}))
    daily = Recurrence(frozenset({0}), frozenset({8}))
    assert decide(windows((weekly, weekly)), DEC_22 + timedelta(days=3)).open
    [ends] = {decide(windows((weekly, daily)), datetime(2026, 12, 22, 9, tzinfo=UTC)).until}
    assert ends == datetime(2026, 12, 23, 7, tzinfo=UTC)


def _utc(moment: datetime | None) -> datetime | None:
    return moment and moment.replace(tzinfo=UTC)


def test_no_rules_of_the_zone() -> None:
    """There is no decision without the rules of the zone, not even where nothing depends on it."""
    with pytest.raises(LookupError, match="Mars/Olympus"):
        decide(BERLIN._replace(time_zone="Mars/Olympus", zone_rules=None, state="Open"), DEC_22)


@pytest.mark.parametrize(
    "timetable", [EVERYTHING, windows((at(0), time(0))), windows((INSTANT, at(9, 0, 3)))]
)
@pytest.mark.parametrize("state", ["Scheduled", "Open", "Closed"])
@pytest.mark.parametrize(
    "offset", [UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=12))]
)
def test_the_ends_of_the_calendar(timetable: Timetable, state: str, offset: timezone) -> None:
    """The first and the last instant of a datetime are decided as any other, in any offset."""
    for name in ("Europe/Berlin", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
        held = zoned.moved(timetable, name)._replace(state=state, closes_early=timedelta(hours=1))
        first, last = datetime.min.replace(tzinfo=offset), datetime.max.replace(tzinfo=offset)
        for moment in (first, last, first + timedelta(days=200), last - timedelta(days=200)):
            assert decide(held, moment).rules is not None


@pytest.mark.parametrize(
    "rule", ["EST5EDT4,0/0,J365/23", "AAA-3BBB,0/0,J365/23", "AAA12BBB,J60,J364/47"]
)
def test_a_zone_may_change_at_the_ends_of_the_calendar(rule: str) -> None:
    """Every day of its first and last years is decided."""
    held = EVERYTHING._replace(
        time_zone="Test/Zone", zone_rules=ZoneRules("", "+00:00 A", (), rule)
    )
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    for days in (0, 1, 200, 400, 800):
        for moment in (first + timedelta(days=days), last - timedelta(days=days)):
            assert decide(held, moment).rules is not None


def test_a_change_that_is_undone_on_the_same_day() -> None:
    """22:59 on New Year's Eve lasts for an hour more; from 00:00 on it is 01:00."""
    edt = ZoneRules("", "-04:00 EDT", (), "EST5EDT4,0/0,J365/23")
    held = windows((at(22, 30), time(23)), (at(1), timedelta(minutes=30)))
    held = held._replace(time_zone="Test/Zone", zone_rules=edt)
    night = datetime(2026, 12, 31, 23, tzinfo=UTC)
    segments = timeline(held, night, night + timedelta(hours=12))
    assert [(each.begins, each.ends) for each in segments if each.open] == [
        (datetime(2027, 1, 1, 2, 30, tzinfo=UTC), datetime(2027, 1, 1, 4, tzinfo=UTC)),
        (datetime(2027, 1, 1, 5, tzinfo=UTC), datetime(2027, 1, 1, 5, 30, tzinfo=UTC)),
    ]


def test_a_rule_may_end_beyond_the_calendar() -> None:
    """What is long, or ends never, has no end."""
    last = datetime(9999, 12, 31, 12)
    never = Recurrence(days=frozenset({31}), months=frozenset({2}))
    for ends in (timedelta(days=366), time(8), never):
        assert decide(windows((last, ends)), datetime(9999, 12, 31, 18, tzinfo=UTC)).open
        assert decide(
            windows((last.replace(tzinfo=UTC), ends)), datetime(9999, 12, 31, 18, tzinfo=UTC)
        ).open


def test_no_reference_to_seconds() -> None:
    """Within a minute nothing changes; a margin with seconds counts as the next whole minute.

    No build emits such a margin.
    """
    early = BERLIN._replace(closes_early=timedelta(seconds=90))
    assert decide(early, DEC_22).until == datetime(2026, 12, 24, 15, 58, tzinfo=UTC)


EVERY_TWO_MINUTES = Recurrence(frozenset(range(0, 60, 2)))
YEARS = Rule(Kind.FREEZE, "years", datetime(2025, 1, 1), datetime(2029, 1, 1), "r")


@pytest.mark.parametrize(
    ("reason", "timetable", "most"),
    [
        (
            "held by hand",
            windows((EVERY_TWO_MINUTES, timedelta(minutes=1)))._replace(state="Open"),
            30,
        ),
        ("an edge is near", windows((EVERY_TWO_MINUTES, timedelta(minutes=1))), 300),
        ("always open, in pieces", windows((EVERY_TWO_MINUTES, timedelta(minutes=2))), 30_000),
        (
            "a freeze of years",
            windows((EVERY_TWO_MINUTES, timedelta(1)))._replace(freezes=(YEARS,)),
            15_000,
        ),
        (
            "begins every minute",
            windows((Recurrence(), at(17, 0, 4)), (Recurrence(), timedelta(hours=1))),
            40_000,
        ),
        (
            "never",
            windows((Recurrence(days=frozenset({31}), months=frozenset({2})), time(8))),
            40_000,
        ),
        (
            "always open, and asked ahead for a year",
            windows((EVERY_TWO_MINUTES, timedelta(minutes=2)))._replace(
                closes_early=timedelta(days=366)
            ),
            60_000,
        ),
    ],
)
def test_a_decision_is_cheap(reason: str, timetable: Timetable, most: int) -> None:
    """Not more than some dozens of calls for each of the 800 days around.

    However often a rule recurs.
    """
    # The calendar, and the clocks of the days around, are read once, which is not counted here.
    decide(windows((EVERY_TWO_MINUTES, timedelta(minutes=1))), DEC_22)
    assert timetable.zone
    assert calls(lambda: decide(timetable, DEC_22)) < most, reason


def test_rules_that_are_alike_are_one() -> None:
    """A thousand windows are little more work than one, where they are not those that decide."""
    rules = tuple(
        Rule(Kind.WINDOW, f"w{n}", EVERY_TWO_MINUTES, timedelta(minutes=n)) for n in range(1000)
    )
    frozen = BERLIN._replace(windows=rules, freezes=(YEARS._replace(ends=datetime(2026, 12, 23)),))
    assert decide(frozen, DEC_22).until == datetime(2026, 12, 22, 23, tzinfo=UTC)
    assert calls(lambda: decide(frozen, DEC_22)) < 80_000


@pytest.mark.parametrize("lasting", [True, False], ids=["duration", "closes"])
def test_rules_that_are_all_different_are_one_sum(*, lasting: bool) -> None:
    """Hundreds of windows that only together are always open are not summed for each day.

    They are on different days each.
    """
    rules = []
    for number in range(480):
        ends = (
            timedelta(minutes=3)
            if lasting
            else at((number * 3 + 3) % 1440 // 60, (number * 3 + 3) % 60)
        )
        chosen = random.Random(number)  # noqa: S311 - nobody guesses
        half = frozenset(chosen.sample(range(1, 32), 15))
        for name, days in (("a", half), ("b", EVERY_DAY - half)):
            begins = at(number * 3 // 60, number * 3 % 60)._replace(days=days)
            rules.append(Rule(Kind.WINDOW, f"{name}{number}", begins, ends))
    always = BERLIN._replace(windows=tuple(rules))
    assert decide(always, DEC_22).until is None
    assert steps(lambda: decide(always, DEC_22)) < 2_500_000


def test_moments_on_a_steady_clock_are_found_without_the_zone() -> None:
    """A thousand dated windows on the wall clock ask the zone about changes only."""
    begins = [datetime(2026, 1, 1) + number * timedelta(minutes=1000) for number in range(1000)]
    held = windows(*((begin, timedelta(minutes=10)) for begin in begins))
    decide(held, DEC_22)  # the changes of the years are read once
    assert calls(lambda: decide(held, DEC_22)) < 20_000


def test_what_is_asked_again_is_not_worked_out_again() -> None:
    """A run asks for each target, within seconds."""
    decider = Decider(EVERYTHING)
    decider.decide(DEC_22)
    assert calls(lambda: decider.decide(DEC_22 + timedelta(seconds=30))) < 10


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


@pytest.mark.parametrize("part", [0, 1, 719, 1439])
def test_only_what_covers_a_minute_decides_in_it(part: int) -> None:
    """Of several that open on a day, each in minutes of its own; the first of the day, too."""
    rules = [
        Rule(Kind.WINDOW, f"w{minute}", at(*divmod(minute, 60)), timedelta(minutes=1))
        for minute in (0, 1, 719, 1439)
    ]
    held = zoned.timetable(windows=tuple(rules))
    decision = decide(held, DEC_22.replace(hour=0, minute=0) + part * MINUTE)
    assert decision.rules == (f"windows.w{part}",)


@pytest.mark.parametrize(
    "rule",
    [
        WEEK,
        NIGHT,
        Rule(Kind.WINDOW, "never ended", at(8, 0, 1), NEVER),
        Rule(Kind.WINDOW, "days", at(22, 0, 5), timedelta(hours=60)),
    ],
    ids=str,
)
def test_years_agree_where_they_overlap(rule: Rule) -> None:
    """To the last day of the earlier ones, and from the first of the later ones on."""
    earlier, later = coverage.Years([rule], 2026), coverage.Years([rule], 2029)
    assert len(later.days) > 5 * 365
    both = range(later.days.start, earlier.days.stop)
    assert len(both) == 365 + 366 + 365
    assert [earlier.on_day(day) for day in both] == [later.on_day(day) for day in both]
    for day in both:
        assert later.of_rules(day).get(0, 0) == later.on_day(day)


def test_what_is_no_instant() -> None:
    """A time without an offset from UTC is no instant."""
    with pytest.raises(ValueError, match="has no UTC offset"):
        decide(BERLIN, datetime(2026, 11, 20))


@pytest.mark.parametrize(
    ("state", "is_open"), [("Open", True), ("Closed", False), ("Unheard-of", False)]
)
def test_days_of_a_state(state: str, is_open: bool) -> None:  # noqa: FBT001
    """All of a day is as the state says, and that decides; one of a later version never opens."""
    held = BERLIN._replace(state=state)
    days = Days(held, held.zone)
    monday = datetime(2026, 11, 23).toordinal()  # of which the window would open a part
    assert days.open(monday) == (2**1440 - 1 if is_open else 0)
    assert days.deciding(monday, 1) == ("state",)
    assert decide(held, datetime(2026, 11, 23, 12, tzinfo=UTC)).open == is_open


def test_rules_of_another_kind_are_refused() -> None:
    """What recurs is no interval, and what is dated does not recur.

    An end is none of these types.
    """
    utc = zoned.zone("UTC")
    years = calendar(2026, 2026)
    with pytest.raises(TypeError, match=r"windows\.week is not dated"):
        coverage.interval(WEEK, utc)
    with pytest.raises(TypeError, match=r"freezes\.xmas does not recur"):
        coverage.recurring(FREEZE, years)
    with pytest.raises(TypeError, match="no end of type datetime"):
        coverage.recurring(WEEK._replace(ends=datetime(2026, 11, 20)), years)
    with pytest.raises(TypeError, match="no end is of type str"):
        coverage.interval(FREEZE._replace(ends="2027"), utc)  # type: ignore[arg-type]
