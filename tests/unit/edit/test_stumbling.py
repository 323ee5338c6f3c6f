"""Calendars that the packages stumble over are none, and a fault of ours is not one of those."""

from pathlib import Path

import pytest
from targets import run

from krm_windows.edit import entries, icalendar_events
from krm_windows.exit_codes import ExitCode

CALENDAR = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//example//EN
BEGIN:VEVENT
UID:1@example.org
DTSTAMP:20260101T000000Z
{}
END:VEVENT
END:VCALENDAR
"""
START, END = "DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261226"
BOTH = f"{START}\n{END}"
ZONE = "\nEND:VEVENT\nBEGIN:VTIMEZONE\nTZID:x\nEND:VTIMEZONE\nBEGIN:VEVENT\nUID:2"
# Fields that are missing, there twice, of another type than the other, or nonsense.
ODD = {
    "nothing": "SUMMARY:x",
    "no start": END,
    "start twice": f"{START}\n{BOTH}",
    "a time and a date": f"DTSTART:20261224T120000Z\n{END}",
    "with and without a zone": "DTSTART:20261224T120000Z\nDTEND:20261226T120000",
    "no such zone": "DTSTART;TZID=Nowhere/Else:20261224T120000\nDTEND:20261226T120000Z",
    "an empty rule": f"{BOTH}\nRRULE:",
    "odd parts of a rule": f"{BOTH}\nRRULE:FREQ=DAILY;COUNT=x;UNTIL=y",
    "another type of end": f"{BOTH}\nRRULE:FREQ=DAILY;UNTIL=20261230T000000Z",
    "an end without a zone": "DTSTART:20261224T120000Z\nRRULE:FREQ=DAILY;UNTIL=20261230T000000",
    "an exception that is no date": f"{BOTH}\nEXDATE:x",
    "an end and a duration": f"{BOTH}\nDURATION:P1D",
    "a title twice": f"{BOTH}\nSUMMARY:a\nSUMMARY:b\nSTATUS:CANCELLED\nSTATUS:x",
    "a year that is too large": "DTSTART;VALUE=DATE:99991231\nDURATION:P9999999D",
    "a zone without rules": BOTH + ZONE,
    "a zone of what is no time": f"{BOTH}\nX-PLANT;TZID=Europe/Berlin:north",
    "a start of no known type": f"DTSTART;VALUE=X-DAY;TZID=Europe/Berlin:x\n{END}",
}


@pytest.mark.parametrize("fields", ODD.values(), ids=ODD)
def test_an_odd_event_is_read_or_refused(fields: str, tmp_path: Path) -> None:
    path = tmp_path / "calendar.ics"
    path.write_text(CALENDAR.format(fields).replace("\n", "\r\n"))
    code, out, err = run(["import", str(path), "--years", "2026"])
    assert code in (ExitCode.FINE, ExitCode.ERROR), err
    assert code == ExitCode.FINE or (out == b"" and "cannot be imported: " in err)


@pytest.mark.parametrize("error", [KeyError("DTSTART"), ValueError("odd")])
@pytest.mark.parametrize("call", ["from_ical", "of"])
def test_whatever_the_packages_raise_is_said_of_the_calendar(
    error: Exception, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise error

    ours = icalendar_events
    owner = ours.icalendar.Calendar if call == "from_ical" else ours.recurring_ical_events
    monkeypatch.setattr(owner, call, stumble)
    with pytest.raises(ValueError, match=str(error.args[0])):
        icalendar_events.render(CALENDAR.format(f"{START}\n{END}").encode(), [2026])


@pytest.mark.parametrize("place", ["_check", "render", "_entry"])
def test_a_fault_of_ours_is_not_hidden(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a")

    monkeypatch.setattr(entries if place == "render" else icalendar_events, place, fail)
    path = tmp_path / "calendar.ics"
    path.write_text(CALENDAR.format(f"{START}\n{END}"))
    code, _, err = run(["import", str(path), "--years", "2026"])
    assert code == ExitCode.FAILURE
    assert "cannot be imported" not in err
