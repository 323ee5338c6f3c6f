"""Which closing belongs to which opening: the windows that a set of CronJobs really makes.

What they gate is open from each opening until the first closing after it, whichever CronJob closes. So an opening is
paired with the one that closes first after each of its runs, and where that is not always the same one, it is split by
weekday or named.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from heapq import merge
from itertools import takewhile

from krm_windows import rules
from krm_windows.gate.recurrence import EVERY_DAY, EVERY_MONTH
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.trees import Place
from krm_windows.plan import AUDITED
from krm_windows.plan.union import WEEK, minutes
from krm_windows.policy import schedules
from krm_windows.policy.trouble import RefusedError
from krm_windows.results import Result
from krm_windows.schedule import controller, cron

_SUNDAY = datetime(2026, 1, 4, tzinfo=UTC)
_FORTNIGHT = _SUNDAY + timedelta(days=14)
_UNTIL_FIRST = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """One CronJob at work; `zone` is None where none is given.

    `place` is that of its schedule, `home` where the CronJob itself is written.
    """

    job: str
    namespace: str
    schedule: str
    zone: str | None
    place: Place
    home: Place


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """A window: the edge that opens it, the one that closes it; `part` is a weekday field that narrows the opening."""

    opens: Edge
    closes: Edge
    part: str = ""

    @property
    def opening(self) -> str:
        """The schedule of the opening."""
        return (
            f"{self.opens.schedule.rpartition(' ')[0]} {self.part}"
            if self.part
            else self.opens.schedule
        )


@dataclass(frozen=True, slots=True)
class Pairing:
    """The windows of some edges, and what is wrong with them; where an error stands, the windows are not whole."""

    pairs: tuple[Pair, ...] = ()
    results: tuple[Result, ...] = ()


def pair(opening: Iterable[Edge], closing: Iterable[Edge], about: str) -> Pairing:
    """Pair the edges at which something (`about`, for messages) is opened and closed."""
    opens, closes = sorted(opening), sorted(closing)
    wrong = [
        *_refused([*opens, *closes]),
        *_lonely(opens, closes, about),
        *_zones([*opens, *closes]),
    ]
    if wrong:
        return Pairing(results=tuple(wrong))
    first = _first_closings(opens, closes)
    met = tuple(_meeting(opens, closes, about))
    if met:
        return Pairing(results=met)
    found: list[Pair] = []
    results: list[Result] = []
    for edge in opens:
        pairs = list(_of(edge, first.get(edge, {})))
        found += pairs
        if not pairs:
            results.append(_split(edge, first.get(edge, {})))
    used = {each.closes for each in found}
    results += [_idle(edge, about) for edge in closes if edge not in used] if not results else []
    return Pairing(tuple(found), tuple(results))


def _refused(edges: Iterable[Edge]) -> Iterator[Result]:
    for edge in edges:
        try:
            schedules.parse(edge.schedule)
        except RefusedError as error:
            message = "; ".join(finding.message for finding in error.findings)
            yield found_at(
                rules.MIGRATE_UNTRANSLATED, edge.place, f"the schedule of {edge.job} {message}"
            )


def _lonely(opens: list[Edge], closes: list[Edge], about: str) -> Iterator[Result]:
    if opens and not closes:
        message = f"{opens[0].job} opens {about}, and no CronJob at work closes it again"
        yield found_at(rules.MIGRATE_NEVER_CLOSES, opens[0].place, message)
    if closes and not opens:
        message = f"{closes[0].job} closes {about}, and no CronJob at work opens it again"
        yield found_at(rules.MIGRATE_NEVER_OPENS, closes[0].place, message)


def _zones(edges: list[Edge]) -> Iterator[Result]:
    zones = sorted({edge.zone or "" for edge in edges})
    if len(zones) > 1:
        named = " and ".join(zone or "none" for zone in zones)
        message = f"{', '.join(edge.job for edge in edges)} have different time zones ({named}), and a policy has one"
        yield found_at(rules.MIGRATE_UNTRANSLATED, edges[0].place, message)


def _first_closings(
    opens: list[Edge], closes: list[Edge]
) -> dict[Edge, dict[Edge, list[datetime]]]:
    """Return for each opening the closings that come first after its runs, with those runs."""
    until = _horizon([*opens, *closes])
    events = merge(
        *(_runs(edge, 1, until) for edge in opens), *(_runs(edge, 0, until) for edge in closes)
    )
    waiting: list[tuple[Edge, datetime]] = []
    found: dict[Edge, dict[Edge, list[datetime]]] = {}
    for at, order, edge in events:
        if order == 1:
            waiting.append((edge, at))
            continue
        for opened, when in waiting:
            found.setdefault(opened, {}).setdefault(edge, []).append(when)
        waiting = []
    return found


def _runs(edge: Edge, order: int, until: datetime) -> Iterator[tuple[datetime, int, Edge]]:
    """Yield when a schedule fires on a wall clock that never changes; at one minute a closing comes first."""
    return ((at, order, edge) for at in _moments(edge.schedule, until))


@lru_cache(maxsize=256)
def _moments(schedule: str, until: datetime) -> tuple[datetime, ...]:
    recurrence = cron.parse(schedule).recurrence
    if until == _FORTNIGHT and recurrence:
        week = sorted(minutes(recurrence))
        return tuple(
            _SUNDAY + timedelta(minutes=minute)
            for minute in (*week, *(each + WEEK for each in week))
        )
    found = controller.runs(schedule, "", AUDITED[0] - _UNTIL_FIRST)
    return tuple(takewhile(lambda run: run < until, found))


def _horizon(edges: Iterable[Edge]) -> datetime:
    """Return until when runs are looked at: two weeks say all of schedules that repeat every week."""
    return _FORTNIGHT if all(map(_is_weekly, edges)) else AUDITED[1]


def _is_weekly(edge: Edge) -> bool:
    found = cron.parse(edge.schedule).recurrence
    return found is not None and found.months == EVERY_MONTH and found.days == EVERY_DAY


def _meeting(opens: list[Edge], closes: list[Edge], about: str) -> Iterator[Result]:
    """Find an opening and a closing at one minute: which of the two Jobs is last is chance."""
    until = _horizon([*opens, *closes])
    shut = {at: edge for edge in closes for at, _, _ in _runs(edge, 0, until)}
    for edge in opens:
        at = next((at for at, _, _ in _runs(edge, 1, until) if at in shut), None)
        if at:
            message = (
                f"{edge.job} opens {about} at a minute at which {shut[at].job} closes it, such as {at:%a %H:%M}, "
                "and chance decides which is last"
            )
            yield found_at(rules.MIGRATE_RACE, edge.place, message)


def _of(edge: Edge, closings: dict[Edge, list[datetime]]) -> Iterator[Pair]:
    if len(closings) == 1:
        yield Pair(edge, next(iter(closings)))
        return
    days = {closing: {at.isoweekday() % 7 for at in runs} for closing, runs in closings.items()}
    apart = sum(map(len, days.values())) == len(set().union(*days.values()))
    if closings and apart and _is_weekly(edge):
        for closing, weekdays in sorted(days.items()):
            yield replace(Pair(edge, closing), part=_weekdays(weekdays))


def _weekdays(days: set[int]) -> str:
    """Write weekdays as a field of a schedule."""
    ordered = sorted(days)
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):  # noqa: PLR2004 - a range pays
        return f"{ordered[0]}-{ordered[-1]}"
    return ",".join(map(str, ordered))


def _split(edge: Edge, closings: dict[Edge, list[datetime]]) -> Result:
    names = ", ".join(sorted(closing.job for closing in closings)) or "nothing"
    message = f"what {edge.job} opens is closed now by one and now by another of {names}, which is no window of a policy"
    return found_at(rules.MIGRATE_UNTRANSLATED, edge.place, message)


def _idle(edge: Edge, about: str) -> Result:
    message = f"{edge.job} only ever closes {about} when it is closed already, and is left out"
    return found_at(rules.MIGRATE_LEFT_OUT, edge.place, message)
