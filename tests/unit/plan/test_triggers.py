"""Every edge of a timetable has a schedule that fires at it, and words that say what it is for."""

from datetime import UTC, datetime, time, timedelta

import zoned

from krm_windows.plan.triggers import Edge, Trigger, Wording, triggers
from krm_windows.policy.model import CronJobNames
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
QUARTER = timedelta(minutes=15)
MONDAY = Recurrence(frozenset({0}), frozenset({8}), weekdays=frozenset({1}))
THURSDAY = Recurrence(frozenset({0}), frozenset({17}), weekdays=frozenset({4}))


def triggers_of(
    wording: Wording = Wording(),  # noqa: B008 - frozen
    interval: timedelta = QUARTER,
    **fields: object,
) -> dict[str, Trigger]:
    timetable = zoned.timetable(policy="flux-system/week", time_zone="Europe/Berlin", **fields)
    return {trigger.slug: trigger for trigger in triggers(timetable, wording, interval)}


def test_a_fleet_does_not_look_in_one_minute() -> None:
    assert len({triggers_of(cluster=f"edge-{n}")["resync"].schedule for n in range(40)}) == 15


def test_the_look_in_words() -> None:
    for minutes, often in ((1, "every minute"), (15, "every 15 minutes"), (1440, "every day")):
        look = triggers_of(interval=timedelta(minutes=minutes))["resync"]
        assert look.words == f"runs {often}"


def test_a_schedule_stays_as_its_author_wrote_it() -> None:
    window = (Rule(Kind.WINDOW, "w", MONDAY, THURSDAY),)
    wording = Wording(
        schedules={("windows.w", "opens"): "0 8 * * MON", ("windows.w", "closes"): "0 17 * * THU"}
    )
    found = triggers_of(wording, windows=window)
    assert (found["open-w"].schedule, found["close-w"].schedule) == ("0 8 * * MON", "0 17 * * THU")
    early = triggers_of(wording, windows=window, closes_early=QUARTER)
    assert (early["open-w"].schedule, early["close-w"].schedule) == ("0 8 * * MON", "45 16 * * 4")


ALWAYS = Rule(Kind.WINDOW, "always", Recurrence(frozenset({0}), frozenset({0})), DAY)


def test_thirty_holidays_are_two_cron_jobs() -> None:
    """One for winter's midnight and one for summer's."""
    days = [datetime(2027, 1, 1) + n * 10 * DAY for n in range(30)]
    freezes = (Rule(Kind.FREEZE, f"f{n}", day, day + DAY, "r") for n, day in enumerate(days))
    found = triggers_of(windows=(ALWAYS,), freezes=tuple(freezes))
    edges = {slug: each.schedule for slug, each in found.items() if each.edge is Edge.EITHER}
    assert edges == {"edge-utc-22": "0 22,23 * * *"}


def test_an_instant_is_met_on_its_weekday() -> None:
    """It has no wall clock of its own, so its CronJob has none that could change."""
    begins = datetime(2027, 7, 1, 8, 30, tzinfo=UTC)  # a Thursday
    freeze = Rule(Kind.FREEZE, "f", begins, 2 * HOUR, "r")
    found = triggers_of(windows=(ALWAYS,), freezes=(freeze,))
    edges = [each.schedule for each in found.values() if each.edge is Edge.EITHER]
    assert edges == ["30 8,10 * * 4"]


def test_equal_schedules_are_one_cron_job() -> None:
    """Edges are met in UTC, too, whatever the controller knows of the zone."""
    windows = tuple(Rule(Kind.WINDOW, name, MONDAY, THURSDAY) for name in ("b", "a"))
    found = triggers_of(windows=windows)
    assert set(found) == {"open-a", "close-a", "edge-utc-06", "edge-utc-15", "resync"}
    assert found["open-a"].words == "opens a; opens b"
    assert found["edge-utc-06"].schedule == "0 6,7 * * 1"
    assert found["edge-utc-15"].schedule == "0 15,16 * * 4"
    assert found["edge-utc-15"].time_zone == "Etc/UTC"


def test_given_names_are_always_there() -> None:
    windows = tuple(Rule(Kind.WINDOW, name, MONDAY, THURSDAY) for name in ("a", "b", "c"))
    wording = Wording(
        given={"windows.b": CronJobNames(open="first"), "windows.c": CronJobNames(open="second")}
    )
    found = triggers(zoned.timetable("p/q", "Etc/UTC", windows=windows), wording, QUARTER)
    assert [each.given for each in found if each.schedule == "0 8 * * 1"] == ["first", "second"]
    assert [each.slug for each in found if each.schedule == "0 17 * * 4"] == ["close-a"]


def test_what_the_clock_skips_is_met_when_it_does() -> None:
    """Half past two on the Sunday in March is three."""
    saturday = Recurrence(frozenset({0}), frozenset({20}), weekdays=frozenset({6}))
    window = (Rule(Kind.WINDOW, "w", saturday, time(2, 30)),)
    found = triggers_of(windows=window, interval=timedelta(days=1))
    edges = " ".join(each.schedule for each in found.values() if each.edge is Edge.EITHER)
    assert "0 1 * * 0" in edges
    early = triggers_of(windows=window, closes_early=QUARTER)
    edges = " ".join(each.schedule for each in early.values() if each.edge is Edge.EITHER)
    assert "15,45 0,1 * * 0" in edges


def test_there_is_one_for_each_hour_at_most() -> None:
    dates = [datetime(2027, 1, 1) + n * (DAY + timedelta(minutes=7)) for n in range(90)]
    freezes = tuple(
        Rule(Kind.FREEZE, f"f{n}", day, day + 2 * HOUR, "r") for n, day in enumerate(dates)
    )
    found = triggers_of(freezes=freezes, windows=(ALWAYS,))
    assert sum(slug.startswith("edge-utc-") for slug in found) <= 24


def test_a_look_every_minute_needs_no_other() -> None:
    window = (Rule(Kind.WINDOW, "w", MONDAY, THURSDAY),)
    own = {"open-w", "close-w", "resync"}
    assert set(triggers_of(windows=window, interval=timedelta(minutes=1))) == own
    in_utc = triggers(zoned.timetable("p/q", "Etc/UTC", windows=window), Wording(), QUARTER)
    assert {trigger.slug for trigger in in_utc} == own
