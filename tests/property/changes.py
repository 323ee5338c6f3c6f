"""Every change of a clock from 2011 to five years ahead, and the zones with equal rules in it."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise

from hypothesis import strategies
from oracle import DAY, minute, offset, utc, zone

from krm_windows.schedule import zones

FIRST, LAST = minute(datetime(2011, 1, 1)), minute(datetime(2032, 1, 1))
# No zone has changed its clock twice within so few days since 2011.
STEP = 4 * DAY


@dataclass(frozen=True)
class Change:
    """The UTC minute at which clocks in a zone are put from one offset to another."""

    zone: str
    at: int
    before: int
    after: int

    @property
    def utc(self) -> datetime:
        return utc(self.at)

    @property
    def wall(self) -> datetime:
        """What clocks would have shown without the change: naive."""
        return self.utc.replace(tzinfo=None) + timedelta(minutes=self.before)


# The night on which Nuuk's new rules began: no clock changed, though zoneinfo marks the hour after
# as a repeated one.
ONLY_RULES = Change("America/Nuuk", minute(datetime(2023, 10, 29, 1)), -120, -120)


@dataclass(frozen=True)
class Group:
    """Zones whose clocks show the same, the first of which stands for all, and their changes."""

    zones: tuple[str, ...]
    changes: tuple[Change, ...]


@cache
def groups() -> list[Group]:
    found: dict[tuple[tuple[int, ...], ...], list[str]] = {}
    for name in sorted(zones.names()):
        found.setdefault(tuple(_changes(name)), []).append(name)
    return [
        Group(tuple(alike), tuple(Change(alike[0], *each) for each in key[1:]))
        for key, alike in found.items()
    ]


@cache
def changes() -> list[Change]:
    """List every change of every zone, once for zones that are alike; and `ONLY_RULES`."""
    return [*(change for group in groups() for change in group.changes), ONLY_RULES]


CHANGES = strategies.deferred(lambda: strategies.sampled_from(changes()))
"""Any of them. To list them takes a second, so it is done where the first one is drawn."""


@cache
def of(name: str) -> list[Change]:
    return [Change(name, *each) for each in list(_changes(name))[1:]]


def _changes(name: str) -> Iterator[tuple[int, ...]]:
    tz = zone(name)
    yield (offset(tz, FIRST),)
    # `utcoffset` is an eighth of the work of `offset`, and they differ by no more than the place
    # of `ONLY_RULES`, where no clock changes.
    offsets = [(at, instant.astimezone(tz).utcoffset()) for at, instant in _grid()]
    for (low, earlier), (high, later) in pairwise(offsets):
        if earlier == later:
            continue
        before, after = offset(tz, low), offset(tz, high)
        at = low + bisect_left(
            range(low, high), 1, key=lambda number, after=after: int(offset(tz, number) == after)
        )
        yield at, before, after


@cache
def _grid() -> list[tuple[int, datetime]]:
    return [(at, utc(at)) for at in range(FIRST, LAST + STEP, STEP)]
