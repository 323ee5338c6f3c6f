"""What pictures show: rows of what is alike, bands of time, lanes for what was asked for."""

from datetime import date, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
import zoned

from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Kind, Rule, Timetable
from krm_windows.preview import merged_bars, svg
from krm_windows.preview.calendar import Calendar, Period, calendars
from krm_windows.preview.picture import Picture, draw

WEEK = Rule(
    Kind.WINDOW,
    "office",
    Recurrence(minutes=frozenset({0}), hours=frozenset({8}), weekdays=frozenset({1})),
    Recurrence(minutes=frozenset({0}), hours=frozenset({17}), weekdays=frozenset({4})),
)
FREEZE = Rule(Kind.FREEZE, "easter", datetime(2027, 3, 26), datetime(2027, 3, 30), "Easter")
FIX = Rule(Kind.OVERRIDE, "fix", datetime(2027, 3, 26, 9), datetime(2027, 3, 26, 18), "Fix", "Open")
LATER = Rule(Kind.FREEZE, "later", datetime(2027, 3, 30), datetime(2027, 4, 1), "Books")


def timetable(
    cluster: str | None = None, zone: str = "Europe/Berlin", policy: str = "flux-system/week"
) -> Timetable:
    """A week with two freezes and an override."""
    return zoned.timetable(
        policy=policy,
        cluster=cluster,
        time_zone=zone,
        windows=(WEEK,),
        freezes=(FREEZE, LATER),
        overrides=(FIX,),
    )


def drawn(*timetables: Timetable, start: date = date(2027, 3, 8), days: int = 28) -> Picture:
    """The picture of some timetables."""
    return draw(calendars(timetables, Period(start, days)))


def test_what_overlaps_lies_in_lanes() -> None:
    """A freeze and an override within it are both seen.

    What follows takes the lane that is free again.
    """
    [row] = drawn(timetable()).rows
    lanes = {fact.label: fact.lane for fact in row.facts}
    assert lanes == {"office": 0, "+1 h": 0, "fix": 2, "easter": 1, "later": 1}
    assert [fact.kind for fact in row.facts if fact.lane] == ["freeze", "override-open", "freeze"]


def test_open_is_what_results() -> None:
    """An override that opens within a freeze is open by that override."""
    [row] = drawn(timetable()).rows
    [words] = [
        fact.words for fact in row.facts if fact.kind == "open" and fact.rules == ("overrides.fix",)
    ]
    assert words == "open Fri 2027-03-26 09:00 to Fri 2027-03-26 18:00 (9 h), by overrides.fix"


def test_rims_are_no_edges() -> None:
    """What goes on beyond the days is said to."""
    [row] = drawn(timetable(), start=date(2027, 3, 9), days=1).rows
    assert row.facts[0].words == "open from before to after these days (1 d), by windows.office"


def test_a_long_range_is_drawn_by_months() -> None:
    """Each month is whole, so that all have one scale."""
    bands = drawn(timetable(), days=60).bands
    assert [(band.title, len(band.ticks)) for band in bands] == [
        ("March 2027", 31),
        ("April 2027", 30),
        ("May 2027", 31),
    ]
    assert [band.title for band in drawn(timetable(), days=35).bands] == [""]


def test_a_short_range_is_drawn_by_hours() -> None:
    """A day has four quarters; one that lost an hour too."""
    [band] = drawn(timetable(), start=date(2027, 3, 28), days=1).bands
    assert [tick.label for tick in band.ticks] == ["Sun 28", "06:00", "12:00", "18:00"]
    assert band.place(band.ticks[1].at, band.ends) == pytest.approx((5 / 23, 18 / 23))


def test_several_zones_share_an_axis_in_utc() -> None:
    """Rows begin at midnights of their own."""
    picture = drawn(timetable("tokyo", "Asia/Tokyo"), timetable("plant"))
    assert (picture.zone.key, [row.zone.key for row in picture.rows]) == (
        "UTC",
        ["Asia/Tokyo", "Europe/Berlin"],
    )
    assert picture.days == "2027-03-08 to 2027-04-04"


def test_names_say_what_differs() -> None:
    """Of one policy the clusters are named, of several the policies too."""
    assert [row.names for row in drawn(timetable("a"), timetable("b")).rows] == [("a", "b")]
    both = drawn(timetable("a"), timetable("a", policy="flux-system/other")).rows
    assert [row.names for row in both] == [("flux-system/week on a", "flux-system/other on a")]


def test_svg_shows_every_fact() -> None:
    """It is well-formed, and each part has its words as a title."""
    every: tuple[Calendar, ...] = calendars([timetable("<a> & b")], Period(date(2027, 3, 8), 60))
    root = ET.fromstring(svg.render(every))  # noqa: S314 - it is our own
    titles = {title.text for title in root.iter("{http://www.w3.org/2000/svg}title")}
    [row] = draw(every).rows
    assert {fact.words for fact in row.facts} | {"<a> & b"} <= titles


EVERY_TEN = Rule(
    Kind.WINDOW, "tens", Recurrence(minutes=frozenset(range(0, 60, 10))), timedelta(minutes=5)
)


@pytest.mark.parametrize(
    ("days", "drawn_bars"),
    [(28, ["often"]), (1, ["open"] * 144)],
    ids=["too fine for a month", "seen one by one on a day"],
)
def test_windows_too_fine_to_see(days: int, drawn_bars: list[str]) -> None:
    """Many short windows are never one block of "open".

    A bar of its own kind stands for them, and says how many.
    """
    tens = zoned.timetable(policy="flux-system/tens", time_zone="UTC", windows=(EVERY_TEN,))
    picture = drawn(tens, days=days)
    bars = merged_bars.bars(picture.rows[0], picture.bands[0])
    assert [fact.kind for _, fact in bars] == drawn_bars
    if days > 1:
        assert bars[0][1].words.startswith(
            "opens 4032 times within 27 d 23 h 55 m, for 14 d in all, by windows.tens"
        )


def test_bars_keep_the_order_of_what_begins() -> None:
    """Whoever moves by keyboard meets everything in the order of time."""
    picture = drawn(timetable())
    assert [number for number, _ in merged_bars.bars(picture.rows[0], picture.bands[0])] == list(
        range(len(picture.rows[0].facts))
    )
