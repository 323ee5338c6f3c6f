"""What pictures show: rows of what is alike, bands of time, lanes for what was asked for."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise, product
from xml.etree import ElementTree as ET

import pytest
import zoned
from calls import spec

from krm_windows.gate.timetable import Target
from krm_windows.krm import KubeObject
from krm_windows.plan.clocks import Today
from krm_windows.policy.load import load
from krm_windows.preview import html, svg, text
from krm_windows.preview.axis import Band, Quiet, last_day
from krm_windows.preview.calendar import Calendar, Period, calendars, described
from krm_windows.preview.picture import Picture, draw
from krm_windows.preview.templating import fitting
from krm_windows.preview.tracks import tracks
from krm_windows.schedule import wallclock
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule, Timetable

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


def bands(picture: Picture) -> list[Band]:
    """What of the axis is drawn."""
    return [part for part in picture.parts if isinstance(part, Band)]


def test_a_long_range_is_drawn_by_weeks() -> None:
    """Each week is whole, so that all have one scale, and each month is named once."""
    picture = drawn(timetable(), days=30)
    assert [(month, band.days, len(band.ticks)) for month, band in picture.months()] == [
        ("March 2027", "Mon 2027-03-08 to Sun 2027-03-14", 7),
        ("", "Mon 2027-03-15 to Sun 2027-03-21", 7),
        ("", "Mon 2027-03-22 to Sun 2027-03-28", 7),
        ("", "Mon 2027-03-29 to Sun 2027-04-04", 7),
        # Nothing is known of the days beyond the range: they stay blank.
        ("April 2027", "Mon 2027-04-05 to Tue 2027-04-06", 2),
    ]
    # Nine days are side by side, as a week in two zones may touch as many.
    assert [len(drawn(timetable(), days=days).parts) for days in (1, 7, 9, 10)] == [1, 1, 1, 2]
    assert [tick.label for tick in bands(picture)[3].ticks[1:4]] == ["30 Mar", "31 Mar", "01 Apr"]


def test_nothing_is_said_of_days_beyond_the_range() -> None:
    """Not that they are closed, on no clock, whether a freeze or a window is near or nothing is."""
    zones = ("Pacific/Kiritimati", "Pacific/Pago_Pago", "America/St_Johns", "Europe/Berlin")
    at = datetime(2027, 3, 14, 11, 30, tzinfo=UTC)
    for days, start in product((10, 13, 61, 62, 63, 64), (date(2027, 1, 25), Today(at), at)):
        several = [timetable(zone=zone) for zone in zones]
        quiet = [each._replace(windows=()) for each in several]
        for timetables in ([timetable()], [timetable()._replace(windows=())], several, quiet):
            every = calendars(timetables, Period(start, days))
            picture = draw(every)
            last = max(last_day(one.ends, one.zone) for one in every)
            assert picture.parts[-1].last == last
            for part, row in product(picture.parts, picture.rows):
                if isinstance(part, Quiet):
                    begins, ends = part.begins, part.ends
                    if picture.several_zones:
                        begins = wallclock.instant(begins.replace(tzinfo=None), row.zone)
                        ends = wallclock.instant(ends.replace(tzinfo=None), row.zone)
                    assert row.begins <= begins < ends <= row.ends


def test_a_short_range_is_drawn_by_hours() -> None:
    """A day has four quarters; one that lost an hour too."""
    [band] = bands(drawn(timetable(), start=date(2027, 3, 28), days=1))
    assert [(tick.weekday, tick.label) for tick in band.ticks] == [
        ("Sun", "28 Mar"),
        ("", "06:00"),
        ("", "12:00"),
        ("", "18:00"),
    ]
    assert band.place(band.ticks[1].at, band.ends) == pytest.approx((5 / 23, 18 / 23))


def test_weekends_are_whole_days() -> None:
    """Of the clock: the Sunday on which clocks change has 23 hours."""
    [band] = bands(drawn(timetable(), start=date(2027, 3, 26), days=5))
    assert [(ends - begins) / timedelta(hours=1) for begins, ends in band.weekends] == [24, 23]


FROZEN = FREEZE._replace(key="long", begins=datetime(2027, 3, 12), ends=datetime(2027, 4, 7))
QUIET = [
    ((), None, "3 weeks, Mon 2027-03-15 to Sun 2027-04-04: closed (freezes.long)"),
    # Now is in the first week of the three, which then is drawn.
    ((), 15, "2 weeks, Mon 2027-03-22 to Sun 2027-04-04: closed (freezes.long)"),
    ((FIX,), None, "1 week, Mon 2027-03-15 to Sun 2027-03-21: closed (freezes.long)"),
]


@pytest.mark.parametrize(("overrides", "now", "words"), QUIET)
def test_weeks_without_a_change_are_a_line(
    overrides: tuple[Rule, ...], now: int | None, words: str
) -> None:
    """Whatever holds in them; a change of the clock is none of the policy, and is drawn."""
    frozen = timetable(zone="Etc/UTC")._replace(freezes=(FROZEN,), overrides=overrides)
    at = datetime(2027, 3, now, 12, tzinfo=UTC) if now else None
    picture = draw(calendars([frozen], Period(date(2027, 3, 8), 42)), at)
    said = [part.words for part in picture.parts if isinstance(part, Quiet)]
    assert said[0] == words
    # What is drawn and what is said follow each other without a gap.
    assert all(one.ends == next_one.begins for one, next_one in pairwise(picture.parts))


def test_a_quiet_week_says_what_differs() -> None:
    """Of rows that differ, each state has its names."""
    never = timetable("b")._replace(windows=(), freezes=(), overrides=())
    always = never._replace(cluster="a", outside_windows="Open")
    picture = drawn(never, always, timetable("c")._replace(windows=()), days=42)
    [first, *_] = [part for part in picture.parts if isinstance(part, Quiet)]
    assert first.states == "b, c closed; a open (outsideWindows)"


def test_now_is_marked_if_it_is_among_the_days() -> None:
    """Only an instant that is given is marked; the same call writes the same bytes."""
    every = calendars([timetable()], Period(date(2027, 3, 8), 7))
    within = datetime(2027, 3, 9, 12, tzinfo=UTC)
    assert draw(every, within).now == within
    assert draw(every, datetime(2027, 3, 15, 12, tzinfo=UTC)).now is None
    for writer in (html.render, svg.render):
        assert "now" in writer(every, within).partition("</style>")[2]
        assert writer(every, within) == writer(every, within)
        assert "Now it is" not in writer(every)


def test_what_is_gated_and_why_is_named() -> None:
    """Targets that all share are said once, others by their names; windows say what they are."""
    apps, infra = (Target("g", "r", "Kustomization", "flux", name) for name in ("apps", "infra"))
    every = calendars(
        [timetable("a")._replace(targets=(apps,)), timetable("b")._replace(targets=(infra,))],
        Period(date(2027, 3, 8), 7),
    )
    assert draw(every[:1]).gates == "Kustomization flux/apps"
    assert draw(every).gates == ""
    [row] = draw(every).rows
    assert row.gated == (
        "a: gates Kustomization flux/apps",
        "b: gates Kustomization flux/infra",
    )
    assert draw(every[:1]).rows[0].gated == ("gates Kustomization flux/apps",)
    loaded = load(KubeObject.parse(spec(windows=DESCRIBED).encode()).node)
    policy, _ = loaded.for_cluster(None)
    assert policy is not None
    [row] = draw([described(every[0], policy.spec)]).rows
    assert row.descriptions == (("windows.office", "Somebody is <on> call"),)
    assert row.hover(row.facts[0]).endswith("(Europe/Berlin); Somebody is <on> call")
    page = html.render([described(every[0], policy.spec)])
    assert "Somebody is &lt;on&gt; call" in page


DESCRIBED = """
office: {opens: Mon 08:00, closes: Thu 17:00, description: Somebody is <on> call}
nights: {opens: Mon 22:00, closes: Tue 02:00}
"""


def test_hover_says_cluster_zone_and_instants() -> None:
    """Instants with their offset; the rims of the days are none."""
    [row] = drawn(timetable("plant-7"), start=date(2027, 3, 26), days=4).rows
    [first, *_] = [fact for fact in row.facts if fact.kind == "open"]
    assert row.hover(first) == (
        "plant-7: open Fri 2027-03-26 09:00 to Fri 2027-03-26 18:00 (9 h), by overrides.fix; "
        "2027-03-26T09:00:00+01:00 to 2027-03-26T18:00:00+01:00 (Europe/Berlin)"
    )
    [freeze] = [fact for fact in row.facts if fact.label == "easter"]
    # It begins with the first day and ends with the last one.
    whole = "2027-03-26T00:00:00+01:00 to 2027-03-30T00:00:00+02:00 (Europe/Berlin)"
    assert row.hover(freeze).endswith(f"; {whole}")
    [row] = drawn(timetable("plant-7"), start=date(2027, 3, 27), days=2).rows
    [freeze] = row.facts[:1]
    assert row.hover(freeze).endswith("; before to after (Europe/Berlin)")


def test_what_recurs_is_one_line_that_its_bars_lead_to() -> None:
    """A freeze in between stays a line of its own."""
    tens = zoned.timetable(
        policy="flux-system/tens", time_zone="UTC", windows=(EVERY_TEN,), overrides=(FIX,)
    )
    [row] = drawn(tens, start=date(2027, 3, 25), days=4).rows
    assert sum(line.run.count for line in row.lines) == len(row.facts)
    assert len(row.lines) < 8 < len(row.facts)
    lines = {line.number: line for line in row.lines}
    for number, fact in enumerate(row.facts):
        line = lines[row.line_of(number)]
        assert line.run.first.kind == fact.kind
        assert line.run.first.begins <= fact.begins <= line.run.last.begins


ZONES = ("Asia/Tokyo", "Europe/Berlin", "America/New_York", "Pacific/Auckland")


def in_zones(*zones: str, start: date = date(2027, 3, 8), days: int = 28) -> Picture:
    """The same rules in several zones."""
    return drawn(*(timetable(zone, zone) for zone in zones), start=start, days=days)


def test_in_several_zones_each_row_is_on_its_own_clock() -> None:
    """Monday 08:00 is below Monday 08:00, in the days that were asked for, weeks of clocks too."""
    picture = in_zones(*ZONES)
    assert [row.zone.key for row in picture.rows] == list(ZONES)
    assert picture.clocks == "Each row is in its own time zone."
    assert picture.days == "2027-03-08 to 2027-04-04"
    assert [band.days for band in bands(picture)] == [
        "Mon 2027-03-08 to Sun 2027-03-14",
        "Mon 2027-03-15 to Sun 2027-03-21",
        "Mon 2027-03-22 to Sun 2027-03-28",
        "Mon 2027-03-29 to Sun 2027-04-04",
    ]
    for band in bands(picture)[:3]:
        for row in picture.rows:
            own = picture.band_of(row, band)
            [(_, office)] = [(n, f) for n, f in row.within(own) if f.label == "office"]
            assert own.place(office.begins, office.ends) == pytest.approx((8 / 168, 81 / 168))
            # Days and weekends are those of the axis, and each row fills it.
            assert own.place(row.begins, row.ends) == pytest.approx((0, 1))


def test_a_week_is_quiet_if_it_is_on_every_clock() -> None:
    """A week in which a clock changes, or now is, in some row is drawn."""
    quiet = [timetable(zone, zone)._replace(windows=(), freezes=(), overrides=()) for zone in ZONES]
    period = Period(date(2027, 3, 1), 35)
    # The clocks of New York change on the 14th, of Berlin on the 28th, of Auckland on the 4th.
    drawn_weeks = [band.first.day for band in bands(draw(calendars(quiet, period)))]
    assert drawn_weeks == [8, 22, 29]
    # Sunday evening of New York is Monday in Auckland.
    now = datetime(2027, 3, 21, 23, tzinfo=UTC)
    with_now = draw(calendars(quiet, period), now)
    assert [band.first.day for band in bands(with_now)] == [8, 15, 22, 29]
    assert with_now.time_of_now == "Sun 2027-03-21 23:00 UTC"


def test_now_is_another_time_in_each_row() -> None:
    """A mark in each, where its own clock is."""
    every = calendars([timetable(zone, zone) for zone in ZONES], Period(date(2027, 3, 8), 7))
    now = datetime(2027, 3, 10, 12, tzinfo=UTC)
    picture = draw(every, now)
    [band] = bands(picture)
    hours = [24 * 7 * picture.band_of(row, band).left(now) for row in picture.rows]
    assert hours == pytest.approx([48 + 21, 48 + 13, 48 + 7, 48 + 25])
    page = html.render(every, now)
    assert page.count('<span class="line-of-now"') == len(ZONES)
    assert "front" not in page.partition("</style>")[2]


def test_a_repeated_hour_has_no_width() -> None:
    """A window that ends in it does not end before it begins, and a day is as wide as any other."""
    sunday = WEEK._replace(
        begins=Recurrence(minutes=frozenset({30}), hours=frozenset({2}), weekdays=frozenset({0})),
        ends=timedelta(minutes=45),
    )
    picture = draw(
        calendars(
            [timetable(zone, zone)._replace(windows=(sunday,)) for zone in ZONES[:2]],
            Period(date(2027, 10, 25), 7),
        )
    )
    [band] = bands(picture)
    for row in picture.rows:
        own = picture.band_of(row, band)
        places = [own.place(fact.begins, fact.ends) for fact in row.facts]
        assert all(place is not None and place[1] >= 0 for place in places)
        assert own.place(row.begins, row.ends) == pytest.approx((0, 1))


def test_an_hour_that_days_begin_at_has_its_date() -> None:
    """Where no midnight is near, the first tick says the day, once."""
    at = datetime(2027, 3, 13, 10, tzinfo=UTC)
    [band] = bands(draw(calendars([timetable(zone="UTC")], Period(at, 2))))
    assert [(tick.weekday, tick.label) for tick in band.ticks[:4]] == [
        ("Sat 13 Mar", "12:00"),
        ("", "18:00"),
        ("Sun", "14 Mar"),
        ("", "06:00"),
    ]


def test_the_rims_of_the_days_are_no_times() -> None:
    """What goes on beyond them has no beginning and no end in the table; a day is named once."""
    every = calendars([timetable()], Period(date(2027, 3, 9), 1))
    page = html.render(every)
    assert "<td>before these days</td>" in page
    assert "<td>after these days</td>" in page
    assert "2027-03-09 to" not in page
    assert draw(every).title == "flux-system/week, 2027-03-09"


MIDNIGHTS = WEEK._replace(
    begins=Recurrence(minutes=frozenset({0}), hours=frozenset({0}), weekdays=frozenset({1})),
    ends=Recurrence(minutes=frozenset({0}), hours=frozenset({0}), weekdays=frozenset({3})),
)


@pytest.mark.parametrize(
    ("first", "days", "edges"),
    [
        (date(2027, 4, 5), 2, ("Mon 2027-04-05 00:00", "Wed 2027-04-07 00:00")),
        (date(2027, 4, 5), 1, ("Mon 2027-04-05 00:00", "(after)")),
        (date(2027, 4, 6), 1, ("(before)", "Wed 2027-04-07 00:00")),
    ],
)
def test_what_begins_with_the_days_is_not_before_them(
    first: date, days: int, edges: tuple[str, str]
) -> None:
    """Nor after them what ends with them: it is asked whether it goes on."""
    rules = timetable()._replace(windows=(MIDNIGHTS,), freezes=(), overrides=())
    [line] = text.render(calendars([rules], Period(first, days))).splitlines()[-1:]
    assert (line[:22].rstrip(), line[22:44].rstrip()) == edges
    [row] = drawn(rules, start=first, days=days).rows
    assert (row.facts[0].goes_back, row.facts[0].goes_on) == (
        edges[0] == "(before)",
        edges[1] == "(after)",
    )


LONG = "a-window-with-a-name-that-is-as-long-as-names-may-be-in-kubernetes"


@pytest.mark.parametrize("width", [320, 400, 639, 640, 960, 2000])
def test_svg_is_as_wide_as_is_asked_for(width: int) -> None:
    """On a phone names are above the tracks; words are cut by a mark, and none is beyond the rim.

    The days are never cut.
    """
    long = WEEK._replace(key=LONG)
    target = Target("g", "r", "Kustomization", "flux-system", LONG)
    every = calendars(
        [
            timetable(zone, zone, f"flux-system/{LONG}")._replace(
                windows=(long,), targets=(target,)
            )
            for zone in ("Europe/Berlin", "America/Argentina/Buenos_Aires")
        ],
        Period(date(2027, 3, 8), 28),
    )
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
    assert beside == {12.0 if width < 640 else 200.0}


def test_labels_are_cut_with_a_mark() -> None:
    """A few letters say nothing."""
    assert [fitting("audit-of-everything", room) for room in (19, 10, 6, 5)] == [
        "audit-of-everything",
        "audit-of-…",
        "audit…",
        "",
    ]
    assert len(fitting("w" * 50, 30)) <= 20


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
    assert {row.hover(fact) for fact in row.facts if fact.kind != "freeze"} <= titles
    assert "<a> & b (Europe/Berlin)" in titles


EVERY_TEN = Rule(
    Kind.WINDOW, "tens", Recurrence(minutes=frozenset(range(0, 60, 10))), timedelta(minutes=5)
)


@pytest.mark.parametrize(
    ("days", "drawn_bars"),
    [(28, ["often"]), (1, ["open"] * 144)],
    ids=["too fine for a week", "seen one by one on a day"],
)
def test_windows_too_fine_to_see(days: int, drawn_bars: list[str]) -> None:
    """Many short windows are never one block of "open".

    A bar of its own kind stands for them, and says how many.
    """
    tens = zoned.timetable(policy="flux-system/tens", time_zone="UTC", windows=(EVERY_TEN,))
    picture = drawn(tens, days=days)
    [track] = tracks(picture, bands(picture)[0])
    facts = [bar.fact for bar in track.bars]
    assert [fact.kind for fact in facts] == drawn_bars
    if days > 1:
        assert facts[0].label == "tens, every 10 m, 1,008 times"
        assert facts[0].words.startswith(
            "opens every 10 m, 1,008 times, within 6 d 23 h 55 m, for 3 d 12 h in all, "
            "by windows.tens"
        )


def test_bars_keep_the_order_of_what_begins() -> None:
    """Whoever moves by keyboard meets everything in the order of time."""
    picture = drawn(timetable())
    [row] = picture.rows
    drawn_tracks = [track for band in bands(picture) for track in tracks(picture, band)]
    met = [[bar.number for bar in track.bars] for track in drawn_tracks]
    assert all(numbers == sorted(numbers) for numbers in met)
    assert {number for numbers in met for number in numbers} == set(range(len(row.facts)))
