"""The grammar of moments: `opens`, `closes`, `starts` and `ends`, distinguished by shape.

Each shape has one pattern and one reader. A text that has no shape, or one that its field does not
take, is refused with what must hold.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from krm_windows import rules
from krm_windows.policy import schedules
from krm_windows.policy.findings import Finding, RefusedError
from krm_windows.rules import Rule
from krm_windows.schedule.recurrence import EVERY_WEEKDAY, Recurrence

Value = Recurrence | datetime | time
V_co = TypeVar("V_co", bound=Value, covariant=True)


class Role(Enum):
    """What a field takes: a beginning or an end that may recur, or one of a single occurrence."""

    BEGIN = 'a moment such as "Mon 08:00" or "0 8 * * MON"'
    END = 'a moment such as "Thu 17:00", "17:00" or "0 17 * * THU"'
    ONCE = 'a date, or a date and time such as "2026-12-22T09:00"'
    ONCE_END = 'a date, a date and time such as "2026-12-22T12:00", or a time such as "12:00"'
    DEADLINE = 'a date, or a date and time such as "2026-12-31T12:00"'

    @property
    def recurs(self) -> bool:
        """Whether a recurring moment may be here."""
        return self in (Role.BEGIN, Role.END)

    @property
    def ends(self) -> bool:
        """Whether a date stands for its end, and `24:00` may be written."""
        return self not in (Role.BEGIN, Role.ONCE)

    @property
    def takes_time(self) -> bool:
        """Whether a time of day, relative to a beginning, may be here."""
        return self in (Role.END, Role.ONCE_END)


class Moment(NamedTuple, Generic[V_co]):
    """A moment as it was written, and what it means to the gate."""

    text: str
    value: V_co


WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_COUNTED = {"1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5}
_SPELLED = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}


def _from_end(names: dict[str, int]) -> dict[str, int]:
    return {f"{name} last": -number for name, number in names.items() if number > 1}


ORDINALS = _COUNTED | {"last": -1} | _from_end(_COUNTED)
_ORDINALS = ORDINALS | _SPELLED | _from_end(_SPELLED)
# `monday` and `mon`, as cron counts them: Sunday is 0.
_NUMBERS = {name.lower(): i for i, name in enumerate(WEEKDAYS)}
_NUMBERS |= {name[:3]: i for name, i in _NUMBERS.items()}
NAMED_DAYS = {
    "daily": EVERY_WEEKDAY,
    "every day": EVERY_WEEKDAY,
    "weekdays": frozenset(range(1, 6)),
    "weekends": frozenset({0, 6}),
}
"""Words for several days of a week: weekdays are Monday to Friday."""
NTH_DAYS = {
    **{name: frozenset({number}) for name, number in _NUMBERS.items()},
    "day": EVERY_WEEKDAY,
    "workday": NAMED_DAYS["weekdays"],
}
"""Of what an nth one is meant; no holiday makes a Monday to Friday less of a workday."""
# No window is meant that long ago or ahead: another year is a typo.
_YEARS = range(1970, 3000)
LONGEST = timedelta(days=366)
"""No duration is longer."""
_ONE_OFF = "must be {}: it must not recur"

# Shapes are put together of these.
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})"
_DATE = r"(?P<date>\d{4}-\d{2}-\d{2})"
_DURATION = re.compile(
    r"(?=\d)(?:(?P<days>\d{1,4})d)?(?:(?P<hours>\d{1,5})h)?(?:(?P<minutes>\d{1,7})m)?", re.ASCII
)
# `09:00:00`, with an offset or not: what a timestamp of YAML 1.1 looks like when it comes back.
_SECONDS = re.compile(r".*?\d:\d{2}:\d{2}(?:\.\d+)?(?: ?(?:Z|[+-]\d{2}:?\d{2}))?", re.ASCII)
_MIDNIGHT = re.compile(rf"{_DATE}T00:00:00Z", re.ASCII)
_BLANK = re.compile(rf"{_DATE}\s+\S.*", re.ASCII)


def parse(text: str, role: Role) -> Moment[Value]:
    """Read a moment; raises `RefusedError` with the rule that it breaks."""
    # What kustomize makes of a date without quotes (a timestamp of YAML 1.1).
    shorter = text
    if _MIDNIGHT.fullmatch(text):
        shorter = text.removesuffix("T00:00:00Z")
    # A schedule that is wrong is refused as one.
    if schedules.looks_like_one(shorter):
        return Moment(text, _schedule(text, role))
    _check_spelling(shorter)
    words = TIME_FIRST.sub(r"\2 \1", " ".join(shorter.split()))
    for pattern, read in SHAPES:
        found = pattern.fullmatch(words)
        if found:
            try:
                return Moment(shorter, read(found, role))
            except KeyError:  # a word that is no day's
                break
    raise _refusal(rules.MOMENT_SYNTAX, f"must be {role.value}", text)


def duration(text: str) -> timedelta:
    """Read a duration in whole minutes, none included; raises `RefusedError`."""
    found = _DURATION.fullmatch(text)
    lengths = (
        {unit: int(number or 0) for unit, number in found.groupdict().items()} if found else {}
    )
    if not lengths or timedelta(**lengths) > LONGEST:
        must = 'must be a duration such as "90m", "4h", "1h30m" or "2d", at most 366 days'
        raise _refusal(rules.DURATION_SYNTAX, must, text)
    return timedelta(**lengths)


def is_cron(moment: Moment[Value]) -> bool:
    """Whether a moment is written as a cron schedule."""
    return isinstance(moment.value, Recurrence) and schedules.looks_like_one(moment.text)


def _refusal(rule: Rule, must: str, text: str) -> RefusedError:
    return RefusedError(Finding(rule, must, text))


def _check_spelling(text: str) -> None:
    """Refuse seconds and blanks in front of a time.

    They are signs of a date that was not quoted, and so was changed on its way here.
    """
    if _SECONDS.fullmatch(text):
        must = "must have no seconds, and quotes in YAML (Z or an offset only for an instant)"
        raise _refusal(rules.MOMENT_SECONDS, must, text)
    if _BLANK.fullmatch(text):
        must = "must have a T, not a space, between the date and the time"
        raise _refusal(rules.MOMENT_BLANK, must, text)


def _date(found: re.Match[str], role: Role) -> datetime:
    """Read a date: its begin, or as an end the begin of the day behind it."""
    day = datetime.combine(_day(found), time())
    if role.ends:
        # Included: what ends on a date lasts until the next day begins.
        return day + timedelta(days=1)
    return day


def _day(found: re.Match[str]) -> date:
    text = found.string
    try:
        day = date.fromisoformat(found["date"])
    except ValueError as error:
        raise _refusal(rules.MOMENT_SYNTAX, "must be a valid date", text) from error
    if day.year not in _YEARS:
        must = f"must be between {_YEARS[0]} and {_YEARS[-1]}"
        raise _refusal(rules.MOMENT_SYNTAX, must, text)
    return day


def _date_time(found: re.Match[str], role: Role) -> datetime:
    """Read a date and time: naive on the wall clock, aware in UTC where it has an offset."""
    at = datetime.combine(_day(found), time()) + _since_midnight(found, role)
    if not found["offset"]:
        return at
    zone = datetime.fromisoformat(f"2000-01-01T00:00{found['offset']}").tzinfo
    return at.replace(tzinfo=zone).astimezone(UTC)


def _since_midnight(found: re.Match[str], role: Role) -> timedelta:
    """Return the time of day as wall-clock minutes.

    One day for `24:00`, which only an end may be.
    """
    hour = int(found["hour"])
    minute = int(found["minute"])
    if (hour, minute) == (24, 0):
        if role.ends:
            return timedelta(days=1)
        must = "must be 00:00 of the next day, because 24:00 is allowed only as an end"
        raise _refusal(rules.MOMENT_ROLE, must, found.string)
    # The clock's own bounds.
    if hour > 23 or minute > 59:  # noqa: PLR2004
        must = "must have a time from 00:00 to 23:59 (24:00 only as an end)"
        raise _refusal(rules.MOMENT_SYNTAX, must, found.string)
    return timedelta(hours=hour, minutes=minute)


def _time_of_day(found: re.Match[str], role: Role) -> time:
    if not role.takes_time:
        must = f"must be {role.value}: a time without a day is allowed only as an end"
        raise _refusal(rules.MOMENT_ROLE, must, found.string)
    since = _since_midnight(found, role)
    # A whole day, `24:00`, is 0 seconds of a day: the end at midnight.
    return time(*divmod(since.seconds // 60, 60))


def _schedule(text: str, role: Role) -> Recurrence:
    if not role.recurs:
        raise _refusal(rules.MOMENT_ROLE, _ONE_OFF.format(role.value), text)
    return schedules.parse(text)


def _recurring(found: re.Match[str], role: Role) -> tuple[frozenset[int], frozenset[int], int]:
    """Return minutes, hours and whole days to shift of a shape that recurs."""
    if not role.recurs:
        raise _refusal(rules.MOMENT_ROLE, _ONE_OFF.format(role.value), found.string)
    since = _since_midnight(found, role)
    # 24:00 is 00:00 of the following day: `Fri 24:00` is `Sat 00:00`.
    hours, minutes = divmod(since.seconds // 60, 60)
    return frozenset({minutes}), frozenset({hours}), since.days


def _nth(found: re.Match[str], role: Role) -> Recurrence:
    weekdays = NTH_DAYS[found["day"].lower()]
    nth = _ORDINALS[found["nth"].lower()]
    minutes, hours, shift = _recurring(found, role)
    # `2nd Tue +4d 22:00`: so many days after the second Tuesday.
    days = int(found["shift"] or 0)
    # More would pass the next month's own.
    if days > 27:  # noqa: PLR2004
        raise _refusal(rules.MOMENT_SYNTAX, "must be shifted by 0 to 27 days", found.string)
    return Recurrence(minutes, hours, weekdays=weekdays, nth=nth, shift=days + shift)


def _weekdays(found: re.Match[str], role: Role) -> Recurrence:
    days = found["days"].lower()
    named = set(NAMED_DAYS.get(days, ()))
    for item in [] if named else days.split(","):
        named |= _days(item, found.string)
    minutes, hours, shift = _recurring(found, role)
    # An end at 24:00 falls on the days that follow those named.
    shifted = frozenset((day + shift) % 7 for day in named)
    return Recurrence(minutes, hours, weekdays=shifted)


def _days(item: str, text: str) -> frozenset[int]:
    """Return the weekdays of one item; a range may go on over the weekend: `Fri-Mon`."""
    first, dash, last = item.partition("-")
    begin = _NUMBERS[first]
    if not dash:
        return frozenset({begin})
    length = (_NUMBERS[last] - begin) % 7
    if length == 0:
        raise _refusal(rules.MOMENT_SYNTAX, "must have ranges between two different days", text)
    return frozenset((begin + i) % 7 for i in range(length + 1))


# No zone is further from UTC than 14 hours.
_OFFSET = r"(?P<offset>Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))?"
_Reader = Callable[[re.Match[str], Role], Recurrence | datetime | time]
_EVERY = "[Ee][Vv][Ee][Rr][Yy]"
_DAYS = f"(?P<days>[A-Za-z,-]+|{_EVERY} [A-Za-z]+)"
_NTH = rf"(?P<nth>(?!{_EVERY} )\w+(?: \w+)?) (?P<day>\w+)(?: \+(?P<shift>\d{{1,2}})d)?"
TIME_FIRST = re.compile(r"^(\d{1,2}:\d{2}) (.+)", re.ASCII)
"""The one other order of a shape's parts: `08:00 Mon` is read as `Mon 08:00`."""

# Each way to write a moment; they exclude each other, so that their order does not matter.
SHAPES: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    (re.compile(f"{_DAYS} {_TIME}", re.ASCII), _weekdays),
    (re.compile(f"{_NTH} {_TIME}", re.ASCII), _nth),
    (re.compile(_DATE, re.ASCII), _date),
    (re.compile(f"{_DATE}T{_TIME}{_OFFSET}", re.ASCII), _date_time),
    (re.compile(_TIME, re.ASCII), _time_of_day),
)
