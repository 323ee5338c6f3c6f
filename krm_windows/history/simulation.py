"""A history replayed against a timetable: which changes would have waited, and for how long.

A change is offered at the committer's time of its commit on the way of first parents: that is when
it came onto the branch (a merge, a rebase and a squash each make a new commit), while the author's
time may be weeks before. What is offered while it is open does not wait. What is offered while it
is closed waits until it opens next, whatever comes in between.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from functools import cached_property
from itertools import chain
from statistics import median

from krm_windows.preview.calendar import named
from krm_windows.preview.clock import last_day
from krm_windows.schedule.timeline import openings
from krm_windows.schedule.timetable import Timetable

FAR = timedelta(days=400)
"""An opening that is later than this after the end of the period is none: as `state` has it."""
_HUNDRED = 100
_DAY = timedelta(days=1)
# A period of more days is told by months, a shorter one by weeks.
_BY_WEEKS = 92


@dataclass(frozen=True, slots=True)
class CommittedChange:
    """A commit as it was offered at a UTC instant; `classes` are those of what it changed."""

    commit: str
    at: datetime
    author: str
    subject: str
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """A change that waits, until the UTC instant `opens`; None where that is too far away."""

    change: CommittedChange
    opens: datetime | None

    @property
    def length(self) -> timedelta | None:
        """For how long it waits."""
        if self.opens is None:
            return None
        return self.opens - self.change.at


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Some of the changes: those of a week, a month or a class, and the waits among them."""

    title: str
    changes: int
    waits: tuple[Wait, ...]

    @property
    def waited(self) -> int:
        """How many waited."""
        return len(self.waits)

    @property
    def total(self) -> timedelta:
        """How long they waited together, but for those that never came in."""
        return sum(lengths(self.waits), timedelta())


@dataclass(frozen=True)
class Simulation:
    """The changes of the UTC interval [`begins`, `ends`) by their instants, and those that waited.

    `skewed` is how many of them have a time before that of the commit before them; `name` is what
    the policy is called beside others.
    """

    name: str
    timetable: Timetable
    begins: datetime
    ends: datetime
    changes: tuple[CommittedChange, ...]
    waits: tuple[Wait, ...]
    skewed: int = 0

    @property
    def zone(self) -> tzinfo:
        """The policy's time zone."""
        return self.timetable.zone

    @cached_property
    def lengths(self) -> list[timedelta]:
        """How long they waited, the shortest first, but for those that never came in."""
        return lengths(self.waits)

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
    def pending(self) -> list[Wait]:
        """The waits that went on at the end of the period."""
        return [wait for wait in self.waits if wait.opens is None or wait.opens >= self.ends]

    @property
    def never(self) -> list[Wait]:
        """The waits without an opening that is near enough."""
        # A policy may be closed for good, by a freeze without an end, say.
        return [wait for wait in self.waits if wait.opens is None]

    @cached_property
    def openings(self) -> list[tuple[datetime, tuple[Wait, ...]]]:
        """The openings at which changes went in, the one with the most of them first."""
        found: dict[datetime, list[Wait]] = {}
        for wait in self.waits:
            if wait.opens is not None:
                found.setdefault(wait.opens, []).append(wait)
        # Of two with as many the earlier one, so that the output is the same each time.
        by_size = sorted(found, key=lambda opens: (-len(found[opens]), opens))
        return [(opens, tuple(found[opens])) for opens in by_size]

    @cached_property
    def weeks(self) -> list[Breakdown]:
        """The weeks of the policy's clock, each titled with its Monday (ISO 8601)."""
        return self._by_days(lambda day: f"{day - day.weekday() * _DAY}")

    @cached_property
    def worst_week(self) -> Breakdown | None:
        """The week in which most changes waited; of those, the longest together, the earliest."""
        if not self.waits:
            return None
        # The first of equal ones, as `max` has it, and weeks are in order.
        return max(self.weeks, key=lambda week: (week.waited, week.total))

    @cached_property
    def parts(self) -> tuple[str, list[Breakdown]]:
        """What the period is told by, `week` or `month`, and those, the empty ones too."""
        # Thirteen weeks at most: as many lines as a year has months.
        if self.ends - self.begins <= _BY_WEEKS * _DAY:
            return "week", self.weeks
        return "month", self._by_days(lambda day: f"{day:%Y-%m}")

    @cached_property
    def classes(self) -> list[Breakdown]:
        """The change classes by name; a change of two classes is in both."""
        names = sorted(set(chain.from_iterable(change.classes for change in self.changes)))
        return self._by(names, lambda change: change.classes)

    def _by_days(self, title: Callable[[date], str]) -> list[Breakdown]:
        """Divide by what days of the policy's clock are titled with, in order."""
        zone = self.zone
        first = self.begins.astimezone(zone).toordinal()
        last = last_day(self.ends, zone).toordinal()
        # Those without a change are there, too.
        titles = dict.fromkeys(title(date.fromordinal(day)) for day in range(first, last + 1))
        return self._by(titles, lambda change: [title(change.at.astimezone(zone).date())])

    def _by(
        self, titles: Iterable[str], of: Callable[[CommittedChange], Iterable[str]]
    ) -> list[Breakdown]:
        numbers = Counter(chain.from_iterable(map(of, self.changes)))
        waits: dict[str, list[Wait]] = {}
        for wait in self.waits:
            for title in of(wait.change):
                waits.setdefault(title, []).append(wait)
        return [Breakdown(each, numbers[each], tuple(waits.get(each, ()))) for each in titles]


def simulate(
    timetable: Timetable,
    changes: Iterable[CommittedChange],
    begins: datetime,
    ends: datetime,
    name: str,
) -> Simulation:
    """Replay the changes of the UTC interval [`begins`, `ends`), given as the branch has them.

    The oldest comes first. The name is that of the policy, unless another one is given. Raises
    `LookupError` without the rules of the policy's zone.
    """
    within: list[CommittedChange] = []
    skewed = 0
    last: datetime | None = None
    for change in changes:
        if begins <= change.at < ends:
            within.append(change)
            if last is not None and change.at < last:
                skewed += 1
        # Also one outside: the first commit within may be behind the last one before.
        last = change.at
    # Two of one second stay as the branch has them.
    within.sort(key=lambda change: change.at)
    waits = tuple(_waits(timetable, within, begins, ends))
    return Simulation(
        name=name or named(timetable),
        timetable=timetable,
        begins=begins,
        ends=ends,
        changes=tuple(within),
        waits=waits,
        skewed=skewed,
    )


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


def lengths(waits: Iterable[Wait]) -> list[timedelta]:
    """Return how long waits took, the shortest first, but for those that have no end."""
    return sorted(wait.length for wait in waits if wait.length is not None)
