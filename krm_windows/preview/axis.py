"""The axis of a picture: weeks one below another, and a line in place of weeks without a change."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from krm_windows.plurals import counted
from krm_windows.schedule import wallclock

_DAY = timedelta(days=1)
_WEEK = 7 * _DAY
# So many dates are side by side: a week of 168 hours touches eight, and weeks in two zones nine.
_ONE_BAND = 9
# Up to so many days there is room for a tick at every quarter of a day.
_HOURLY = 4
_QUARTER = timedelta(hours=6)
# `date.weekday` of Saturday, and of Sunday after it.
_SATURDAY = 5

Interval = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Tick:
    """The beginning of a day, or of a quarter of one, on the axis."""

    at: datetime
    label: str
    weekday: str
    major: bool


@dataclass(frozen=True, slots=True)
class Face:
    """What a clock shows from `begins` to `ends`, which are naive."""

    clock: tzinfo
    begins: datetime
    ends: datetime

    def share(self, at: datetime) -> float:
        """Return where an instant lies between both, from 0 to 1."""
        # By the clock that never runs backwards: what ends in a repeated hour does not end before
        # it begins.
        shown = wallclock.wall(at, self.clock)
        return (shown - self.begins) / (self.ends - self.begins)


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of the axis that is drawn side by side: a week, or all of a short range.

    `first` and `last` are its days; `weekends` are UTC intervals. Instants lie where
    they are as time passes, or where a clock shows them.
    """

    first: date
    last: date
    begins: datetime
    ends: datetime
    ticks: tuple[Tick, ...]
    weekends: tuple[Interval, ...]
    face: Face | None = None

    @property
    def month(self) -> str:
        """The month of its first day."""
        return f"{self.first:%B %Y}"

    @property
    def days(self) -> str:
        """The first and the last day."""
        return span_of_days(self.first, self.last)

    def place(
        self,
        begins: datetime,
        ends: datetime,
    ) -> tuple[float, float] | None:
        """Return where an interval is as fractions of the width, left edge and width.

        None outside of the band.
        """
        left = max(begins, self.begins)
        right = min(ends, self.ends)
        # What begins where the band ends is in the next one, as is a clock change there.
        if left > right or left >= self.ends or right < self.begins:
            return None
        # An interval that only touches the band has no part in it, an instant at its beginning has.
        if left == right and begins != ends:
            return None
        share = self._share(left)
        return share, self._share(right) - share

    def left(self, at: datetime) -> float:
        """Return where an instant is, 0 outside of the band."""
        place = self.place(at, at)
        if place is None:
            return 0
        return place[0]

    def holds(self, at: datetime) -> bool:
        """Whether an instant is in it; its end is none of it."""
        return self.begins <= at < self.ends

    def on(self, clock: tzinfo) -> "Band":
        """Return these days, which are those of UTC, on the clock of a zone.

        Each begins where it does in UTC, however long clock changes make it. Days and weekends are
        drawn of the other alone.
        """
        face = Face(clock, self.begins.replace(tzinfo=None), self.ends.replace(tzinfo=None))
        return replace(
            self,
            begins=wallclock.instant(face.begins, clock),
            ends=wallclock.instant(face.ends, clock),
            ticks=(),
            weekends=(),
            face=face,
        )

    def shades(self, within: tuple[float, float] = (0.0, 1.0)) -> Iterator[tuple[float, float]]:
        """Yield where weekends are within a part of it, as left and width in shares of it."""
        for interval in self.weekends:
            place = self.place(*interval)
            if place is None:
                continue
            left, right = max(place[0], within[0]), min(sum(place), sum(within))
            if left < right:
                yield left, right - left

    def _share(self, at: datetime) -> float:
        """Return where an instant of the band lies, from 0 to 1."""
        if self.face is not None:
            return self.face.share(at)
        return (at - self.begins) / (self.ends - self.begins)


@dataclass(frozen=True, slots=True)
class Quiet:
    """Weeks in which nothing changes, in the UTC interval [`begins`, `ends`).

    `first` and `last` are their days; `states` says what holds in them all.
    """

    first: date
    last: date
    begins: datetime
    ends: datetime
    states: str

    @property
    def words(self) -> str:
        """All of it in a line: `3 weeks: closed`, and which."""
        weeks = ((self.last - self.first) + _DAY) // _WEEK
        return f"{counted(weeks, 'week')}, {span_of_days(self.first, self.last)}: {self.states}"


def split(
    begins: datetime,
    ends: datetime,
    zone: tzinfo,
) -> Iterator[Band]:
    """Yield the bands of a UTC interval: one of a short range, else a week each.

    Weeks begin with the weekday of the first day, so that seven days from any are one.
    """
    first = begins.astimezone(zone).date()
    last = last_day(ends, zone)
    if last - first < _ONE_BAND * _DAY:
        yield _band(first, last, begins, ends, zone)
        return
    while first <= last:
        following = first + _WEEK
        # As long as the others even where the range ends: all have one scale. Beyond it, nothing
        # is drawn.
        midnights = _midnight(first, zone), _midnight(following, zone)
        yield _band(first, min(following - _DAY, last), *midnights, zone)
        first = following


def span_of_days(first: date, last: date) -> str:
    """Name two days, and all between them: `Mon 2026-12-14 to Sun 2026-12-20`."""
    if first == last:
        return f"{first:%a %Y-%m-%d}"
    return f"{first:%a %Y-%m-%d} to {last:%a %Y-%m-%d}"


def last_day(ends: datetime, zone: tzinfo) -> date:
    """Return the last day of what ends at an instant, which is no part of it."""
    # The end is exclusive, so a moment before it is asked for its date.
    return (ends - timedelta.resolution).astimezone(zone).date()


def _band(
    first: date,
    last: date,
    begins: datetime,
    ends: datetime,
    zone: tzinfo,
) -> Band:
    step = _DAY
    if ends - begins <= _HOURLY * _DAY:
        step = _QUARTER
    return Band(
        first=first,
        last=last,
        begins=begins,
        ends=ends,
        ticks=tuple(_ticks(begins, min(ends, _midnight(last + _DAY, zone)), step, zone)),
        weekends=tuple(_weekends(first, last, zone)),
    )


def _weekends(first: date, last: date, zone: tzinfo) -> Iterator[Interval]:
    """Yield the Saturdays and Sundays, each from midnight to midnight."""
    day = first
    while day <= last:
        if day.weekday() >= _SATURDAY:
            yield _midnight(day, zone), _midnight(day + _DAY, zone)
        day += _DAY


def _ticks(
    begins: datetime,
    ends: datetime,
    step: timedelta,
    zone: tzinfo,
) -> Iterator[Tick]:
    """Yield every step that begins in an interval: days, or quarters of them.

    The last has words if there is room.
    """
    # On the wall clock: after a clock change the next day still begins at 00:00.
    wall = datetime.combine(begins.astimezone(zone).date(), time())
    at = wallclock.instant(wall, zone)
    has_date = False
    while at < ends:
        if at >= begins:
            # Half of a step is about as wide as the words.
            has_room = ends - at >= step / 2
            tick = _tick(wall, at, step, has_room=has_room)
            # Where days begin at an hour, no midnight says which day that is of.
            if not has_date:
                tick = replace(tick, weekday=tick.weekday or f"{wall:%a %d %b}")
                has_date = True
            yield tick
        wall += step
        at = wallclock.instant(wall, zone)


def _tick(
    wall: datetime,
    at: datetime,
    step: timedelta,
    *,
    has_room: bool,
) -> Tick:
    """Return the tick at a wall-clock time; one without room for words is a line alone."""
    # A date with its month, as a week may be in two of them.
    label, weekday = f"{wall:%d %b}", f"{wall:%a}"
    # Among days, Mondays stand out; among quarters, midnights.
    major = wall.weekday() == 0
    if step == _QUARTER:
        major = wall.time() == time()
        if not major:
            label, weekday = f"{wall:%H:%M}", ""
    if not has_room:
        label = weekday = ""
    return Tick(at.astimezone(UTC), label, weekday, major)


def _midnight(day: date, zone: tzinfo) -> datetime:
    return wallclock.instant(datetime.combine(day, time()), zone)
