"""An independent answer to when a policy is open, read off the design and off nothing else.

It shares the timetable's classes with the evaluator and no line of its reasoning: it writes down
what the wall clock shows at every single minute, paints every occurrence of many years onto the
wall clock's minutes, and looks up the one in the other. Minutes are numbered from `EPOCH` on, the
UTC ones and those of the wall clock alike.
"""

import calendar
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate
from zoneinfo import ZoneInfo

from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Rule, Timetable

EPOCH = datetime(2001, 1, 1)
MINUTE = timedelta(minutes=1)
HOUR, DAY = 60, 1440
DAYS = 40 * 366
LAST = DAYS * DAY
# No clock of these years was turned back by more than three hours, so two days say what it has
# shown before.
LEAD = 2 * DAY


def minute(moment: datetime) -> int:
    """Number a moment by its own clock, or an aware one in UTC."""
    naive = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    return (naive - EPOCH) // MINUTE


def utc(number: int) -> datetime:
    return (EPOCH + number * MINUTE).replace(tzinfo=UTC)


@cache
def zone(name: str) -> ZoneInfo:
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, name)


def offset(tz: ZoneInfo, at: int) -> int:
    now = EPOCH + at * MINUTE
    return (tz.fromutc(now.replace(tzinfo=tz)).replace(tzinfo=None, fold=0) - now) // MINUTE


@dataclass(frozen=True)
class Walk:
    start: int
    shown: list[int]


@lru_cache(maxsize=12)
def walk(name: str, start: int, count: int) -> Walk:
    """Look at the clock at each of `count` minutes; it never shows less than it has shown."""
    tz, begin = zone(name), start - LEAD
    local: list[int] = []
    for hour in range(begin, start + count, HOUR):
        ahead = offset(tz, hour)
        if offset(tz, hour + HOUR) == ahead:
            local.extend(range(hour + ahead, hour + HOUR + ahead))
        else:
            local.extend(each + offset(tz, each) for each in range(hour, hour + HOUR))
    return Walk(start, list(accumulate(local, max))[LEAD : LEAD + count])


def names(recurrence: Recurrence, day: date) -> bool:
    day -= timedelta(days=recurrence.shift)
    on_day, on_weekday = day.day in recurrence.days, (day.weekday() + 1) % 7 in recurrence.weekdays
    if recurrence.nth is not None:
        month = calendar.Calendar().itermonthdays2(day.year, day.month)
        alike = [at for at, weekday in month if at and (weekday + 1) % 7 in recurrence.weekdays]
        if recurrence.nth < 0:
            alike.reverse()
        on_weekday = day.day in alike[abs(recurrence.nth) - 1 : abs(recurrence.nth)]
    return day.month in recurrence.months and (
        on_day or on_weekday if recurrence.either else on_day and on_weekday
    )


@lru_cache(maxsize=8)
def moments(recurrence: Recurrence) -> list[int]:
    times = sorted(
        hour * HOUR + minute for hour in recurrence.hours for minute in recurrence.minutes
    )
    days = (EPOCH.date() + timedelta(days=number) for number in range(DAYS))
    return [
        number * DAY + at
        for number, day in enumerate(days)
        if names(recurrence, day)
        for at in times
    ]


def first_after(recurrence: Recurrence, wall: int) -> int:
    """Find the first moment after a minute of the wall clock; the horizon where there is none."""
    every = moments(recurrence)
    found = bisect_right(every, wall)
    return every[found] if found < len(every) else LAST


@lru_cache(maxsize=6)
def painted(rule: Rule) -> bytes:
    assert isinstance(rule.begins, Recurrence)
    paint, done = bytearray(LAST), 0
    for begin in moments(rule.begins):
        end = min(LAST, _recurring_end(rule, begin))
        if end > done:
            paint[max(begin, done) : end] = bytes([1]) * (end - max(begin, done))
            done = end
    return bytes(paint)


def _recurring_end(rule: Rule, begin: int) -> int:
    match rule.ends:
        case Recurrence():
            return first_after(rule.ends, begin)
        case timedelta():
            return begin + rule.ends // MINUTE
        case time():
            same_day = begin - begin % DAY + rule.ends.hour * HOUR + rule.ends.minute
            return same_day if same_day > begin else same_day + DAY
    raise AssertionError(rule)


def active(rule: Rule, way: Walk, name: str) -> int:
    if isinstance(rule.begins, Recurrence):
        return _packed(map(painted(rule).__getitem__, way.shown))
    begun = [True] * len(way.shown) if rule.begins is None else _reached(rule.begins, way)
    ended = _reached(_single_end(rule, name), way)
    return _packed(on and not off for on, off in zip(begun, ended, strict=True))


def _packed(states: Iterable[int]) -> int:
    return int.from_bytes(bytes(states), "little")


def _reached(moment: datetime, way: Walk) -> list[bool]:
    """Say whether a moment has come: on the wall clock, or as an instant."""
    clock = range(way.start, way.start + len(way.shown)) if moment.tzinfo else way.shown
    at = minute(moment)
    return [now >= at for now in clock]


def _single_end(rule: Rule, name: str) -> datetime:
    begin, end = rule.begins, rule.ends
    assert not isinstance(begin, Recurrence)
    if isinstance(end, datetime):
        return end
    assert begin is not None
    if isinstance(end, timedelta):
        return begin + end
    shown = walk(name, minute(begin), 1).shown[0] if begin.tzinfo else minute(begin)
    found = first_after(end, shown) if isinstance(end, Recurrence) else _recurring_end(rule, shown)
    return EPOCH + found * MINUTE


def by_rules(timetable: Timetable, way: Walk) -> int:
    """Say when the rules open, minute by minute: the later in the list wins."""
    every = _packed([1] * len(way.shown))
    if timetable.state != "Scheduled":
        return every if timetable.state == "Open" else 0
    opened = every if timetable.outside_windows == "Open" else 0
    for rules, opens in layers(timetable):
        for rule in rules:
            now = active(rule, way, timetable.time_zone)
            opened = opened | now if opens else opened & ~now
    return opened


def layers(timetable: Timetable) -> list[tuple[list[Rule], bool]]:
    """Order the rules from the weakest to the strongest, and say which of them open."""
    opening, closing = (
        [each for each in timetable.overrides if each.state == state]
        for state in ("Open", "Closed")
    )
    return [
        (list(timetable.windows), True),
        (list(timetable.freezes), False),
        (opening, True),
        (closing, False),
    ]


def states(timetable: Timetable, start: int, count: int) -> bytes:
    """Say for each UTC minute whether the policy is open: 1, or 0."""
    ahead = timetable.closes_early // MINUTE + 1
    way = walk(timetable.time_zone, start, count + ahead)
    opened = by_rules(timetable, way).to_bytes(count + ahead, "little")
    if ahead == 1 or timetable.state == "Open":
        return opened[:count]
    only = Timetable(policy="", time_zone=timetable.time_zone, overrides=timetable.overrides)
    overridden = by_rules(only, way).to_bytes(count + ahead, "little")
    return bytes(overridden[at] or opened.find(0, at, at + ahead) < 0 for at in range(count))
