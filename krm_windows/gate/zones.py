"""The clocks of a time zone, by the rules that travel in the timetable.

No zone data of the image decides (docs/decisions/0022-the-zone-rules-travel-with-the-policy.md).
"""

import re
from bisect import bisect_right
from calendar import isleap, monthrange
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta, tzinfo
from functools import cache, lru_cache
from typing import NamedTuple

_DAY = timedelta(days=1)
_JANUARY_AND_FEBRUARY = 59
_MOMENT = "%Y-%m-%dT%H:%MZ"
_HOUR = timedelta(hours=1)
_OFFSET = re.compile(r"[+-]\d\d:\d\d(:\d\d)?")
# POSIX.1-2017, "TZ", with the wider hours of RFC 9636, section 3.3.1:
# std offset [dst [offset] , start , end].
_NAME = r"<[+-]?\w+>|[A-Za-z]+"
_TIME = r"[+-]?\d+(?::\d+){0,2}"
_DATE = re.compile(
    r"(M(?P<month>\d+)\.(?P<week>\d)\.(?P<weekday>\d)|(?P<julian>J?)(?P<number>\d+))"
    rf"(/(?P<time>{_TIME}))?"
)
_POSIX = re.compile(
    rf"(?P<standard>{_NAME})(?P<offset>{_TIME})"
    rf"((?P<summer>{_NAME})(?P<summer_offset>{_TIME})?,(?P<begins>[^,]+),(?P<ends>[^,]+))?"
)
_TWO_O_CLOCK = "2"  # when nothing is said
_UNITS = ("hours", "minutes", "seconds")


class ZoneRules(NamedTuple):
    """The rules of one zone, as the timetable has them.

    They are taken from the tzdata of a `release` such as `2026f`.

    `transitions` are such as `2027-03-28T01:00Z +02:00 CEST`: an instant, and what clocks show from
    then on. `before` the first one they show that, without an instant. After the last one the POSIX
    `rule` applies.
    """

    release: str
    before: str
    transitions: tuple[str, ...]
    rule: str


class Clock(NamedTuple):
    """What clocks show: so much ahead of UTC, under this abbreviation."""

    offset: timedelta
    name: str

    @classmethod
    def parse(cls, text: str) -> "Clock":
        """Read `+02:00 CEST`; raise `ValueError` for anything else."""
        offset, _, name = text.partition(" ")
        if not _OFFSET.fullmatch(offset) or not name:
            raise ValueError(f"{text!r} is not an offset with an abbreviation")
        return cls(_time(offset), name)

    def __str__(self) -> str:
        """Write it as `parse` reads it."""
        sign = "-" if self.offset < timedelta() else "+"
        minutes, seconds = divmod(abs(self.offset) // timedelta(seconds=1), 60)
        hours, minutes = divmod(minutes, 60)
        text = f"{sign}{hours:02}:{minutes:02}"
        if seconds:
            text += f":{seconds:02}"
        return f"{text} {self.name}"


class Transition(NamedTuple):
    """From the naive UTC moment `at` on, clocks show `clock`."""

    at: datetime
    clock: Clock

    @classmethod
    def parse(cls, text: str) -> "Transition":
        """Read `2027-03-28T01:00Z +02:00 CEST`; raise `ValueError` for anything else."""
        at, _, clock = text.partition(" ")
        moment = datetime.fromisoformat(at)
        if moment.utcoffset() != timedelta():
            raise ValueError(f"{at!r} is not a UTC time such as 2027-03-28T01:00Z")
        return cls(moment.replace(tzinfo=None), Clock.parse(clock))

    def __str__(self) -> str:
        """Write it as `parse` reads it."""
        return f"{self.at.strftime(_MOMENT)} {self.clock}"


class Yearly(NamedTuple):
    """A day of the year, and the time on it, by the clock that is in force until then.

    A day is the `week`th (5: the last) `weekday` (0: Sunday) of a `month`; without a month the day
    of that `number`, from 0 on, or from 1 on and 29 February never counted where `julian`.
    """

    month: int
    week: int
    weekday: int
    number: int
    julian: bool
    time: timedelta

    @classmethod
    def parse(cls, text: str) -> "Yearly":
        """Read `M3.5.0/1`, `J60` or `59/2`; raise `ValueError` for anything else."""
        found = _DATE.fullmatch(text)
        if not found:
            raise ValueError(f"{text!r} is not a day of a POSIX rule")
        parts = found.groupdict(default="0")
        return cls(
            month=int(parts["month"]),
            week=int(parts["week"]),
            weekday=int(parts["weekday"]),
            number=int(parts["number"]),
            julian=parts["julian"] == "J",
            time=_time(found["time"] or _TWO_O_CLOCK),
        )

    def of(self, year: int) -> datetime:
        """Give the moment in a year, on that clock."""
        new_year = datetime(year, 1, 1)  # noqa: DTZ001 - on that clock
        return new_year + self._day(year) * _DAY + self.time

    def _day(self, year: int) -> int:
        """Count the days from 1 January."""
        if self.julian:
            # As if there were no 29 February: where there is, what comes later is a day later.
            if isleap(year) and self.number > _JANUARY_AND_FEBRUARY:
                return self.number
            return self.number - 1
        if not self.month:
            return self.number
        first, length = monthrange(year, self.month)  # `first`: its weekday, 0 is Monday
        first_such = 1 + (self.weekday - first - 1) % 7
        day = first_such + (self.week - 1) * 7
        if day > length:  # the fifth is the last, which may be the fourth
            day -= 7
        return date(year, self.month, day).timetuple().tm_yday - 1


class Posix(NamedTuple):
    """A rule for all years: one clock, or two, and when each begins."""

    standard: Clock
    summer: Clock | None
    begins: Yearly | None
    ends: Yearly | None

    @classmethod
    def parse(cls, text: str) -> "Posix":
        """Read `CET-1CEST,M3.5.0,M10.5.0/3`; raise `ValueError` for anything else."""
        found = _POSIX.fullmatch(text)
        if not found:
            raise ValueError(f"{text!r} is not a POSIX time zone rule")
        # POSIX counts what is added to the clock to get UTC; everybody else, what clocks are ahead.
        standard = Clock(-_time(found["offset"]), found["standard"].strip("<>"))
        if found["summer"] is None:
            return cls(standard, summer=None, begins=None, ends=None)
        ahead = standard.offset + _HOUR  # where nothing is said
        if found["summer_offset"]:
            ahead = -_time(found["summer_offset"])
        summer = Clock(ahead, found["summer"].strip("<>"))
        return cls(standard, summer, Yearly.parse(found["begins"]), Yearly.parse(found["ends"]))

    def transitions(
        self,
        first: int,
        last: int,
    ) -> Iterator[Transition]:
        """Give those of the years from `first` to `last`, in order.

        Of a rule with one clock there are none, and none of a moment that has no date.
        """
        if self.summer is None or self.begins is None or self.ends is None:
            return
        for year in range(max(first, MINYEAR), min(last, MAXYEAR) + 1):
            # Each begins by the clock that is in force until then.
            to_summer = self.begins, self.standard, self.summer
            to_standard = self.ends, self.summer, self.standard
            found = []
            for yearly, until_then, clock in (to_summer, to_standard):
                with suppress(OverflowError):  # `J365/25` of 9999 is in 10000
                    found.append(Transition(yearly.of(year) - until_then.offset, clock))
            yield from sorted(found, key=_at)  # in the south, summer ends first


class _Table:
    """What clocks show at first, and transitions in order.

    By them readings of such a clock and of UTC are turned into each other.
    """

    def __init__(
        self,
        first: Clock,
        transitions: Iterable[Transition],
    ) -> None:
        self.clocks = [first]
        self.moments: list[datetime] = []
        self.ends: list[datetime] = []
        self.begins: list[datetime] = []
        for transition in transitions:
            # As in PEP 495: between these two readings, `fold` says whether the clocks have changed
            # already.
            before = _reading(transition.at, self.clocks[-1])
            after = _reading(transition.at, transition.clock)
            self.begins.append(min(before, after))
            self.ends.append(max(before, after))
            self.moments.append(transition.at)
            self.clocks.append(transition.clock)

    def clock(self, local: datetime) -> Clock:
        """Give what clocks show at a naive reading, by its fold."""
        edges = self.begins if local.fold else self.ends
        return self.clocks[bisect_right(edges, local.replace(fold=0))]


class Zone(tzinfo):
    """A time zone that gives what `zoneinfo` gives for the same rules.

    Before the first transition it may differ.
    """

    def __init__(self, key: str, rules: ZoneRules) -> None:
        """Read the rules of the zone that is called `key`.

        Raises `ValueError` where they cannot be read.
        """
        self.key = key
        self.rules = rules
        self.posix = Posix.parse(rules.rule)
        listed = [Transition.parse(text) for text in rules.transitions]
        if listed != sorted(listed, key=_at):
            raise ValueError(f"the transitions of {key} are not in order")
        last = datetime.min  # noqa: DTZ901 - naive, as all moments here
        if listed:
            last = listed[-1].at
        # Up to the next year the table is asked, which so needs the first ones by the rule.
        self._ruled = last.year + 1
        following = self.posix.transitions(last.year, last.year + 2)
        listed.extend(each for each in following if each.at > last)
        self._table = _Table(Clock.parse(rules.before), listed)

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        """Say how far clocks are ahead of UTC at a reading."""
        if dt is None:
            return None
        return self._clock(dt).offset

    def tzname(self, dt: datetime | None) -> str | None:
        """Give the abbreviation that is in use at a reading."""
        if dt is None:
            return None
        return self._clock(dt).name

    def dst(self, dt: datetime | None) -> None:  # noqa: ARG002 - the interface of `tzinfo`
        """Say nothing: the rules hold offsets, and not which of them is for the summer."""
        return

    def fromutc(self, dt: datetime) -> datetime:
        """Give the reading at a UTC moment, with `fold` where it is the second time.

        `dt` bears this zone.
        """
        table = self._around(dt.year)
        utc = dt.replace(tzinfo=None)
        index = bisect_right(table.moments, utc)
        local = dt + table.clocks[index].offset
        if index > 0 and local.replace(tzinfo=None) < table.ends[index - 1]:
            return local.replace(fold=1)
        return local

    def transitions(
        self,
        first: int,
        last: int,
    ) -> Iterator[Transition]:
        """Give every transition of the UTC years from `first` to `last`."""
        for year in range(first, last + 1):
            table = self._around(year)
            # The first clock is that before any transition.
            for at, clock in zip(table.moments, table.clocks[1:], strict=True):
                if at.year == year:
                    yield Transition(at, clock)

    def __repr__(self) -> str:
        """Name the zone."""
        return f"Zone({self.key!r}, release {self.rules.release})"

    def __reduce__(self) -> tuple[object, tuple[str, ZoneRules]]:
        """Pickle and copy as the one zone of these rules."""
        return zone, (self.key, self.rules)

    def _clock(self, dt: datetime) -> Clock:
        return self._around(dt.year).clock(dt.replace(tzinfo=None))

    def _around(self, year: int) -> _Table:
        """Give the transitions that readings in a year need.

        They are the listed ones, later those of the years around it.
        """
        if year <= self._ruled:
            return self._table
        return _yearly(self.posix, year)


@cache
def zone(key: str, rules: ZoneRules) -> Zone:
    """Give the one `Zone` of a name and rules; raise `ValueError` where they cannot be read."""
    return Zone(key, rules)


@lru_cache(maxsize=64)
def _yearly(posix: Posix, year: int) -> _Table:
    """Give the transitions of a year and of those beside it, by the rule alone."""
    before = Transition(datetime.min, posix.standard)  # noqa: DTZ901 - naive, as all moments here
    first, *rest = [before, *posix.transitions(year - 2, year + 1)]
    return _Table(first.clock, rest)


def _at(transition: Transition) -> datetime:
    return transition.at


def _reading(at: datetime, clock: Clock) -> datetime:
    """Give what a clock shows at a UTC moment, or the first or last moment that has a date."""
    try:
        return at + clock.offset
    except OverflowError:
        if clock.offset < timedelta():
            return datetime.min  # noqa: DTZ901 - naive, as all moments here
        return datetime.max  # noqa: DTZ901


def _time(text: str) -> timedelta:
    """Read `2`, `-1:30` or `+05:53:28`."""
    numbers = map(int, text.lstrip("+-").split(":"))
    length = timedelta(**dict(zip(_UNITS, numbers, strict=False)))
    if text[0] == "-":
        return -length
    return length
