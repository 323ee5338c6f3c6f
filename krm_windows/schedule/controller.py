"""When Kubernetes fires a schedule: a model of its CronJob controller, the faults included.

Reference: `Next` of robfig/cron v3.0.1, of `SpecSchedule` and of `ConstantDelaySchedule`, on the
arithmetic of Go's package `time`; a difference is a bug. `Next` looks at one field after the other
and steps each forward until it matches. Where a step meets a clock change, it may land beside the
moment that was meant: at 23:00 of the day before, at half past, or a day late. Nothing of that is
put right here, for the cluster does the same.
"""

from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from krm_windows.schedule import cron, zones
from krm_windows.schedule.recurrence import EVERY_MONTH, Recurrence

_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)
_SECOND = timedelta(seconds=1)
_NOON = 12
# `Next` gives up when the fifth year after its start is over.
_YEARS = 5


def runs(
    schedule: str,
    time_zone: str,
    after: datetime,
) -> Iterator[datetime]:
    """Yield the UTC instants after the aware `after` at which the controller fires.

    `time_zone` is an IANA name, or empty for UTC; a `TZ=` before the schedule outranks it. They end
    where the schedule does not fire for five years. Raises `cron.CronError` at once for what the
    controller refuses, an unknown zone too.
    """
    parsed = cron.parse(schedule)
    # The zone of the schedule itself outranks; `TZ=Local` means the one of the CronJob.
    named = parsed.time_zone
    if named is None or named == "Local":
        named = time_zone
    clock = _clock(named)
    start = after.astimezone(UTC).replace(microsecond=0)
    if parsed.recurrence is None:
        return _delays(parsed.every or _SECOND, start)
    return _runs(parsed.recurrence, clock, start)


class _Time(NamedTuple):
    """An instant, aware in UTC, and the naive time that a clock shows at it; whole seconds."""

    utc: datetime
    local: datetime


class _Clock(NamedTuple):
    """Go's `time.Location`."""

    zone: tzinfo

    def at(self, utc: datetime) -> _Time:
        return _Time(utc, utc.astimezone(self.zone).replace(tzinfo=None))

    def date(self, local: datetime) -> _Time:
        """Find the instant that Go's `time.Date` takes for a local time.

        It may not exist, or exist twice. Go takes the offset that holds where the local time would
        be in UTC, and with it finds the offset to use.
        """
        as_utc = local.replace(tzinfo=UTC)
        guessed = as_utc - self._offset(as_utc)
        return self.at(as_utc - self._offset(guessed))

    def later(self, time: _Time, step: timedelta, count: int) -> _Time:
        """Take `count` steps at once, or one if the clock changes on the way."""
        # Steps of a clock that does not change may be taken at once: only then is the result the
        # same.
        distance = count * step
        there = self.at(time.utc + distance)
        if there.local - time.local == distance:
            return there
        return self.at(time.utc + step)

    def _offset(self, utc: datetime) -> timedelta:
        return self.at(utc).local - utc.replace(tzinfo=None)


class _Unit(NamedTuple):
    """How `Next` treats one field: from month to second, each has a unit of its own.

    `matches`: whether the field allows what the clock shows. `begin`: where the unit begins, the
    smaller fields set to their least values. `step`: where the next unit begins, or a later one
    before which none matches. `first`: the first of the next larger unit, where it comes round.
    """

    name: str
    first: int
    matches: Callable[[datetime], bool]
    begin: Callable[[_Time], _Time]
    step: Callable[[_Time], _Time]


def _clock(time_zone: str) -> _Clock:
    name = time_zone or "UTC"
    if name not in zones.names():
        raise cron.CronError(f"unknown time zone {name}")
    return _Clock(zones.zone(name))


def _delays(every: timedelta, start: datetime) -> Iterator[datetime]:
    while True:
        start += every
        yield start


def _runs(
    recurrence: Recurrence,
    clock: _Clock,
    start: datetime,
) -> Iterator[datetime]:
    if not (recurrence.minutes and recurrence.hours and recurrence.months):
        # What `Next` finds out by stepping through all minutes of five years.
        return
    units = _units(recurrence, clock)
    following = _next(units, clock.at(start + _SECOND))
    while following:
        yield following
        following = _next(units, clock.at(following + _SECOND))


def _next(units: tuple[_Unit, ...], time: _Time) -> datetime | None:
    """Step each field in turn until it matches, and start over whenever one comes round."""
    last_year = time.local.year + _YEARS
    begun = False
    checked = 0
    while checked < len(units):
        unit = units[checked]
        if unit.matches(time.local):
            checked += 1
            continue
        # Only before the first step are the smaller fields set to their beginning.
        here = time if begun else unit.begin(time)
        begun = True
        time = unit.step(here)
        if time.utc <= here.utc:
            # Before a day that a zone skipped, such as Samoa's in 2011, `Next` hangs.
            return None
        if getattr(time.local, unit.name) == unit.first:
            checked = 0
            if time.local.year > last_year:
                return None
    return time.utc


def _units(recurrence: Recurrence, clock: _Clock) -> tuple[_Unit, ...]:
    """Arrange the fields as `Next` checks them, from month to second."""
    minutes, hours, _, months, *_ = recurrence
    # The month has been checked before the day, with steps of its own.
    in_any_month = recurrence._replace(months=EVERY_MONTH)

    def later(time: _Time, unit: timedelta, field: str, values: Collection[int]) -> _Time:
        size = (_DAY if unit == _HOUR else 60 * unit) // unit
        value = getattr(time.local, field)
        # As many steps as there are to the next of the values, or to where the unit comes round.
        following = min((other for other in values if other > value), default=size)
        return clock.later(time, unit, following - value)

    return (
        _Unit(
            "month",
            first=1,
            matches=lambda local: local.month in months,
            # Go's `time.Date` again: the first of a month may begin with a clock change.
            begin=lambda time: clock.date(_midnight(time.local).replace(day=1)),
            step=lambda time: clock.date(_next_month(time.local)),
        ),
        _Unit(
            "day",
            first=1,
            matches=lambda local: in_any_month.on(local.toordinal()),
            begin=lambda time: clock.date(_midnight(time.local)),
            step=lambda time: _near_midnight(clock.date(time.local + _DAY), clock),
        ),
        _Unit(
            "hour",
            first=0,
            matches=lambda local: local.hour in hours,
            begin=lambda time: clock.date(time.local.replace(minute=0, second=0)),
            step=lambda time: later(time, _HOUR, "hour", hours),
        ),
        _Unit(
            "minute",
            first=0,
            matches=lambda local: local.minute in minutes,
            # Go truncates the absolute time here, and not what the clock shows.
            begin=lambda time: clock.at(time.utc.replace(second=0)),
            step=lambda time: later(time, _MINUTE, "minute", minutes),
        ),
        _Unit(
            "second",
            first=0,
            matches=lambda local: local.second == 0,
            begin=lambda time: time,
            step=lambda time: later(time, _SECOND, "second", ()),
        ),
    )


def _midnight(local: datetime) -> datetime:
    return local.replace(hour=0, minute=0, second=0)


def _next_month(local: datetime) -> datetime:
    """Keep the day of the month, as Go's `AddDate` does: after 30 January comes 2 March."""
    first = local.replace(day=1)
    next_first = (first + 31 * _DAY).replace(day=1)
    return next_first + (local - first)


def _near_midnight(time: _Time, clock: _Clock) -> _Time:
    """Go to midnight from the hour that a clock change has put in its place."""
    hour = time.local.hour
    # Late in the day before, or early in the day that was meant.
    return clock.at(time.utc + (24 - hour if hour > _NOON else -hour) * _HOUR)
