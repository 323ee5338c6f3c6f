"""Freezes made of public holidays and of company calendars are those of a policy."""

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from calls import spec
from seeds import EVENTS

from krm_windows.cli import main
from krm_windows.edit import icalendar_events, public_holidays
from krm_windows.edit.entries import DatedEntry, render
from krm_windows.krm import KubeObject
from krm_windows.policy.load import load

Printed = pytest.CaptureFixture[str]


def freezes(text: str, kind: str = "freezes") -> dict[str, dict[str, str]]:
    printed = yaml.safe_load(text)[kind]
    loaded = load(KubeObject.parse(spec(**{kind: yaml.safe_dump(printed)}).encode()).node)
    assert loaded.results == ()
    return printed


def test_a_companys_calendar_becomes_freezes(tmp_path: Path, capsys: Printed) -> None:
    found = freezes(printed(EVENTS.replace("\n", "\r\n").encode(), "2026-2027", tmp_path, capsys))
    assert {name: tuple(each.values()) for name, each in found.items()} == {
        "betriebsferien-strasse-2026": ("2026-12-24", "2027-01-01", "Betriebsferien, Straße"),
        "inventory-all-2027": (
            "2027-03-01T20:00+01:00",
            "2027-03-02T06:01+01:00",
            'Inventory: "all"',
        ),
        "company-calendar-2027": ("2027-04-01T20:00", "2027-04-01T22:00", "Company calendar"),
        "betriebsferien-strasse-2027": ("2027-12-24", "2028-01-01", "Betriebsferien, Straße"),
    }
    # Of the next year's alone, that from the end of this year is there, too.
    found = freezes(printed(EVENTS.encode(), "2028", tmp_path, capsys))
    assert [each["starts"] for each in found.values()] == ["2027-12-24", "2028-12-24"]


def printed(calendar: bytes, years: str, folder: Path, capsys: Printed, *options: str) -> str:
    (folder / "company.ics").write_bytes(calendar)
    assert main(["import", str(folder / "company.ics"), "--years", years, *options]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("today", ["2026-11-30", "2027-01-01", "2028-02-29"])
def test_the_turn_of_the_year_is_offered_beside_the_next_holidays(today: str) -> None:
    first = date.fromisoformat(today)
    found = public_holidays.coming("DE", "BY", first)
    [turn] = [each for each in found if each.ends != each.starts]
    assert (turn.starts.month, turn.starts.day, turn.ends.month, turn.ends.day) == (12, 24, 1, 1)
    assert turn.ends >= first
    assert "Epiphany" in [each.reason for each in found]
    assert all(each.ends >= first for each in found)


def test_places_have_names() -> None:
    assert public_holidays.countries()[public_holidays.country_of("Europe/Berlin")] == "Germany"
    assert public_holidays.regions("DE")["BY"] == "Bayern"
    assert public_holidays.regions("FR")["971"] == "Guadeloupe"
    assert public_holidays.country_of("UTC") == ""


# The beginning and the end, which is excluded, of what touches 2027, and of what does not.
TOUCHING = [
    ("VALUE=DATE:20251220", "VALUE=DATE:20280104"),
    ("VALUE=DATE:20271231", "VALUE=DATE:20280104"),
    ("TZID=Europe/Berlin:20261231T220000", "TZID=Europe/Berlin:20270101T000100"),
    ("TZID=Pacific/Kiritimati:20270101T000000", "TZID=Pacific/Kiritimati:20270101T010000"),
    ("TZID=Pacific/Pago_Pago:20271231T230000", "TZID=Pacific/Pago_Pago:20271231T233000"),
]
APART = [
    ("VALUE=DATE:20261220", "VALUE=DATE:20270101"),
    ("VALUE=DATE:20280101", "VALUE=DATE:20280104"),
    ("TZID=Europe/Berlin:20261231T220000", "TZID=Europe/Berlin:20270101T000000"),
]


def shutdown(starts: str, ends: str) -> bytes:
    event = f"BEGIN:VEVENT\nUID:1\nDTSTART;{starts}\nDTEND;{ends}\nSUMMARY:Shutdown\nEND:VEVENT\n"
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{event}END:VCALENDAR\n".encode()


def test_what_touches_the_years_is_there_as_a_whole(tmp_path: Path, capsys: Printed) -> None:
    for starts, ends in (*TOUCHING, *APART):
        text = printed(shutdown(starts, ends), "2027", tmp_path, capsys)
        begun = [each["starts"] for each in freezes(text).values()] if text else []
        wanted = [starts.partition(":")[2][:8]] if (starts, ends) in TOUCHING else []
        assert [each.replace("-", "")[:8] for each in begun] == wanted


def test_a_window_is_never_longer_than_its_event(tmp_path: Path, capsys: Printed) -> None:
    """Seconds are left out of it, where a freeze takes them in; often nothing is left."""
    day = "2027-01-01T"
    for ends, freeze, windows in (
        ("120210", "12:03", [(f"{day}12:01", f"{day}12:02")]),
        ("120145", "12:02", []),
    ):
        times = ("VALUE=DATE-TIME:20270101T120030", f"VALUE=DATE-TIME:20270101T{ends}")
        content = shutdown(*times)
        (closed,) = freezes(printed(content, "2027", tmp_path, capsys)).values()
        assert (closed["starts"], closed["ends"]) == (f"{day}12:00", f"{day}{freeze}")
        made = yaml.safe_load(printed(content, "2027", tmp_path, capsys, "--windows") or "{}")
        found = [(each["opens"], each["closes"]) for each in made.get("windows", {}).values()]
        assert found == windows


OWN = """\
BEGIN:VTIMEZONE
TZID:(UTC+09:00) Tokyo, Own
BEGIN:STANDARD
DTSTART:19700101T000000
TZOFFSETFROM:+0900
TZOFFSETTO:+0900
END:STANDARD
END:VTIMEZONE
"""
BERLIN = "DTSTART;TZID=Europe/Berlin:20271220T100000\nDTEND;TZID=Europe/Berlin:20271220T110000\n"


def zoned(times: str, before: str = "", after: str = "") -> bytes:
    """Write a calendar of one event, whose first time is in line 6 where nothing is before it."""
    event = f"BEGIN:VEVENT\nUID:1\nSUMMARY:x\n{times}END:VEVENT\n"
    return f"BEGIN:VCALENDAR\nVERSION:2.0\n{before}{event}{after}END:VCALENDAR\n".encode()


@pytest.mark.parametrize(
    ("calendar", "why"),
    [
        (zoned(BERLIN.replace("Europe/Berlin", "Customized Time Zone")), '"Customized Time'),
        (zoned(BERLIN.replace("DTEND;TZID=Europe/Berlin", "DTEND;TZID=Tokio")), '"Tokio"'),
        (zoned(f"{BERLIN}RDATE;TZID=Tokio:20271224T100000\n"), '"Tokio"'),
        (zoned(f"{BERLIN}RRULE:FREQ=DAILY;COUNT=2\nEXDATE;TZID=a:20271221T100000\n"), '"a"'),
        (zoned(f"{BERLIN}RECURRENCE-ID;TZID=a:20271220T100000\n"), '"a"'),
        (zoned("DTSTART;\n TZID=To\n kio:20271220T100000\nDURATION:PT1H\n"), '"Tokio"'),
        (zoned(BERLIN.replace("Europe/Berlin", '"(UTC+09:00) Tokyo, Own"')), "Tokyo, Own"),
        (zoned(BERLIN.replace("Europe/Berlin", "(UTC+09:00) Tokyo"), OWN), "DTSTART"),
        (zoned(BERLIN.replace("Europe/Berlin", "")), '""'),
        # Files of a host that are no zones of IANA.
        (zoned(BERLIN.replace("Europe/Berlin", "right/Europe/Berlin")), '"right/'),
        (zoned(BERLIN, "X-WR-TIMEZONE:Tokio Standard Time\n"), '"Tokio Standard Time"'),
        # A VTIMEZONE without a rule, and those that lack a part of it.
        (zoned(BERLIN, "BEGIN:VTIMEZONE\nTZID:a\nEND:VTIMEZONE\n"), "at least one component"),
        (zoned(BERLIN, OWN.replace("TZOFFSETTO:+0900\n", "")), "TZOFFSET"),
        (zoned(BERLIN, OWN.replace("DTSTART:19700101T000000\n", "")), "DTSTART"),
        # One without a name.
        (zoned(BERLIN.replace("Europe/Berlin", "a"), "BEGIN:VTIMEZONE\nEND:VTIMEZONE\n"), '"a"'),
        # It ends as a zone does, which need not be that zone.
        (zoned(BERLIN.replace("Europe/Berlin", "/mozilla.org/2005/Asia/Tokyo")), "/mozilla.org"),
    ],
)
def test_a_time_zone_that_nothing_says_is_refused(
    calendar: bytes, why: str, tmp_path: Path, capsys: Printed
) -> None:
    own = BERLIN.replace("Europe/Berlin", '"(UTC+09:00) Tokyo, Own"')
    printed(zoned(own, OWN), "2027", tmp_path, capsys)
    (tmp_path / "x.ics").write_bytes(calendar)
    assert main(["import", str(tmp_path / "x.ics"), "--years", "2027"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert why in said.err


@pytest.mark.parametrize(
    ("calendar", "starts"),
    [
        (zoned(BERLIN.replace("Europe/Berlin", "Tokyo Standard Time")), "+09:00"),
        (zoned(BERLIN.replace("Europe/Berlin", "/Asia/Tokyo")), "+09:00"),
        (zoned(BERLIN.replace("Europe/Berlin", '"(UTC+09:00) Tokyo, Own"'), OWN), "+09:00"),
        (zoned(BERLIN.replace("Europe/Berlin", '"(UTC+09:00) Tokyo, Own"'), "", OWN), "+09:00"),
        (zoned(BERLIN.replace(";TZID=Europe/Berlin", "")), ""),
        (zoned(BERLIN.replace(";TZID=Europe/Berlin", ""), "X-WR-TIMEZONE:Asia/Tokyo\n"), "+09:00"),
        (zoned(BERLIN, "X-WR-TIMEZONE:Asia/Tokyo\n"), "+01:00"),
    ],
)
def test_a_time_zone_that_is_said_is_used(
    calendar: bytes, starts: str, tmp_path: Path, capsys: Printed
) -> None:
    (found,) = freezes(printed(calendar, "2027", tmp_path, capsys)).values()
    assert found["starts"] == f"2027-12-20T10:00{starts}"


SLOTS = zoned(
    "DTSTART;TZID=Europe/Berlin:20270105T180000\nDTEND;TZID=Europe/Berlin:20270105T200000\n"
    "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU;COUNT=5\n"
)


def test_events_become_windows_where_that_is_asked_for(tmp_path: Path, capsys: Printed) -> None:
    """Of slots a freeze would be the opposite, so the output says what they became."""
    text = printed(SLOTS, "2027", tmp_path, capsys, "--windows")
    windows = freezes(text, "windows")
    assert [(each["opens"], each["closes"]) for each in windows.values()] == [
        (f"2027-{day}T18:00+01:00", f"2027-{day}T20:00+01:00")
        for day in ("01-05", "01-19", "02-02", "02-16", "03-02")
    ]
    assert text.startswith("# Each event became a window")
    text = printed(SLOTS, "2027", tmp_path, capsys)
    assert len(freezes(text)) == 5
    assert text.startswith("# Each event became a freeze")
    assert "`--windows`" in text.splitlines()[0]
    # An empty output alone would look as if the calendar had been read wrongly.
    assert main(["import", str(tmp_path / "company.ics"), "--years", "2030"]) == 0
    said = capsys.readouterr()
    assert (said.out, "no events in these years" in said.err) == ("", True)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no calendar\n", ""),
        (SLOTS * 2, "it contains 2 calendars: put each in its own file"),
        # An AWS Change Calendar: freezes would be the opposite.
        (SLOTS.replace(b"VERSION", b"X-CALENDAR-TYPE:DEFAULT_CLOSED\nVERSION"), "use --windows"),
    ],
)
def test_what_is_no_calendar_is_refused(
    content: bytes, why: str, tmp_path: Path, capsys: Printed
) -> None:
    (tmp_path / "x.ics").write_bytes(content)
    assert main(["import", str(tmp_path / "x.ics"), "--years", "2027"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert re.search(f"x.ics: cannot be imported: .*{why}", said.err)


def test_public_holidays_become_freezes(capsys: Printed) -> None:
    found = []
    for options in ((), ("--subdivision", "BY")):
        assert main(["import", "--holidays", "DE", *options, "--years", "2027"]) == 0
        found.append(freezes(capsys.readouterr().out))
    country, bavaria = found
    friday = {"starts": "2027-03-26", "ends": "2027-03-26", "reason": "Good Friday"}
    assert country["good-friday-2027"] == friday
    more = {"epiphany-2027", "corpus-christi-2027", "all-saints-day-2027"}
    assert bavaria.keys() - country.keys() == more


def test_what_is_not_known_is_refused(capsys: Printed) -> None:
    for code, *call in (
        (1, "--holidays", "XX", "--years", "2027"),
        (1, "--holidays", "DE", "--subdivision", "XX", "--years", "2027"),
        (2, "--holidays", "DE", "--years", "2029-2027"),
        (2, "--holidays", "DE", "--years", "27"),
        (1, "nowhere.ics"),
    ):
        assert main(["import", *map(str, call)]) == code
        assert capsys.readouterr().out == ""


def test_days_of_one_reason_in_a_row_are_one_entry() -> None:
    day = date(2027, 5, 1)
    days = [day + timedelta(days=number) for number in (0, 1, 2, 1, 9)]
    assert freezes(render([DatedEntry(each, each, "Feast") for each in days])) == {
        "feast-2027": {"starts": "2027-05-01", "ends": "2027-05-03", "reason": "Feast"},
        "feast-2027-2": {"starts": "2027-05-10", "ends": "2027-05-10", "reason": "Feast"},
    }


def test_a_long_or_strange_reason_still_has_a_name() -> None:
    at = datetime(2027, 5, 1, 12, tzinfo=UTC)
    entries = [DatedEntry(at, at + timedelta(hours=1), reason) for reason in ("word " * 40, "元日")]
    named = freezes(render(entries))
    assert sorted(map(len, named)) == [len("holiday-2027"), 58]
    assert "holiday-2027" in named
    days = (date(2027, 1, 1) + timedelta(days=2 * number) for number in range(900))
    entries = [DatedEntry(day, day, "Closed for the summer " * 5) for day in days]
    assert max(map(len, yaml.safe_load(render(entries))["freezes"])) <= 63
    with pytest.raises(ValueError, match="freezes"):
        render([DatedEntry(at, at, str(number)) for number in range(2000)])


def ics(*events: str) -> bytes:
    head = "BEGIN:VEVENT\nUID:{}\nDTSTART;VALUE=DATE:20270101\nSUMMARY:Closed\n"
    body = "".join(
        f"{head.format(number)}{event}\nEND:VEVENT\n" for number, event in enumerate(events)
    )
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{body}END:VCALENDAR\n".encode()


@pytest.mark.parametrize(
    "calendar",
    [
        ics("RRULE:FREQ=SECONDLY"),
        ics("RRULE:FREQ=MINUTELY;COUNT=99999999"),
        ics("RRULE:FREQ=HOURLY;UNTIL=29991231"),
        ics("RRULE:FREQ=DAILY;BYHOUR=1,2,3,4,5;BYMINUTE=1,2,3,4,5"),
        ics(f"RRULE:FREQ=DAILY;BYSECOND={','.join(map(str, range(60)))}"),
        ics("DESCRIPTION:" + "a" * 1_000_000),
    ],
    ids=range(6),
)
def test_what_repeats_without_end_is_refused(calendar: bytes) -> None:
    with pytest.raises(ValueError, match=r"repeats|are allowed"):
        icalendar_events.render(calendar, range(2027, 2057))
