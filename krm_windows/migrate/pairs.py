"""Which closing belongs to which opening: the windows that a set of CronJobs really makes.

What they gate is open from each opening until the first closing after it, whichever CronJob closes.
So an opening is paired with the one that closes first after each of its runs, and where that is not
always the same one, it is split by weekday or named.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from heapq import merge
from itertools import repeat, takewhile
from typing import TypeAlias

from krm_windows import rules
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.repository import Location
from krm_windows.plan import AUDITED
from krm_windows.policy import schedules
from krm_windows.policy.findings import RefusedError
from krm_windows.results import Result
from krm_windows.schedule import controller, cron

# A Sunday of no meaning: weekly schedules are read on a clock that never changes.
_SUNDAY = datetime(2026, 1, 4, tzinfo=UTC)
_FORTNIGHT = _SUNDAY + timedelta(days=14)
# The controller's runs are those after a moment, and the first one counts.
_UNTIL_FIRST = timedelta(seconds=1)
# What an edge does; of two at one minute the closing comes first.
_CLOSES, _OPENS = range(2)
# From so many weekdays on, `1-3` is shorter than `1,2,3`.
_RANGE = 3


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """One CronJob at work."""

    job: str
    namespace: str
    schedule: str

    zone: str | None
    """None where none is given."""

    location: Location
    """Where its schedule is written."""

    home: Location
    """Where the CronJob itself is written."""


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """A window: the edge that opens it, and the one that closes it."""

    opens: Edge
    closes: Edge

    weekdays: str = ""
    """A weekday field that narrows the opening, or nothing."""

    @property
    def jobs(self) -> tuple[str, str]:
        """The CronJobs that open and close."""
        return self.opens.job, self.closes.job

    @property
    def opening(self) -> str:
        """The schedule of the opening."""
        schedule = self.opens.schedule
        if not self.weekdays:
            return schedule
        # The weekdays are the last of the five fields of a schedule.
        others, _, _ = schedule.rpartition(" ")
        return f"{others} {self.weekdays}"


@dataclass(frozen=True, slots=True)
class Pairing:
    """The windows of some edges, and what is wrong with them.

    With an error among the results, the windows are not whole.
    """

    pairs: tuple[Pair, ...] = ()
    results: tuple[Result, ...] = ()


# The runs of an opening by the closing that comes first after each.
_Closings: TypeAlias = dict[Edge, list[datetime]]


def pair(opening: Iterable[Edge], closing: Iterable[Edge], about: str) -> Pairing:
    """Pair the edges at which something (`about`, for messages) is opened and closed."""
    opens = sorted(opening)
    closes = sorted(closing)
    # What is wrong with single edges comes first: it would make the rest senseless.
    edges = opens + closes
    wrong = [*_refused(edges), *_unpaired(opens, closes, about), *_zones(edges)]
    if wrong:
        return Pairing(results=tuple(wrong))
    first, races = _first_closings(opens, closes)
    if races:
        return Pairing(results=tuple(_race(edge, about, *met) for edge, met in races.items()))
    found: list[Pair] = []
    results: list[Result] = []
    for edge in opens:
        closings = first.get(edge, {})
        pairs = list(_pairs(edge, closings))
        found += pairs
        # Several closings, and no weekdays that would say which one comes.
        if not pairs:
            results.append(_split(edge, closings))
    # Where the windows are not whole, a closing that seems idle may not be.
    if not results:
        used = {each.closes for each in found}
        results += (_idle(edge, about) for edge in closes if edge not in used)
    return Pairing(tuple(found), tuple(results))


def _refused(edges: Iterable[Edge]) -> Iterator[Result]:
    """Name schedules that a policy does not take."""
    for edge in edges:
        try:
            schedules.parse(edge.schedule)
        except RefusedError as error:
            reasons = "; ".join(finding.message for finding in error.findings)
            message = f"the schedule of {edge.job} {reasons}"
            yield found_at(rules.MIGRATE_UNTRANSLATED, edge.location, message)


def _unpaired(
    opens: list[Edge],
    closes: list[Edge],
    about: str,
) -> Iterator[Result]:
    if opens and not closes:
        message = f"{opens[0].job} opens {about}, and no active CronJob closes it again"
        yield found_at(rules.MIGRATE_NEVER_CLOSES, opens[0].location, message)
    if closes and not opens:
        message = f"{closes[0].job} closes {about}, and no active CronJob opens it again"
        yield found_at(rules.MIGRATE_NEVER_OPENS, closes[0].location, message)


def _zones(edges: list[Edge]) -> Iterator[Result]:
    # None and UTC are two: which zone the controller has is not known.
    zones = sorted({edge.zone or "" for edge in edges})
    if len(zones) <= 1:
        return
    named = " and ".join(zone or "none" for zone in zones)
    jobs = ", ".join(edge.job for edge in edges)
    message = f"{jobs} have different time zones ({named}), but a policy has only one"
    yield found_at(rules.MIGRATE_UNTRANSLATED, edges[0].location, message)


def _first_closings(
    opens: list[Edge], closes: list[Edge]
) -> tuple[dict[Edge, _Closings], dict[Edge, tuple[datetime, Edge]]]:
    """Return for each opening the closings that come first after its runs, with those runs.

    And the openings that meet a closing at one minute: which of the two Jobs is last is chance.
    """
    until = _horizon(opens + closes)
    runs = [zip(_moments(e.schedule, until), repeat(_OPENS), repeat(e)) for e in opens]
    runs += [zip(_moments(e.schedule, until), repeat(_CLOSES), repeat(e)) for e in closes]
    waiting: list[tuple[Edge, datetime]] = []
    found: dict[Edge, _Closings] = {}
    races: dict[Edge, tuple[datetime, Edge]] = {}
    shut: tuple[datetime, Edge] | None = None
    # In the order of time; `merge` needs each of them sorted, which runs are.
    for at, does, edge in merge(*runs):
        if does == _OPENS:
            waiting.append((edge, at))
            if shut and shut[0] == at:
                races.setdefault(edge, shut)
            continue
        shut = (at, edge)
        # The first closing ends all that was opened before it.
        for opened, when in waiting:
            found.setdefault(opened, {}).setdefault(edge, []).append(when)
        waiting = []
    return found, races


@lru_cache(maxsize=256)
def _moments(schedule: str, until: datetime) -> tuple[datetime, ...]:
    """Return the runs of a schedule, on a wall clock that is written as UTC."""
    # Of two weeks: what opens on a Saturday may close on a Sunday.
    begins = _SUNDAY if until == _FORTNIGHT else AUDITED[0]
    found = controller.runs(schedule, "", begins - _UNTIL_FIRST)
    return tuple(takewhile(lambda run: run < until, found))


def _horizon(edges: Iterable[Edge]) -> datetime:
    """Return until when runs are read: two weeks say all of what repeats every week."""
    if all(map(_is_weekly, edges)):
        return _FORTNIGHT
    return AUDITED[1]


def _is_weekly(edge: Edge) -> bool:
    found = cron.parse(edge.schedule).recurrence
    return found is not None and found.is_weekly


def _race(edge: Edge, about: str, at: datetime, closing: Edge) -> Result:
    message = (
        f"{edge.job} opens {about} in the same minute in which {closing.job} closes it, such as "
        f"{at:%a %H:%M} {edge.zone or 'Etc/UTC'}, so the result is random"
    )
    return found_at(rules.MIGRATE_RACE, edge.location, message)


def _pairs(edge: Edge, closings: _Closings) -> Iterator[Pair]:
    """Pair an opening with its closing, or with several if each has weekdays of its own."""
    if len(closings) == 1:
        yield Pair(edge, next(iter(closings)))
        return
    if not closings or not _is_weekly(edge):
        return
    # Weekly runs on one weekday are alike but for their time of day.
    days = {closing: set(map(_weekday, runs)) for closing, runs in closings.items()}
    every = set[int]().union(*days.values())
    # On one weekday now this one comes first, and now that one.
    if sum(map(len, days.values())) > len(every):
        return
    for closing, weekdays in sorted(days.items()):
        yield Pair(edge, closing, _field(sorted(weekdays)))


def _weekday(at: datetime) -> int:
    """Return the number of a weekday as cron has it: 0 is Sunday."""
    return at.isoweekday() % 7


def _field(days: list[int]) -> str:
    """Write weekdays as a field of a schedule, such as `1-5`, or `0,3`."""
    first = days[0]
    last = days[-1]
    if len(days) >= _RANGE and days == list(range(first, last + 1)):
        return f"{first}-{last}"
    return ",".join(map(str, days))


def _split(edge: Edge, closings: _Closings) -> Result:
    names = ", ".join(sorted(closing.job for closing in closings)) or "nothing"
    message = (
        f"what {edge.job} opens is closed by different CronJobs of {names} at different times, "
        "which a policy's window cannot express"
    )
    return found_at(rules.MIGRATE_UNTRANSLATED, edge.location, message)


def _idle(edge: Edge, about: str) -> Result:
    message = f"{edge.job} only closes {about} when it is already closed, so it is left out"
    return found_at(rules.MIGRATE_LEFT_OUT, edge.location, message)
