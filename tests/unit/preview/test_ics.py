"""An iCalendar file says what the calendar says, to a reader that nobody here wrote."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import icalendar
import pytest
import zoned

from krm_windows.gate.timetable import Target
from krm_windows.preview import ics
from krm_windows.preview.calendar import Period, alike, calendars, described
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule, Timetable

TARGET = Target("g", "kustomizations", "Kustomization", "flux-system", "äpfel;b,c\\d" * 9)
EASTER = Rule(Kind.FREEZE, "easter", datetime(2026, 3, 20), datetime(2026, 4, 7), "Holidays")
WEEK = zoned.timetable(
    policy="flux-system/week",
    cluster="plant-7",
    time_zone="Europe/Berlin",
    windows=(Rule(Kind.WINDOW, "office", zoned.at(8, 1), zoned.at(17, 4)),),
    targets=(TARGET,),
)


def written(timetable: Timetable, start: date, days: int) -> str:
    return ics.render(alike(calendars([timetable], Period(start, days))))


def events(timetable: Timetable, start: date, days: int) -> list[icalendar.Event]:
    return icalendar.Calendar.from_ical(written(timetable, start, days)).walk("VEVENT")


def test_a_reader_finds_every_interval() -> None:
    found = events(WEEK, date(2026, 3, 23), 14)
    assert [(event.start, event.end) for event in found] == [
        (datetime(2026, 3, 23, 7, tzinfo=UTC), datetime(2026, 3, 26, 16, tzinfo=UTC)),
        (datetime(2026, 3, 30, 6, tzinfo=UTC), datetime(2026, 4, 2, 15, tzinfo=UTC)),
    ]
    assert found[0]["SUMMARY"] == "Open: office"
    assert found[0]["DESCRIPTION"] == f"By windows.office.\nChanges may reach {TARGET}."
    named = icalendar.Calendar.from_ical(written(WEEK, date(2026, 3, 23), 7))
    # RFC 7986, 5.1, and what programs knew before it.
    for title in ("NAME", "X-WR-CALNAME"):
        assert named[title] == "flux-system/week on plant-7"


def test_lines_are_folded_and_end_as_they_must() -> None:
    """RFC 5545, 3.1: CRLF, and at most 75 octets, never in the middle of a character."""
    lines = written(WEEK, date(2026, 3, 23), 14).encode().split(b"\r\n")
    assert lines.pop() == b""
    assert all(len(line) <= 75 and b"\n" not in line for line in lines)
    assert any(len(line) > 70 for line in lines)
    assert all(line.decode() for line in lines)


@pytest.mark.parametrize(
    ("start", "days"), [(date(2026, 3, 24), 1), (date(2026, 3, 20), 30), (date(2026, 1, 1), 365)]
)
def test_an_event_is_the_same_whatever_days_are_asked_for(start: date, days: int) -> None:
    """Whoever imports two overlapping ranges has each event once, and whole."""
    [whole] = events(WEEK, date(2026, 3, 23), 7)
    [same] = [event for event in events(WEEK, start, days) if event["UID"] == whole["UID"]]
    assert (same.start, same.end) == (whole.start, whole.end)


def test_events_of_clusters_and_policies_differ() -> None:
    others = (WEEK, WEEK._replace(cluster=None), WEEK._replace(policy="flux-system/other"))
    found = [event["UID"] for one in others for event in events(one, date(2026, 3, 23), 70)]
    assert len(set(found)) == len(found) == 30


def test_freezes_and_overrides_are_events_too() -> None:
    at = datetime(2026, 3, 25, 12, tzinfo=UTC)
    fix = Rule(Kind.OVERRIDE, "fix", at, at + timedelta(hours=2), "CVE", "Open")
    policy = WEEK._replace(freezes=(EASTER,), overrides=(fix,))
    found = {str(event["SUMMARY"]): event for event in events(policy, date(2026, 3, 23), 7)}
    assert set(found) == {"Freeze: Holidays", "Opened by override: CVE"}
    easter = found["Freeze: Holidays"]
    assert easter.start == datetime(2026, 3, 19, 23, tzinfo=UTC)
    assert easter.end == datetime(2026, 4, 6, 22, tzinfo=UTC)
    assert easter["DESCRIPTION"] == "Holidays\nBy freezes.easter."
    [again] = [each for each in events(policy, date(2026, 4, 1), 1) if "Freeze" in each["SUMMARY"]]
    assert (again["UID"], again.start, again.end) == (easter["UID"], easter.start, easter.end)
    later = policy._replace(overrides=(fix._replace(begins=at + timedelta(hours=1)),))
    [moved] = [each for each in events(later, date(2026, 3, 23), 7) if "CVE" in each["SUMMARY"]]
    assert moved["UID"] == found["Opened by override: CVE"]["UID"]
    assert events(policy, date(2026, 5, 5), 1) == events(WEEK, date(2026, 5, 5), 1)


@pytest.mark.parametrize(("start", "days"), [(date(2026, 3, 23), 7), (date(2026, 3, 25), 1)])
def test_what_an_override_opens_is_one_event(start: date, days: int) -> None:
    """Whether it extends a window, or is within one; the window keeps its event beside it."""
    day = datetime(2026, 3, 26, tzinfo=UTC)
    rules = (
        Rule(Kind.OVERRIDE, name, day.replace(hour=begins), day.replace(hour=ends), "", "Open")
        for name, begins, ends in (("within", 9, 10), ("behind", 15, 18))
    )
    found = events(WEEK._replace(overrides=tuple(rules)), start, days)
    spans = sorted((each.start, each.end) for each in found)
    edges = [datetime(2026, 3, 23, 7, tzinfo=UTC), *(day.replace(hour=h) for h in (9, 10, 15, 18))]
    assert spans == list(pairwise(edges))[: 4 if days > 1 else 1]
    [window] = [each for each in found if each.start == edges[0]]
    [alone] = events(WEEK, start, days)
    assert window["UID"] == alone["UID"]
    assert window["DESCRIPTION"] == alone["DESCRIPTION"]


def shared(*every: Timetable) -> dict[str, icalendar.Event]:
    text = ics.render(alike(calendars(every, Period(date(2026, 4, 6), 14))))
    found = icalendar.Calendar.from_ical(text).walk("VEVENT")
    return {str(event["SUMMARY"]): event for event in found}


def test_what_clusters_have_alike_is_one_event() -> None:
    north = WEEK._replace(cluster="north", freezes=(EASTER,))
    early = Rule(Kind.WINDOW, "office", zoned.at(6, 1), zoned.at(17, 4))
    south = north._replace(cluster="south", windows=(early,))
    west = north._replace(cluster="west")
    assert set(shared(north, south, west)) == {
        "Freeze: Holidays",
        # Behind the freeze, which cuts both alike.
        "Open: office",
        "Open: office (north, west)",
        "Open: office (south)",
    }
    # With another policy, the names are of both.
    other = early._replace(key="other")
    both = shared(north, WEEK._replace(policy="flux-system/other", windows=(other,)))
    assert "Open: other (flux-system/other on plant-7)" in both
    many = [north._replace(cluster=f"plant-{number}") for number in range(1000)]
    assert "Open: office (1000 clusters like plant-0)" in shared(*many, south)


def test_what_has_no_effect_is_no_event() -> None:
    day = datetime(2026, 3, 25, tzinfo=UTC)
    fix = Rule(Kind.OVERRIDE, "fix", day, day + timedelta(hours=9), "CVE", "Open")
    audit = Rule(Kind.OVERRIDE, "audit", *(day + timedelta(hours=h) for h in (2, 3)), "A", "Closed")
    policy = WEEK._replace(freezes=(EASTER,), overrides=(fix,))
    assert shared(policy._replace(state="Closed")) == {}
    assert set(shared(policy._replace(state="Open"))) == {"Open"}
    # An override that closes wins over one that opens.
    found = events(policy._replace(overrides=(fix, audit)), day.date(), 1)
    spans = {(str(each["SUMMARY"]), each.start.hour, each.end.hour) for each in found}
    assert len({each["UID"] for each in found}) == len(found)
    assert spans >= {("Opened by override: CVE", 0, 2), ("Opened by override: CVE", 3, 9)}
    assert ("Closed by override: A", 2, 3) in spans


def test_an_event_says_who_asked_for_it_and_why() -> None:
    spec = SimpleNamespace(
        windows={"office": SimpleNamespace(description="Ada is in")},
        overrides={"fix": SimpleNamespace(requested_by="Bob", ticket="OPS-7")},
    )
    why = f"CVE{'!' * 200}\nat once"
    # It has begun, some day.
    fix = Rule(Kind.OVERRIDE, "fix", None, datetime(2026, 3, 23, 7), why, "Open")
    found = []
    for day in (22, 23):
        [drawn] = calendars([WEEK._replace(overrides=(fix,))], Period(date(2026, 3, day), 2))
        text = ics.render([[described(drawn, cast("Any", spec))]])
        found.append(icalendar.Calendar.from_ical(text).walk("VEVENT"))
    opened, window = found[0]
    assert opened["DESCRIPTION"] == f"{why}\nRequested: Bob, OPS-7\nBy overrides.fix."
    assert opened["SUMMARY"] == f"Opened by override: {why[:99]}…"
    assert window["DESCRIPTION"].startswith("Ada is in\nBy windows.office.\n")
    # The next day it is the same event.
    assert [each["UID"] for each in found[1]] == [opened["UID"], window["UID"]]


def test_what_opens_often_on_a_day_is_one_event() -> None:
    steps = Recurrence(minutes=frozenset(range(0, 60, 10)), hours=frozenset(range(24)))
    often = Rule(Kind.WINDOW, "often", steps, timedelta(minutes=5))
    found = events(WEEK._replace(windows=(often,)), date(2026, 3, 23), 366)
    assert len(found) == 366
    assert found[0]["SUMMARY"] == "Opens and closes often: often"
    assert "144 times on this day" in found[0]["DESCRIPTION"]
    assert found[0].start == datetime(2026, 3, 22, 23, tzinfo=UTC)
    assert found[0].duration == timedelta(hours=23, minutes=55)
    # Clocks go forward, and back.
    lengths = {found[day].start.date(): found[day].duration for day in (6, 216)}
    assert lengths == {
        date(2026, 3, 28): timedelta(hours=22, minutes=55),
        date(2026, 10, 24): timedelta(hours=24, minutes=55),
    }


def test_a_night_in_which_clocks_change_is_whole() -> None:
    night = Rule(Kind.WINDOW, "night", zoned.at(22), time(5))
    policy = WEEK._replace(windows=(night,))
    for day, opens, closes in (
        (date(2026, 3, 28), "2026-03-28T21:00Z", "2026-03-29T03:00Z"),
        (date(2026, 10, 24), "2026-10-24T20:00Z", "2026-10-25T04:00Z"),
    ):
        spans = [(each.start, each.end) for each in events(policy, day, 1)]
        assert spans[-1] == (datetime.fromisoformat(opens), datetime.fromisoformat(closes))
