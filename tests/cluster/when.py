"""The minutes of an end-to-end test: nothing can change the clock, so it uses the next ones."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from lab.processes import pace

Spec = dict[str, object]
ZONE = ZoneInfo("Europe/Berlin")
# Its clocks never change. `Kubectl` refuses an edge inside a clock change, and in ZONE a test that
# ran between one and two in the morning would ask for one.
STEADY_ZONE = ZoneInfo("Asia/Kolkata")
NIGHT_ENDS = 4  # hours; the clocks of ZONE change between one and three in the morning


@dataclass(frozen=True)
class Window:
    """A window that opens and closes at full minutes, every day."""

    opens: datetime
    closes: datetime
    zone: ZoneInfo = ZONE

    @property
    def spec(self) -> Spec:
        return {"opens": daily(self.opens, self.zone), "closes": daily(self.closes, self.zone)}


def minute(after: float = 0) -> datetime:
    """Return the first full minute that is at least so many seconds away."""
    ahead = datetime.now(UTC) + timedelta(seconds=after)
    return ahead.replace(second=0, microsecond=0) + timedelta(minutes=1)


def soon(after: float) -> datetime:
    """Return a full minute that leaves these seconds of work time, more on a busy machine."""
    return minute(after * pace())


def daily(instant: datetime, zone: ZoneInfo = ZONE) -> str:
    return f"daily {instant.astimezone(zone):%H:%M}"


def wall(instant: datetime, zone: ZoneInfo = ZONE) -> str:
    return f"{instant.astimezone(zone):%Y-%m-%dT%H:%M}"


def window(after: float = 60, length: int = 1, zone: ZoneInfo = ZONE) -> Window:
    """It opens later than `after` seconds from now, and for longer, if the machine is busy."""
    opens = soon(after)
    return Window(opens, opens + timedelta(minutes=length * pace()), zone)


def far_window(zone: ZoneInfo = ZONE) -> Window:
    """Return a window that opens in twelve hours: until then it is closed.

    It opens up to five hours later if twelve hours from now is night. Clocks change there, and a
    window among those hours has CronJobs in UTC that a window of the day has not. It does not reach
    into another hour, for which there would be one more, too.
    """
    opens = minute(12 * 3600)
    if (opens + timedelta(minutes=5)).hour != opens.hour:
        opens += timedelta(minutes=5)
    while opens.astimezone(zone).hour < NIGHT_ENDS:
        opens += timedelta(hours=1)
    return Window(opens, opens + timedelta(minutes=5), zone)


def open_window(after: float) -> Window:
    return Window(minute(-360), soon(after))


def since(instant: datetime) -> float:
    return (datetime.now(UTC) - instant).total_seconds()


def sleep_until(instant: datetime) -> None:
    time.sleep(max((instant - datetime.now(UTC)).total_seconds(), 0))
