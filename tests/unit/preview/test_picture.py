"""What pictures show: rows of what is alike, bands of time, lanes for what was asked for."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import zoned
from calls import spec

from krm_windows.gate.timetable import Target
from krm_windows.krm import KubeObject
from krm_windows.policy.load import load
from krm_windows.preview import html, svg, text
from krm_windows.preview.calendar import Calendar, Period, calendars, described
from krm_windows.preview.picture import Picture, Week, draw
from krm_windows.preview.templating import fitting
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule, Timetable

WEEK = Rule(Kind.WINDOW, "office", zoned.at(8, 1), zoned.at(17, 4))
FREEZE = Rule(Kind.FREEZE, "easter", datetime(2027, 3, 26), datetime(2027, 3, 30), "Easter")
FIX = Rule(Kind.OVERRIDE, "fix", datetime(2027, 3, 26, 9), datetime(2027, 3, 26, 18), "Fix", "Open")
LATER = Rule(Kind.FREEZE, "later", datetime(2027, 3, 30), datetime(2027, 4, 1), "Books")


def timetable(
    cluster: str | None = None, zone: str = "Europe/Berlin", policy: str = "flux-system/week"
) -> Timetable:
    return zoned.timetable(
        policy=policy,
        cluster=cluster,
        time_zone=zone,
        windows=(WEEK,),
        freezes=(FREEZE, LATER),
        overrides=(FIX,),
    )


def drawn(*timetables: Timetable, start: date = date(2027, 3, 8), days: int = 28) -> Picture:
    return draw(calendars(timetables, Period(start, days)))


def test_what_overlaps_lies_in_lanes() -> None:
    """What follows takes the lane that is free again."""
    [row] = drawn(timetable()).rows
    lanes = {fact.label: fact.lane for fact in row.facts}
    assert lanes == {"office": 0, "+1 h": 0, "Override: Fix": 2, "easter": 1, "later": 1}
    assert [fact.kind for fact in row.facts if fact.lane] == ["freeze", "override-open", "freeze"]
    # An override that opens within a freeze is open by that override.
    [fact] = [each for each in row.facts if (each.kind, each.label) == ("open", "Override: Fix")]
    said = "open Fri 2027-03-26 09:00 to Fri 2027-03-26 18:00 (9 h), by overrides.fix"
    assert row.words(fact) == said


BARS = [
    # When it opens and closes in March, and what its bar has in the days from the 9th to the 15th.
    ("10T08:00", "10T17:00", ("08\N{EN DASH}17", "w")),
    ("10T08:30", "10T17:00", ("08:30\N{EN DASH}17", "w")),
    ("10T22:00", "11T00:00", ("22\N{EN DASH}24", "w")),
    ("10T22:00", "11T04:00", ("22\N{EN DASH}04", "w")),
    ("10T00:00", "11T00:00", ("00\N{EN DASH}24", "w")),
    ("10T08:00", "13T00:00", ("Wed 08\N{EN DASH}Fri 24", "w")),
    # Beyond these days it has no hours that they could show.
    ("08T08:00", "11T17:00", ("until Thu 17:00", "w")),
    ("10T08:00", "17T17:00", ("from Wed 08:00", "w")),
    ("08T08:00", "17T17:00", ("w",)),
]


@pytest.mark.parametrize(("opens", "closes", "says"), BARS)
def test_a_bar_says_hours_and_then_who(opens: str, closes: str, says: tuple[str, ...]) -> None:
    begins, ends = (datetime.fromisoformat(f"2027-03-{each}") for each in (opens, closes))
    made = zoned.timetable(
        time_zone="Europe/Berlin", windows=(Rule(Kind.WINDOW, "w", begins, ends),)
    )
    page = html.render(calendars([made], Period(date(2027, 3, 9), 7)))
    assert re.findall(r"<span>(.*?)</span>", page.partition('class="bar open"')[2])[:2] == list(
        says
    )


@pytest.mark.parametrize(("days", "says"), [(1, "08\N{EN DASH}17 day"), (9, "08\N{EN DASH}17")])
def test_a_bar_of_a_picture_says_what_fits(days: int, says: str) -> None:
    made = timetable()._replace(windows=(Rule(Kind.WINDOW, "day", zoned.at(8), zoned.at(17)),))
    picture = svg.render(calendars([made], Period(date(2027, 3, 1), days)))
    assert set(re.findall(r'<text class="(?:on-open|label)"[^>]*>(.*?)<', picture)) == {
        *filter(None, [says])
    }


def test_a_short_bar_has_the_room_up_to_the_next_one_of_its_lane() -> None:
    # Over midnight; at noon; for days; and up to the end of these days.
    spans = (("08T22", "09T04"), ("10T12", "10T13"), ("10T18", "12T12"), ("14T18", "15T00"))
    rules = [
        Rule(Kind.WINDOW, span[0], *(datetime.fromisoformat(f"2027-03-{at}") for at in span))
        for span in spans
    ]
    picture = drawn(zoned.timetable(windows=tuple(rules)), days=7)
    [(_, week)] = picture.weeks()
    [track] = picture.tracks(week)
    rooms = [bar.room and tuple(round(7 * 24 * each) for each in bar.room) for bar in track.bars]
    assert rooms == [(28, 32), (61, 5), None, None]


def test_what_is_gated_and_why_is_named() -> None:
    apps, infra = (Target("g", "r", "Kustomization", "flux", name) for name in ("apps", "infra"))
    every = calendars(
        [timetable("a")._replace(targets=(apps,)), timetable("b")._replace(targets=(infra,))],
        Period(date(2027, 3, 8), 7),
    )
    [row] = draw(every).rows
    assert row.gated == ("a: gates Kustomization flux/apps", "b: gates Kustomization flux/infra")
    assert draw(every[:1]).rows[0].gated == ("gates Kustomization flux/apps",)
    loaded = load(KubeObject.parse(spec(windows=DESCRIBED).encode()).node)
    policy, _ = loaded.for_cluster(None)
    assert policy is not None
    made = [described(every[0], policy.spec)]
    assert draw(made).rows[0].descriptions == (("windows.office", "Somebody is <on> call"),)
    assert "Somebody is &lt;on&gt; call" in html.render(made)


DESCRIBED = "{office: {opens: Mon 08:00, closes: Thu 17:00, description: Somebody is <on> call}}"


def test_the_rims_of_the_days_are_no_times() -> None:
    every = calendars([timetable()], Period(date(2027, 3, 9), 1))
    page = html.render(every)
    assert "<td>before these days</td>" in page
    assert "<td>after these days</td>" in page
    assert "2027-03-09 to" not in page
    picture = draw(every)
    assert (picture.subject, picture.days) == ("flux-system/week", "2027-03-09")
    [row] = picture.rows
    said = "open from before to after these days (1 d), by windows.office"
    assert row.words(row.facts[0]) == said
    [row] = drawn(timetable("plant-7"), start=date(2027, 3, 27), days=2).rows
    whole = "Fri 2027-03-26 00:00 to Tue 2027-03-30 00:00 (3 d 23 h)"
    assert row.words(row.facts[0]) == f"freeze {whole}, by freezes.easter: Easter"
    picture = drawn(timetable(), start=date(2027, 3, 15), days=13)
    [track] = picture.tracks(weeks(picture)[1])
    [easter] = [bar for bar in track.bars if bar.fact.label == "easter"]
    assert sum(easter.place) == pytest.approx(6 / 7)


def test_what_begins_with_the_days_is_not_before_them() -> None:
    midnights = WEEK._replace(begins=zoned.at(0, 1), ends=zoned.at(0, 3))
    rules = timetable()._replace(windows=(midnights,), freezes=(), overrides=())
    monday, wednesday = "Mon 2027-04-05 00:00", "Wed 2027-04-07 00:00"
    for first, days, begins, ends in (
        (5, 2, monday, wednesday),
        (5, 1, monday, "(after)"),
        (6, 1, "(before)", wednesday),
    ):
        period = Period(date(2027, 4, first), days)
        [line] = text.render(calendars([rules], period)).splitlines()[-1:]
        assert line.split("  ")[:2] == [begins, ends]
        [row] = drawn(rules, start=period.start, days=days).rows
        goes = (row.facts[0].goes_back, row.facts[0].goes_on)
        assert goes == (begins == "(before)", ends == "(after)")


LONG = "a-window-with-a-name-that-is-as-long-as-names-may-be-in-kubernetes"


@pytest.mark.parametrize("width", [320, 639, 640, 2000])
def test_svg_is_as_wide_as_is_asked_for(width: int) -> None:
    """Words are cut by a mark, days never; on a phone names are above the tracks."""
    rules: dict[str, Any] = {
        "windows": (WEEK._replace(key=LONG),),
        "targets": (Target("g", "r", "Kustomization", "flux-system", LONG),),
    }
    zones = ("Europe/Berlin", "America/Argentina/Buenos_Aires")
    named = [timetable(zone, zone, f"flux-system/{LONG}")._replace(**rules) for zone in zones]
    every = calendars(named, Period(date(2027, 3, 8), 28))
    root = ET.fromstring(svg.render(every, width=width))  # noqa: S314 - it is our own
    assert root.get("width") == str(width)
    texts = list(root.iter("{http://www.w3.org/2000/svg}text"))
    for words in texts:
        tspans = [words, *words.findall("{http://www.w3.org/2000/svg}tspan")]
        spoken = max(len(each.text or "") for each in tspans)
        begins = max(float(each.get("x", 0)) for each in tspans)
        # A narrow mean: what is too wide by it is too wide in every font.
        assert begins + 5 * spoken <= width, words.text
    assert any("2027-03-08 to 2027-04-04" in (words.text or "") for words in texts)
    tracks = root.findall(".//{http://www.w3.org/2000/svg}rect[@class='track']")
    beside = {float(track.get("x", 0)) for track in tracks}
    assert min(beside) == (12.0 if width < 640 else 200.0)


def test_svg_shows_every_fact() -> None:
    cut = [fitting("audit-of-everything", room) for room in (19, 10, 6, 5)]
    assert cut == ["audit-of-everything", "audit-of-…", "audit…", ""]
    assert len(fitting("w" * 50, 30)) <= 20
    every: tuple[Calendar, ...] = calendars([timetable("<a> & b")], Period(date(2027, 3, 8), 60))
    root = ET.fromstring(svg.render(every))  # noqa: S314 - it is our own
    titles = {title.text for title in root.iter("{http://www.w3.org/2000/svg}title")}
    [row] = draw(every).rows
    assert {f"{row.title}: {row.words(fact)}" for fact in row.facts} <= titles
    assert "<a> & b (Europe/Berlin)" in titles


EVERY_TEN = Rule(
    Kind.WINDOW, "tens", Recurrence(minutes=frozenset(range(0, 60, 10))), timedelta(minutes=5)
)


def weeks(picture: Picture) -> list[Week]:
    return [week for _, week in picture.weeks()]


def test_a_long_range_is_drawn_by_weeks() -> None:
    picture = drawn(timetable(), days=30)
    assert [(month, week.days, len(list(week.ticks()))) for month, week in picture.weeks()] == [
        ("March 2027", "Mon 2027-03-08 to Sun 2027-03-14", 7),
        ("", "Mon 2027-03-15 to Sun 2027-03-21", 7),
        ("", "Mon 2027-03-22 to Sun 2027-03-28", 7),
        ("", "Mon 2027-03-29 to Sun 2027-04-04", 7),
        # Nothing is known of the days beyond the range: they have no tick, and stay blank.
        ("April 2027", "Mon 2027-04-05 to Tue 2027-04-06", 2),
    ]
    # Nine days are side by side, as a week in two zones may touch as many.
    assert [len(weeks(drawn(timetable(), days=days))) for days in (1, 7, 9, 10)] == [1, 1, 1, 2]
    ticks = [*weeks(picture)[3].ticks()]
    assert [tick.day.day for tick in ticks[1:4]] == [30, 31, 1]


ZONES = ("Asia/Tokyo", "Europe/Berlin", "America/New_York", "Pacific/Auckland")


def test_each_row_is_on_its_own_clock() -> None:
    """Monday 08:00 is below Monday 08:00, also in weeks in which clocks change."""
    picture = drawn(*(timetable(zone, zone) for zone in ZONES))
    assert [row.zone.key for row in picture.rows] == list(ZONES)
    # Of one policy the clusters are named, of several the policies too.
    assert [row.names for row in picture.rows] == [(zone,) for zone in ZONES]
    both = drawn(timetable("a"), timetable("a", policy="flux-system/other")).rows
    assert [row.names for row in both] == [("flux-system/week on a", "flux-system/other on a")]
    assert picture.clocks == "Each row is in its own time zone."
    assert picture.days == "2027-03-08 to 2027-04-04"
    assert len(weeks(picture)) == 4
    for week in weeks(picture)[:3]:
        for track in picture.tracks(week):
            # Whoever moves by keyboard meets everything in the order of time.
            numbers = [bar.number for bar in track.bars]
            assert numbers == sorted(numbers)
            [office] = [bar.place for bar in track.bars if bar.fact.label == "office"]
            assert office == pytest.approx((8 / 168, 81 / 168))
            assert not track.outside


def test_what_is_outside_of_the_days_is_blank() -> None:
    # Noon in UTC is evening in Tokyo, and morning in New York.
    start = datetime(2027, 3, 8, 12, tzinfo=UTC)
    picture = draw(calendars([timetable(zone, zone) for zone in ZONES], Period(start, 1)))
    [week] = weeks(picture)
    for track, hour in zip(picture.tracks(week), (21, 13, 7, 25), strict=True):
        first, last = track.outside
        assert (24 * week.length * first[1], first[0]) == pytest.approx((hour, 0))
        assert sum(last) == pytest.approx(1)


def test_now_is_another_time_in_each_row() -> None:
    every = calendars([timetable(zone, zone) for zone in ZONES], Period(date(2027, 3, 8), 7))
    now = datetime(2027, 3, 10, 12, tzinfo=UTC)
    picture = draw(every, now)
    [week] = weeks(picture)
    hours = [24 * 7 * (track.now or 0) for track in picture.tracks(week)]
    assert hours == pytest.approx([48 + 21, 48 + 13, 48 + 7, 72 + 1])
    assert html.render(every, now).count('<span class="line-of-now"') == len(ZONES)
    # Only an instant that is given is marked; the same call writes the same bytes.
    assert draw(every, now + timedelta(days=7)).now is None
    for writer in (html.render, svg.render):
        assert "Wed 2027-03-10 12:00 UTC" in writer(every, now)
        assert writer(every, now) == writer(every, now)
        assert "Now it is" not in writer(every)


def test_a_repeated_hour_has_no_width() -> None:
    sunday = WEEK._replace(
        begins=Recurrence(minutes=frozenset({30}), hours=frozenset({2}), weekdays=frozenset({0})),
        ends=timedelta(minutes=45),
    )
    rules = timetable()._replace(windows=(sunday,), freezes=(), overrides=())
    picture = drawn(rules, start=date(2027, 10, 25), days=7)
    [week] = weeks(picture)
    [track] = picture.tracks(week)
    places = {bar.fact.kind: bar.place for bar in track.bars}
    assert places["open"] == pytest.approx(((6 * 24 + 2.5) / 168, 0.75 / 168))
    assert places["clock"] == pytest.approx(((6 * 24 + 3) / 168, 0), abs=1 / 60 / 168)
    assert track.outside == ()


def test_what_recurs_is_one_bar() -> None:
    tens = zoned.timetable(
        policy="flux-system/tens", time_zone="UTC", windows=(EVERY_TEN,), overrides=(FIX,)
    )
    picture = drawn(tens, start=date(2027, 3, 25), days=4)
    [week] = weeks(picture)
    [track] = picture.tracks(week)
    assert [bar.fact.kind for bar in track.bars] == ["often", "open", "override-open", "often"]
    often = track.bars[0].fact
    assert often.label == "tens, every 10 m, 198 times"
    assert track.row.words(often) == (
        "opens and closes often Thu 2027-03-25 00:00 to Fri 2027-03-26 08:55 "
        "(5 m, every 10 m, 198 times), by windows.tens"
    )
