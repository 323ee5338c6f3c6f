"""When something begins and ends: as fields that are picked, and as the moments of a policy.

What no field shows, such as a cron schedule, stays the text that it is. A text that means what was
picked is left alone, so that a form which is saved as it began changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import NamedTuple

from krm_windows.policy import moments
from krm_windows.policy.findings import RefusedError
from krm_windows.policy.moments import NAMED_DAYS, NTH_DAYS, WEEKDAYS, Moment, Role, Value
from krm_windows.schedule.recurrence import Recurrence

_DAY, _HOUR = timedelta(days=1), timedelta(hours=1)
WEEK = {WEEKDAYS[number][:3]: number for number in (1, 2, 3, 4, 5, 6, 0)}
"""The days as a week is read, by their names in a policy, with their numbers in cron."""
NTH = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}
DAYS = {**{WEEKDAYS[number]: name for name, number in WEEK.items()}, "day": "day"}
DAYS |= {"day from Monday to Friday": "workday"}
"""Of what a month has a first and a last, as a person calls it, with its word in a policy."""
FIELDS = (
    *("repeats", *WEEK, "nth", "nth-day", "date", "at", "begins"),
    *("ends-on", "until", "weekday", "end-date", "hours", "minutes", "ends"),
)
"""The names of the fields."""


class Span(NamedTuple):
    """The texts of a policy: a beginning, and an end or a duration."""

    begins: str = ""
    ends: str = ""
    duration: str = ""


NONE = Span()
"""Of what is not there yet."""


class Instead(NamedTuple):
    """What would do: a text of a field, by what a button calls it."""

    field: str
    text: str
    label: str


class Lack(NamedTuple):
    """What a field lacks, in a sentence."""

    field: str
    message: str
    instead: Instead | None = None


def picked(span: Span) -> dict[str, str]:
    """Return the fields that show a span."""
    begin = _value(span.begins, Role.BEGIN)
    first = dict.fromkeys(FIELDS, "") | {"nth": "first", "nth-day": "Mon", "weekday": "Mon"}
    return first | _beginning(span.begins, begin) | _ending(span, begin)


def written(fields: Mapping[str, str], was: Span = NONE) -> tuple[Span, list[Lack]]:
    """Return the span that was picked, in the words that it `was` in, and what it lacks."""
    span, lacks = _read(fields)
    shown, _ = _read(picked(was))
    if was.begins and span == shown:
        return was, []
    # Its end may be shown in another way than it is written, which holds for that beginning alone.
    if was.begins and span.begins == shown.begins:
        span = span._replace(begins=was.begins)
    return span, lacks


def _read(fields: Mapping[str, str]) -> tuple[Span, list[Lack]]:
    found = _Fields(fields)
    begins = _BEGINNINGS.get(fields["repeats"], _Fields.typed_beginning)(found)
    ends, duration = _ENDINGS.get(fields["ends-on"], _Fields.typed_end)(found)
    return Span(begins, ends, duration), found.lacks


def _value(text: str, role: Role) -> Value | None:
    """Return what a moment means that fields may show; None of any other."""
    try:
        moment: Moment[Value] = moments.parse(text, role)
    except RefusedError:
        return None
    # What is written as a schedule is kept as one, for its CronJob, too.
    return None if moments.is_cron(moment) else moment.value


def _beginning(text: str, value: Value | None) -> dict[str, str]:
    if not text:
        return {"repeats": "week"}
    if isinstance(value, datetime) and value.tzinfo is None:
        at = f"{value:%H:%M}" if "T" in text else ""
        return {"repeats": "once", "date": f"{value:%Y-%m-%d}", "at": at}
    if isinstance(value, Recurrence) and value.is_weekly:
        boxes = {name: "yes" for name, number in WEEK.items() if number in value.weekdays}
        return {"repeats": "week", "at": f"{_time(value):%H:%M}", **boxes}
    if isinstance(value, Recurrence) and value.nth in NTH.values() and not value.shift:
        [nth] = [name for name, number in NTH.items() if number == value.nth]
        [day] = [name for name in DAYS.values() if NTH_DAYS[name.lower()] == value.weekdays]
        return {"repeats": "month", "at": f"{_time(value):%H:%M}", "nth": nth, "nth-day": day}
    return {"repeats": "other", "begins": text}


def _ending(span: Span, begin: Value | None) -> dict[str, str]:
    if not span.ends:
        return _length(span.duration) if span.duration else {"ends-on": "same"}
    value = _value(span.ends, Role.END)
    if isinstance(value, datetime) and value.tzinfo is None:
        if "T" in span.ends:
            return {"ends-on": "date", "end-date": f"{value:%Y-%m-%d}", "until": f"{value:%H:%M}"}
        # A date includes its day.
        return {"ends-on": "date", "end-date": f"{value - _DAY:%Y-%m-%d}"}
    kind = _kind(begin, value)
    if kind and not isinstance(value, datetime):
        return {"ends-on": kind, "until": f"{_time(value):%H:%M}"}
    if isinstance(value, Recurrence) and value.is_weekly and len(value.weekdays) == 1:
        [day] = [name for name, number in WEEK.items() if number in value.weekdays]
        return {"ends-on": "day", "weekday": day, "until": f"{_time(value):%H:%M}"}
    return {"ends-on": "other", "ends": span.ends}


def _kind(begin: Value | None, end: Value | None) -> str:
    """Say whether something ends on the same day, or the next; empty where on another."""
    if begin is None or end is None or (isinstance(begin, datetime) and begin.tzinfo):
        return ""
    is_later = _time(begin) < _time(end)
    if isinstance(end, time):
        return "same" if is_later else "next"
    if not (isinstance(begin, Recurrence) and isinstance(end, Recurrence)):
        return ""
    # But for the time, the same days.
    if is_later and end._replace(hours=begin.hours, minutes=begin.minutes) == begin:
        return "same"
    following = frozenset((day + 1) % 7 for day in begin.weekdays)
    both_weekly = begin.is_weekly and end.is_weekly
    return "next" if both_weekly and not is_later and end.weekdays == following else ""


def _length(text: str) -> dict[str, str]:
    try:
        hours, rest = divmod(moments.duration(text), _HOUR)
    except RefusedError:
        return {"ends-on": "after"}
    minutes = rest // timedelta(minutes=1)
    return {"ends-on": "after", "hours": str(hours), "minutes": str(minutes or "")}


def _time(value: Value | None) -> time:
    """Return the time of day of what is no schedule, and so has one."""
    if isinstance(value, Recurrence):
        return time(min(value.hours), min(value.minutes))
    return value.time() if isinstance(value, datetime) else value or time()


def _days(numbers: frozenset[int]) -> str:
    """Write days as a policy has them: `weekdays`, `Mon-Thu`, `Tue,Thu`."""
    for name, meant in NAMED_DAYS.items():
        if meant == numbers:
            return name
    places = [place for place, number in enumerate(WEEK.values()) if number in numbers]
    names = [list(WEEK)[place] for place in places]
    if len(names) > 2 and places[-1] - places[0] == len(names) - 1:  # noqa: PLR2004 - a range
        return f"{names[0]}-{names[-1]}"
    return ",".join(names)


@dataclass
class _Fields:
    """What was picked, read into the moments of a policy; `lacks` says what keeps it from that."""

    texts: Mapping[str, str]
    lacks: list[Lack] = field(default_factory=list)

    def each_week(self) -> str:
        """Read the boxes of a week."""
        days = frozenset(number for name, number in WEEK.items() if self.texts[name])
        if not days:
            self.lacks.append(Lack("days", "Choose at least one day."))
        return f"{_days(days)} {self.time('at')}"

    def each_month(self) -> str:
        """Read the nth day of a month."""
        return f"{self.texts['nth']} {self.texts['nth-day']} {self.time('at')}"

    def once(self) -> str:
        """Read a date; without a time it is the beginning of that day."""
        return self.day("date", "at")

    def typed_beginning(self) -> str:
        """Read what is written as in a policy."""
        return self.needed("begins", "Write it as in the example.")

    def same_day(self) -> tuple[str, str]:
        """Read a time that is later than that of the beginning."""
        until = self.time("until")
        if self.at and until and until <= self.at:
            message = "The end must be after the beginning: choose a later time, or the next day."
            instead = Instead("ends-on", "next", "The next day")
            self.lacks.append(Lack("until", message, instead))
        return until, ""

    def next_day(self) -> tuple[str, str]:
        """Read a time of the day after the beginning."""
        until = self.time("until")
        if not (self.at and until > self.at):
            return until, ""
        # A time of day would be that of the first day.
        begins, ends = (datetime.fromisoformat(f"2001-01-01T{each}") for each in (self.at, until))
        return "", _duration(_DAY + (ends - begins))

    def on_weekday(self) -> tuple[str, str]:
        """Read a day of the week."""
        return f"{self.texts['weekday']} {self.time('until')}", ""

    def on_date(self) -> tuple[str, str]:
        """Read a date; without a time it is the end of that day."""
        return self.day("end-date", "until"), ""

    def after(self) -> tuple[str, str]:
        """Read hours and minutes."""
        try:
            hours, minutes = (int(self.texts[name] or 0) for name in ("hours", "minutes"))
            length = timedelta(hours=hours, minutes=minutes)
        except (ValueError, OverflowError):
            length = timedelta()
        if not timedelta() < length <= moments.LONGEST:
            self.lacks.append(Lack("hours", "Say for how long, up to 366 days."))
        return "", _duration(length)

    def typed_end(self) -> tuple[str, str]:
        """Read what is written as in a policy."""
        return self.needed("ends", "Write it as in the example."), ""

    def needed(self, name: str, message: str) -> str:
        """Return a text, and say where there is none."""
        if not self.texts[name]:
            self.lacks.append(Lack(name, message))
        return self.texts[name]

    def day(self, name: str, time: str) -> str:
        """Return a date, with a time if one is picked."""
        day = self.needed(name, "Choose a date.")
        return f"{day}T{self.time(time)}" if self.texts[time] else day

    def time(self, name: str) -> str:
        """Return a time of day, and say where it is none."""
        found = _clock(self.texts[name])
        if not found:
            self.lacks.append(Lack(name, "Choose a time, such as 08:00."))
        return found

    @property
    def at(self) -> str:
        """The time of the beginning, empty where none is picked."""
        repeats, at = self.texts["repeats"], self.texts["at"]
        if repeats == "once" and not at:
            return "00:00"
        return _clock(at) if repeats in _BEGINNINGS else ""


def _clock(text: str) -> str:
    """Return a time of day as `08:00`; empty where it is none."""
    try:
        # Where a browser has no field for times, somebody may type `8:00`.
        return f"{time.fromisoformat(text.zfill(5)):%H:%M}"
    except ValueError:
        return ""


def _duration(length: timedelta) -> str:
    hours, rest = divmod(length, _HOUR)
    minutes = rest // timedelta(minutes=1)
    return f"{hours}h{minutes}m" if hours and minutes else f"{hours}h" if hours else f"{minutes}m"


_BEGINNINGS = {"week": _Fields.each_week, "month": _Fields.each_month, "once": _Fields.once}
_ENDINGS = {
    "same": _Fields.same_day,
    "next": _Fields.next_day,
    "day": _Fields.on_weekday,
    "date": _Fields.on_date,
    "after": _Fields.after,
}
