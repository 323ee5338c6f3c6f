"""The edges of a table, as schedules in UTC: triggers that need no zone data of the controller.

The CronJob controller reads `timeZone` by zone data of its own, and fires at odd times around a
change of the clock. `Etc/UTC` it reads right.
"""

from collections.abc import Iterator
from itertools import chain

from krm_windows.gate.table import Table
from krm_windows.plan.grouping import grouped
from krm_windows.schedule import bits, cron, table

_HOUR = 60


def schedules(days: Table) -> Iterator[tuple[int, str]]:
    """Yield schedules that fire at every edge, each with its first hour.

    They may fire at other minutes, too: a run too many finds nothing to do.
    """
    days_at: dict[int, int] = {}
    for day, opens, closes in table.edges(days):
        weekday = day % 7  # of an ordinal, 0 is Sunday, as in cron
        days_at[weekday] = days_at.get(weekday, 0) | opens | closes
    edges: list[tuple[int, int]] = []
    for weekday, found in days_at.items():
        edges += [(minute, weekday) for minute in bits.numbers(found)]
    weekdays_at = grouped(edges)
    hours_of = grouped(
        ((minute % _HOUR, weekdays), minute // _HOUR) for minute, weekdays in weekdays_at.items()
    )
    minutes_of = grouped(
        ((hours, weekdays), minute) for (minute, weekdays), hours in hours_of.items()
    )
    # One for each first hour: that is what their names say.
    of_hour = grouped(
        (min(hours), (hours, weekdays, minutes))
        for (hours, weekdays), minutes in minutes_of.items()
    )
    for hour, several in sorted(of_hour.items()):
        hours, weekdays, minutes = (
            frozenset(chain.from_iterable(parts)) for parts in zip(*several, strict=True)
        )
        times = f"{cron.field(minutes, range(60))} {cron.field(hours, range(24))}"
        yield hour, f"{times} * * {cron.field(weekdays, range(7))}"
