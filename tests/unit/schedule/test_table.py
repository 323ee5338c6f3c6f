"""The evaluator: occurrences, precedence, the shortened edge, what changes next."""

from datetime import UTC, datetime, time, timedelta

import pytest
import zoned

from krm_windows.gate.table import Table
from krm_windows.plan.timetable import covered
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.table import rows
from krm_windows.schedule.timeline import decide, timeline
from krm_windows.schedule.timetable import Begin, End, Kind, Rule, Timetable
from krm_windows.schedule.zones import zone

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


def at(hour: int, minute: int = 0, *days: int) -> Recurrence:
    return Recurrence(
        minutes=frozenset({minute}), hours=frozenset({hour}), weekdays=frozenset(days or range(7))
    )


def monthly(day: int) -> Recurrence:
    return at(8)._replace(days=frozenset({day}))


WEEK = Rule(Kind.WINDOW, "week", at(8, 0, 1), at(17, 0, 4))
NIGHT = Rule(Kind.WINDOW, "night", at(22, 0, 1, 2, 3, 4, 5), time(4))
FREEZE = Rule(Kind.FREEZE, "xmas", datetime(2026, 12, 20), datetime(2027, 1, 4), "Year-end")
BERLIN = zoned.timetable(policy="flux-system/p", time_zone="Europe/Berlin", windows=(WEEK,))
NEVER = Recurrence(days=frozenset({31}), months=frozenset({2}))
NO_TIME = Recurrence(hours=frozenset())


def open_intervals(timetable: Timetable, start: datetime, days: int) -> list[str]:
    """The open intervals of some days from local midnight on, as `dd hh:mm` in the zone."""
    tz = zone(timetable.time_zone)
    first = start.replace(tzinfo=tz)
    return [
        f"{segment.begins.astimezone(tz):%d %H:%M}-{segment.ends.astimezone(tz):%d %H:%M}"
        for segment in timeline(timetable, first, first + timedelta(days=days))
        if segment.open
    ]


def windows(*rules: tuple[Begin, End]) -> Timetable:
    return BERLIN._replace(
        windows=tuple(Rule(Kind.WINDOW, f"w{n}", *rule) for n, rule in enumerate(rules))
    )


NOV_16 = datetime(2026, 11, 16)  # a Monday
NOV_17 = datetime(2026, 11, 17)
INSTANT = datetime(2026, 11, 16, 9, tzinfo=UTC)
MORNING = (at(8, 0, 1), time(12))


@pytest.mark.parametrize(
    ("rules", "want"),
    [
        ([(at(8, 0, 1), at(17, 0, 4))], ["16 08:00-19 17:00"]),
        # The end is a time of day: past midnight, a day later, at midnight.
        ([(at(22, 0, 1), time(4))], ["16 22:00-17 04:00"]),
        ([(at(6, 0, 2), time(6))], ["17 06:00-18 06:00"]),
        ([(at(22, 0, 1), time(0))], ["16 22:00-17 00:00"]),
        ([(at(22, 0, 3), 4 * HOUR)], ["18 22:00-19 02:00"]),
        # Longer than the gap to the next: one. All begins before an end are one.
        ([(at(8, 0, 1, 2), 30 * HOUR)], ["16 08:00-18 14:00"]),
        ([(at(22, 0, 1, 2, 3), at(4, 0, 4))], ["16 22:00-19 04:00"]),
        # Of what ends once a month, the beginning is weeks ago.
        ([(monthly(2), at(17, 0, 5)._replace(nth=-1))], ["16 00:00-22 00:00"]),
        # It touches, overlaps, or is apart.
        ([MORNING, (at(12, 0, 1), time(14))], ["16 08:00-16 14:00"]),
        ([MORNING, (at(10, 0, 1), time(14))], ["16 08:00-16 14:00"]),
        ([MORNING, (at(13, 0, 1), time(14))], ["16 08:00-16 12:00", "16 13:00-16 14:00"]),
        # One-off, on the wall clock or an instant.
        ([(datetime(2026, 11, 17, 20), datetime(2026, 11, 18))], ["17 20:00-18 00:00"]),
        ([(INSTANT, 90 * MINUTE)], ["16 10:00-16 11:30"]),
        ([(NOV_17, at(9, 0, 3))], ["17 00:00-18 09:00"]),
        ([(INSTANT, at(10, 0))], ["16 10:00-17 10:00"]),
        # On the same day where that is later, else on the next one.
        ([(datetime(2026, 11, 20, 9), time(12))], ["20 09:00-20 12:00"]),
        ([(datetime(2026, 11, 20, 9), time(9))], ["20 09:00-21 09:00"]),
        # Friday 22:00 for 60 hours.
        ([(at(22, 0, 5), 60 * HOUR)], ["16 00:00-16 10:00", "20 22:00-22 00:00"]),
        # Never: an end before its beginning, no beginning, no window.
        ([(NOV_17, NOV_16)], []),
        *([[(NO_TIME, ends)], []] for ends in (NEVER, time(4), 2 * DAY)),
        ([], []),
    ],
)
def test_occurrences(rules: list[tuple[Begin, End]], want: list[str]) -> None:
    """It ends at the first end after its beginning, and merges with its neighbours."""
    assert open_intervals(windows(*rules), NOV_16, 6) == want


MARCH, OCTOBER = datetime(2026, 3, 28), datetime(2026, 10, 24)


@pytest.mark.parametrize(
    ("start", "opens", "ends", "want"),
    [
        # In the missing hour it opens at its end, closes at its end, or does not open at all.
        (MARCH, at(2, 30), time(6), ["28 02:30-28 06:00", "29 03:00-29 06:00"]),
        (MARCH, at(1), time(2, 30), ["28 01:00-28 02:30", "29 01:00-29 03:00"]),
        (MARCH, at(2), time(2, 45), ["28 02:00-28 02:45"]),
        (OCTOBER, at(2, 30), time(6), ["24 02:30-24 06:00", "25 02:30-25 06:00"]),
        (OCTOBER, at(1), time(2, 30), ["24 01:00-24 02:30", "25 01:00-25 02:30"]),
        (OCTOBER, at(2), time(2, 45), ["24 02:00-24 02:45", "25 02:00-25 02:45"]),
        # What holds as the clock stops holds until it goes on.
        (OCTOBER, at(1), time(3), ["24 01:00-24 03:00", "25 01:00-25 03:00"]),
        # A duration is wall-clock time.
        (OCTOBER, at(1), 4 * HOUR, ["24 01:00-24 05:00", "25 01:00-25 05:00"]),
    ],
)
def test_clock_changes(start: datetime, opens: Recurrence, ends: End, want: list[str]) -> None:
    """Nothing is lost in March, nothing happens twice in October."""
    assert open_intervals(windows((opens, ends)), start, 2) == want


def test_an_instant_never_goes_through_the_wall_clock() -> None:
    """In the repeated hour the second 02:30 is another instant than the first."""
    second = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    segments = timeline(windows((second, 10 * MINUTE)), second - DAY, second + DAY)
    assert [each.begins for each in segments if each.open] == [second]


def test_half_open() -> None:
    """Open at the beginning, closed at the end; no instant is without an offset from UTC."""
    tz, second = zone("Europe/Berlin"), timedelta(seconds=1)
    opens, closes = datetime(2026, 11, 16, 8, tzinfo=tz), datetime(2026, 11, 19, 17, tzinfo=tz)
    asked = (opens - second, opens, closes - second, closes)
    assert [decide(BERLIN, each).open for each in asked] == [False, True, True, False]
    with pytest.raises(ValueError, match="has no UTC offset"):
        decide(BERLIN, NOV_16)


OVERRIDE = Rule(
    Kind.OVERRIDE, "fix", datetime(2026, 12, 22, 9), datetime(2026, 12, 22, 12), "Patch", "Open"
)
SHUT = Rule(Kind.OVERRIDE, "shut", None, datetime(2026, 12, 22, 10), "No", "Closed")
DEC_22 = datetime(2026, 12, 22, 10, 30, tzinfo=UTC)  # 11:30 in Berlin
FROZEN = BERLIN._replace(freezes=(FREEZE,))
EVERYTHING = FROZEN._replace(overrides=(OVERRIDE, SHUT))
NO_WINDOWS = {"windows": (), "outside_windows": "Open"}
BOTH = BERLIN._replace(windows=(WEEK, NIGHT))


@pytest.mark.parametrize(
    ("timetable", "later", "said"),
    [
        (BERLIN, 0, "open: windows.week"),
        (BERLIN, -72, "closed: no window is open"),
        (FROZEN, 0, "closed: freezes.xmas: Year-end"),
        (EVERYTHING, 0, "open: overrides.fix: Patch"),
        (EVERYTHING, -2, "closed: overrides.shut: No"),
        (EVERYTHING._replace(state="Closed"), 0, "closed: state"),
        (EVERYTHING._replace(state="Open"), -2, "open: state"),
        (BERLIN._replace(**NO_WINDOWS), 0, "open: outsideWindows"),
        (EVERYTHING._replace(**NO_WINDOWS), 1, "closed: freezes.xmas: Year-end"),
        (BOTH, -10, "open: windows.night; windows.week"),
    ],
)
def test_precedence(timetable: Timetable, later: int, said: str) -> None:
    """State, override Closed, override Open, freeze, window; the decision names what made it."""
    decision = decide(timetable, DEC_22 + later * HOUR)
    assert f"{'open' if decision.open else 'closed'}: {decision.reason}" == said
    named = [part.partition(":")[0] for part in decision.reason.split("; ")]
    assert list(decision.rules) == ([] if "no window" in said else named)


def overridden(rules: tuple[Rule, ...], day: int, hour: int) -> Timetable:
    begins = datetime(2026, 11, day, hour)
    override = OVERRIDE._replace(begins=begins, ends=begins + 20 * MINUTE)
    return BERLIN._replace(windows=rules, overrides=(override,))


@pytest.mark.parametrize(
    ("timetable", "want"),
    [
        (BERLIN, ["16 08:00-19 16:30"]),
        # A window that is shorter never opens; a gap that another window fills is no edge.
        (windows((at(8, 0, 1), 30 * MINUTE)), []),
        (windows(MORNING, (at(11, 0, 1), time(14))), ["16 08:00-16 13:30"]),
        # An override is open to its end, and its twenty minutes count as open.
        (overridden((), 16, 9), ["16 09:00-16 09:20"]),
        (overridden((WEEK,), 19, 17), ["16 08:00-19 16:50", "19 17:00-19 17:20"]),
        (
            BERLIN._replace(freezes=(FREEZE._replace(begins=datetime(2026, 11, 18)),)),
            ["16 08:00-17 23:30"],
        ),
    ],
)
def test_closes_early(timetable: Timetable, want: list[str]) -> None:
    """Open only if all of the next half hour is open by the rules, unless an override opens."""
    early = timetable._replace(closes_early=30 * MINUTE)
    assert open_intervals(early, NOV_16, 6) == want


def test_closes_early_is_real_time() -> None:
    """Two hours before 04:00 when clocks go back at 03:00 is the second 02:00."""
    early = windows((at(22), time(4)))._replace(closes_early=2 * HOUR)
    decision = decide(early, datetime(2026, 10, 24, 21, tzinfo=UTC))
    assert decision.until == datetime(2026, 10, 25, 1, tzinfo=UTC)


@pytest.mark.parametrize("margin", [MINUTE, DAY, 2 * DAY + MINUTE])
@pytest.mark.parametrize("ends", [time(0), time(0, 1), time(23, 59)])
def test_a_margin_of_whole_days(margin: timedelta, ends: time) -> None:
    end = datetime.combine(datetime(2027, 1, 10), ends, UTC)
    held = windows((DEC_22 - MINUTE, end))._replace(closes_early=margin)
    assert decide(held, DEC_22).until == end - margin
    assert decide(held, end - margin - MINUTE).open
    assert not decide(held, end - margin).open


def test_a_margin_of_seconds_counts_as_the_next_whole_minute() -> None:
    """No build emits such a margin."""
    early = BERLIN._replace(closes_early=timedelta(seconds=90))
    assert decide(early, DEC_22).until == datetime(2026, 12, 24, 15, 58, tzinfo=UTC)


@pytest.mark.parametrize(
    ("timetable", "since", "until"),
    [
        (BERLIN, "2026-12-21T07:00Z", "2026-12-24T16:00Z"),
        (BERLIN._replace(state="Open"), None, None),
        (windows((datetime(2025, 12, 1), datetime(2029, 1, 1))), "2025-11-30T23:00Z", None),
        # Always open, in pieces.
        (windows((at(0), time(0))), None, None),
    ],
)
def test_since_and_until(timetable: Timetable, since: str | None, until: str | None) -> None:
    decision = decide(timetable, DEC_22)
    found = [each and f"{each:%Y-%m-%dT%H:%MZ}" for each in (decision.since, decision.until)]
    assert found == [since, until]


@pytest.mark.parametrize(("away", "is_found"), [(400 * DAY - MINUTE, True), (400 * DAY, False)])
def test_changes_are_found_for_400_days(*, away: timedelta, is_found: bool) -> None:
    decision = decide(windows((DEC_22 - away, DEC_22 + away)), DEC_22)
    found = (DEC_22 - away, DEC_22 + away) if is_found else (None, None)
    assert (decision.since, decision.until) == found


def test_what_begins_as_it_ends_lasts_until_the_next_end() -> None:
    """A moment that is both an end and a beginning ends what was, and begins anew."""
    assert decide(windows((at(8, 0, 2), at(8, 0, 2))), DEC_22 + 3 * DAY).open
    decision = decide(windows((at(8, 0, 2), at(8))), datetime(2026, 12, 22, 9, tzinfo=UTC))
    assert decision.until == datetime(2026, 12, 23, 7, tzinfo=UTC)


@pytest.mark.parametrize("ends", [400 * DAY, time(8), NEVER])
def test_a_rule_may_end_beyond_the_calendar(ends: End) -> None:
    last, asked = datetime(9998, 12, 31, 12), datetime(9998, 12, 31, 18, tzinfo=UTC)
    assert decide(windows((last, ends)), asked).open
    assert decide(windows((last.replace(tzinfo=UTC), ends)), asked).open


@pytest.mark.parametrize("ends", [NEVER, NO_TIME], ids=["on no day", "at no time"])
def test_a_window_that_nothing_ends(ends: Recurrence) -> None:
    begins = monthly(29)._replace(months=frozenset({2}))
    assert open_intervals(windows((begins, ends)), NOV_16, 3) == ["16 00:00-19 00:00"]
    assert open_intervals(windows((NEVER, ends)), NOV_16, 3) == []


def test_dated_windows_that_overlap() -> None:
    first = datetime(2026, 11, 20, 8, tzinfo=UTC)
    hours = [(0, 10), (2, 4), (9, 12), (12, 13)]
    held = windows(*((first + begin * HOUR, first + end * HOUR) for begin, end in hours))
    for hour in range(13):
        found = decide(held, first + hour * HOUR)
        assert (found.since, found.until) == (first, first + 13 * HOUR)


def test_what_is_written_is_read_back() -> None:
    by_day = [(monthly(day), (10 + day) * MINUTE) for day in range(1, 32)]
    dated = (datetime(2026, 12, 24), datetime(2026, 12, 27))
    for timetable, some in ((FROZEN, {".", "A"}), (windows(*by_day, dated), {"1", "62"})):
        made = covered(timetable)
        written = rows(made)
        assert Table.parse(written["patterns"], written["days"], written["dates"]) == made.table
        assert some <= written["patterns"].keys()
        assert written["dates"]
