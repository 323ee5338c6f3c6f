"""An iCalendar file says what the calendar says, to a reader that nobody here wrote."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import icalendar
import pytest
import zoned

from krm_windows.gate.timetable import Target
from krm_windows.preview import ics
from krm_windows.preview.calendar import Period, calendars
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
    return ics.render(calendars([timetable], Period(start, days)))


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
    assert easter["DESCRIPTION"] == "By freezes.easter.\nHolidays"
    [again] = [each for each in events(policy, date(2026, 4, 1), 1) if "Freeze" in each["SUMMARY"]]
    assert (again["UID"], again.start, again.end) == (easter["UID"], easter.start, easter.end)
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
