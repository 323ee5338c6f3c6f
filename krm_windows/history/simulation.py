"""A history replayed against a timetable: which changes would have waited, and for how long.

A change is offered at the committer's time of its commit on the way of first parents: that is when
it came onto the branch (a merge, a rebase and a squash each make a new commit), while the author's
time may be weeks before. What is offered while it is open does not wait. What is offered while it
is closed waits until it opens next, whatever comes in between.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from statistics import median

from krm_windows.preview.calendar import named
from krm_windows.preview.clock import last_day
from krm_windows.schedule.timeline import openings
from krm_windows.schedule.timetable import Timetable

FAR = timedelta(days=400)
"""An opening that is later than this after the end of the period is none: as `state` has it."""
_HUNDRED = 100


@dataclass(frozen=True, slots=True)
class CommittedChange:
    """A commit as it was offered at a UTC instant."""

    commit: str
    at: datetime
    author: str
    subject: str


@dataclass(frozen=True, slots=True)
class Wait:
    """A change that waits, until the UTC instant `opens`; None where that is too far away."""

    change: CommittedChange
    opens: datetime | None

    @property
    def length(self) -> timedelta | None:
        """For how long it waits."""
        return None if self.opens is None else self.opens - self.change.at


@dataclass(frozen=True, slots=True)
class Month:
    """The changes of a month, `2026-01`; `total` is how long those of them that came in waited."""

    title: str
    changes: int
    waited: int
    total: timedelta


@dataclass(frozen=True, slots=True)
class Simulation:
    """The changes of the UTC interval [`begins`, `ends`) by their instants, and those that waited.

    `name` is what the policy is called beside others.
    """

    name: str
    timetable: Timetable
    begins: datetime
    ends: datetime
    changes: tuple[CommittedChange, ...]
    waits: tuple[Wait, ...]

    @property
    def zone(self) -> tzinfo:
        """The policy's time zone."""
        return self.timetable.zone

    @property
    def lengths(self) -> list[timedelta]:
        """How long they waited, the shortest first, but for those that never came in."""
        return sorted(wait.length for wait in self.waits if wait.length is not None)

    @property
    def median(self) -> timedelta | None:
        """As many waited longer as shorter."""
        if not self.lengths:
            return None
        # Of an even number it is the middle of the two in the middle, to the second.
        seconds = median(length.total_seconds() for length in self.lengths)
        return timedelta(seconds=int(seconds))

    def percentile(self, share: int) -> timedelta | None:
        """Return the shortest length that so many of a hundred did not exceed (nearest rank)."""
        if not self.lengths:
            return None
        # Rounded up, in whole numbers: of ten, 95 of 100 is the tenth.
        rank = -(-share * len(self.lengths) // _HUNDRED)
        return self.lengths[rank - 1]

    @property
    def longest(self) -> list[Wait]:
        """The waits that ended, the longest first; of two as long, the earlier one."""
        ended = [wait for wait in self.waits if wait.length is not None]
        # The commit that waited longest is the first to be looked at.
        return sorted(ended, key=lambda wait: (-(wait.length or timedelta()), wait.change.at))

    @property
    def pending(self) -> int:
        """How many waits went on at the end of the period."""
        return sum(wait.opens is None or wait.opens >= self.ends for wait in self.waits)

    @property
    def never(self) -> int:
        """How many waits have no opening that is near enough."""
        # A policy may be closed for good, by a freeze without an end, say.
        return sum(wait.opens is None for wait in self.waits)

    @property
    def openings(self) -> list[tuple[datetime, int]]:
        """The openings at which changes went in, and how many: first the one with the most."""
        numbers = Counter(wait.opens for wait in self.waits if wait.opens is not None)
        # Of two with as many the earlier one, so that the output is the same each time.
        return sorted(numbers.items(), key=lambda each: (-each[1], each[0]))

    @property
    def months(self) -> list[Month]:
        """The months of the policy's clock, those without a change, too."""
        zone = self.zone
        first = self.begins.astimezone(zone).toordinal()
        last = last_day(self.ends, zone).toordinal()
        days = (date.fromordinal(day) for day in range(first, last + 1))
        changes = Counter(map(self._month, self.changes))
        waited: dict[str, list[timedelta]] = {f"{day:%Y-%m}": [] for day in days}
        for wait in self.waits:
            waited[self._month(wait.change)].append(wait.length or timedelta())
        return [
            Month(at, changes[at], len(lengths), sum(lengths, timedelta()))
            for at, lengths in waited.items()
        ]

    def _month(self, change: CommittedChange) -> str:
        return f"{change.at.astimezone(self.zone):%Y-%m}"


def simulate(
    timetable: Timetable,
    changes: Sequence[CommittedChange],
    begins: datetime,
    ends: datetime,
    name: str = "",
) -> Simulation:
    """Replay the changes of the UTC interval [`begins`, `ends`), the oldest first.

    The name is that of the policy, unless another one is given.
    """
    waits = tuple(_waits(timetable, changes, begins, ends))
    return Simulation(name or named(timetable), timetable, begins, ends, tuple(changes), waits)


def _waits(
    timetable: Timetable,
    changes: Sequence[CommittedChange],
    begins: datetime,
    ends: datetime,
) -> Iterator[Wait]:
    """Walk along the openings and the changes together: both are in order."""
    # Lazily: a policy that opens daily is asked for as many days as have changes.
    coming = openings(timetable, begins, ends + FAR)
    opening = next(coming, None)
    for change in changes:
        # An opening is half open: what comes at its end waits for the next one.
        while opening is not None and opening[1] <= change.at:
            opening = next(coming, None)
        # None where it is closed for good, or for longer than anybody looks ahead.
        if opening is None or change.at < opening[0]:
            yield Wait(change, opening and opening[0])
