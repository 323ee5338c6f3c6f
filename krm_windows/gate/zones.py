"""The clocks of a time zone, by the rules that travel in the timetable.

No zone data of the image decides (docs/decisions/0022-the-zone-rules-travel-with-the-policy.md).
"""

import re
from bisect import bisect_right
from calendar import isleap, monthrange
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta, tzinfo
from functools import cache, lru_cache

_DAY = timedelta(days=1)
_JANUARY_AND_FEBRUARY = 59
_MOMENT = "%Y-%m-%dT%H:%MZ"
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)(?::(\d\d))?")
# POSIX.1-2017, "TZ", with the wider hours of RFC 9636, section 3.3.1:
# std offset [dst [offset] , start , end].
_NAME = r"(<[+-]?\w+>|[A-Za-z]+)"
_TIME = r"([+-]?)(\d+)(?::(\d+))?(?::(\d+))?"
_DATE = re.compile(rf"(?:M(\d+)\.(\d)\.(\d)|(J?)(\d+))(?:/{_TIME})?")
_POSIX = re.compile(rf"{_NAME}{_TIME}(?:{_NAME}(?:{_TIME})?,([^,]+),([^,]+))?")
_TWO_O_CLOCK = ("", "2", None, None)


@dataclass(frozen=True)
class ZoneRules:
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


@dataclass(frozen=True)
class Clock:
    """What clocks show: so much ahead of UTC, under this abbreviation."""

    offset: timedelta
    name: str

    @classmethod
    def parse(cls, text: str) -> "Clock":
        """Read `+02:00 CEST`; raise `ValueError` for anything else."""
        offset, _, name = text.partition(" ")
        found = _OFFSET.fullmatch(offset)
        if not found or not name:
            raise ValueError(f"{text!r} is no offset with its abbreviation")
        sign, *parts = found.groups()
        return cls(_time(sign, *parts), name)

    def __str__(self) -> str:
        """Write it as `parse` reads it."""
        seconds = abs(self.offset) // timedelta(seconds=1)
        sign = "-" if self.offset < timedelta() else "+"
        text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}"
        if seconds % 60:
            text += f":{seconds % 60:02}"
        return f"{text} {self.name}"


@dataclass(frozen=True)
class Transition:
    """From the naive UTC moment `at` on, clocks show `clock`."""

    at: datetime
    clock: Clock

    @classmethod
    def parse(cls, text: str) -> "Transition":
        """Read `2027-03-28T01:00Z +02:00 CEST`; raise `ValueError` for anything else."""
        at, _, clock = text.partition(" ")
        moment = datetime.fromisoformat(at)
        if moment.utcoffset() != timedelta():
            raise ValueError(f"{at!r} is no moment in the format of UTC, such as 2027-03-28T01:00Z")
        return cls(moment.replace(tzinfo=None), Clock.parse(clock))

    def __str__(self) -> str:
        """Write it as `parse` reads it."""
        return f"{self.at.strftime(_MOMENT)} {self.clock}"


@dataclass(frozen=True)
class Yearly:
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
            raise ValueError(f"{text!r} is no day of a POSIX rule")
        month, week, weekday, julian, number, *time = found.groups()
        if time[1] is None:
            time = list(_TWO_O_CLOCK)
        return cls(
            int(month or 0),
            int(week or 0),
            int(weekday or 0),
            int(number or 0),
            julian == "J",
            _time(*time),
        )

    def of(self, year: int) -> datetime:
        """Give the moment in a year, on that clock."""
        new_year = datetime(year, 1, 1)  # noqa: DTZ001 - on that clock
        return new_year + self._day(year) * _DAY + self.time

    def _day(self, year: int) -> int:
        """Count the days from 1 January."""
        if self.julian:
            leaped = isleap(year) and self.number > _JANUARY_AND_FEBRUARY
            return self.number - 1 + leaped
        if not self.month:
            return self.number
        first, length = monthrange(year, self.month)
        day = 1 + (self.weekday - first - 1) % 7 + (self.week - 1) * 7
        if day > length:
            day -= 7
        return date(year, self.month, day).timetuple().tm_yday - 1


@dataclass(frozen=True)
class Posix:
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
            raise ValueError(f"{text!r} is no POSIX rule of a time zone")
        name, *parts = found.groups()
        # POSIX counts what is added to the clock to get UTC; everybody else, what clocks are ahead.
        standard = Clock(-_time(*parts[:4]), name.strip("<>"))
        summer, time, (begins, ends) = parts[4], parts[5:9], parts[9:]
        if summer is None:
            return cls(standard, None, None, None)
        # An hour ahead of standard time where nothing is said.
        ahead = standard.offset + timedelta(hours=1)
        if time[1] is not None:
            ahead = -_time(*time)
        in_summer = Clock(ahead, summer.strip("<>"))
        return cls(standard, in_summer, Yearly.parse(begins), Yearly.parse(ends))

    def transitions(
        self,
        first: int,
        last: int,
    ) -> Iterator[Transition]:
        """Give those of the years from `first` to `last`, in order.

        Of a rule with one clock there are none.
        """
        if self.summer is None or self.begins is None or self.ends is None:
            return
        for year in range(max(first, MINYEAR), min(last, MAXYEAR) + 1):
            summer = Transition(self.begins.of(year) - self.standard.offset, self.summer)
            standard = Transition(self.ends.of(year) - self.summer.offset, self.standard)
            yield from sorted((summer, standard), key=_at)


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
            before = transition.at + self.clocks[-1].offset
            after = transition.at + transition.clock.offset
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
        last = listed[-1].at if listed else datetime.min  # noqa: DTZ901 - naive, as all moments here
        self._ruled = last.year + 1
        following = [
            each for each in self.posix.transitions(last.year, last.year + 2) if each.at > last
        ]
        self._table = _Table(Clock.parse(rules.before), [*listed, *following])

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        """Say how far clocks are ahead of UTC at a reading."""
        return self._clock(dt).offset if dt else None

    def tzname(self, dt: datetime | None) -> str | None:
        """Give the abbreviation that is in use at a reading."""
        return self._clock(dt).name if dt else None

    def dst(self, dt: datetime | None) -> None:  # noqa: ARG002 - the interface of `tzinfo`
        """Say nothing: the rules tell offsets, and not which of them is for the summer."""
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
            every = zip(table.moments, table.clocks[1:], strict=True)
            yield from (Transition(at, clock) for at, clock in every if at.year == year)

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


def _time(
    sign: str | None,
    hours: str,
    minutes: str | None = None,
    seconds: str | None = None,
) -> timedelta:
    length = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
    if sign == "-":
        return -length
    return length
