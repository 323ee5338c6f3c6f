"""The edges of the actuator `Kubectl`: when a CronJob opens the targets, and when one closes them.

Its CronJobs act, so an edge that is inside another window must not fire: what is emitted are the
edges of the union of all windows. If all windows are weekly, the union is worked out over a week;
otherwise the windows' own edges have to be those of the union already. What no schedule of edges
keeps is refused, with the advice to use `Gate`.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise, product
from typing import NamedTuple

from krm_windows import rules
from krm_windows.gate.table import Table
from krm_windows.plan import covering
from krm_windows.plan.grouping import grouped
from krm_windows.plan.triggers import Edge, Trigger, Wording
from krm_windows.results import Result
from krm_windows.schedule import bits, cron, table
from krm_windows.schedule.bits import DAY
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Rule, Timetable

# The ten calendar years for which a release proves the edges of `Kubectl`: a build reads no clock.
AUDITED = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2036, 1, 1, tzinfo=UTC))
# How long the Job of an edge may take to start, and then again to end, so that it never outlasts
# the opposite edge.
MOST_PATIENCE = timedelta(minutes=5)
LEAST_PATIENCE = timedelta(minutes=1)
_MINUTE = timedelta(minutes=1)
# The day before is that from which the first edge is seen.
_AUDITED_DAYS = range(AUDITED[0].toordinal() - 1, AUDITED[1].toordinal())
_SUNDAY = 14  # an ordinal; any one, for weekly windows on a clock that never changes
_WEEK = range(_SUNDAY, _SUNDAY + 7)
GATE = "the actuator Gate keeps it"


class Edges(NamedTuple):
    """The CronJobs that act, how late each may start and end, and what speaks against them."""

    triggers: tuple[Trigger, ...] = ()
    patience: timedelta = MOST_PATIENCE
    results: tuple[Result, ...] = ()


class _WindowEdge(NamedTuple):
    """The opening or the closing edge of windows.

    `field` holds its moment, `verb` is in the names of its CronJobs, which write `suspends`.
    """

    field: str
    verb: str
    suspends: bool
    kind: Edge

    def given(self, window: Rule, wording: Wording) -> str | None:
        name: str | None = getattr(wording.given.get(window.name), self.verb, None)
        return name

    def value(self, window: Rule) -> object:
        return window.ends if self.suspends else window.begins

    def path(self, window: Rule) -> str:
        # A window that lasts ends nowhere in the text: what a person would change is its duration.
        if isinstance(self.value(window), timedelta):
            return f"{window.name}.duration"
        return f"{window.name}.{self.field}"

    def trigger(
        self,
        window: Rule,
        schedule: str,
        shared: Iterable[str],
        timetable: Timetable,
        wording: Wording,
    ) -> Trigger:
        """Return a CronJob of a window; two that open together share it, and it names both."""
        words = "; ".join(wording.words.get(name, name) for name in shared)
        return Trigger(
            slug=f"{self.verb}-{window.key}",
            schedule=schedule,
            time_zone=timetable.time_zone,
            words=f"{self.field} {words}",
            given=self.given(window, wording),
            suspends=self.suspends,
            path=self.path(window),
            edge=self.kind,
        )


OPENS = _WindowEdge("opens", "open", suspends=False, kind=Edge.OPENING)
CLOSES = _WindowEdge("closes", "close", suspends=True, kind=Edge.CLOSING)


def edges(timetable: Timetable, wording: Wording) -> Edges:
    """Return the edges of a timetable's windows.

    They are worth something only where no result is an error.
    """
    resumes = rules.KUBECTL_RESUMES_ALL.result(
        "resumes every suspended target, including those that a person suspended, and does "
        "nothing between two edges, so a change to the windows takes effect only at the next "
        "edge; Gate resumes only what it suspended, and runs at once",
        path="spec.actuator.type",
        current="Kubectl",
    )
    found = _of_windows(timetable, wording)
    return found._replace(results=(resumes, *found.results))


def _of_windows(timetable: Timetable, wording: Wording) -> Edges:
    refused: list[Result] = []
    for window in timetable.windows:
        refused.extend(_refused(window))
    if refused:
        return Edges(results=tuple(refused))
    # Over a week the union is exact, and its edges can be given any schedules that are needed.
    if all(window.is_weekly for window in timetable.windows):
        return _weekly(timetable, wording)
    return _as_they_are(timetable, wording)


def _refused(window: Rule) -> Iterator[Result]:
    """Refuse what no schedule says.

    A date has a year, and a weekday of the month takes both day fields.
    """
    for name, value in (("opens", window.begins), ("closes", window.ends)):
        path = f"{window.name}.{name}"
        if isinstance(value, datetime):
            yield _error(path, f"happens once, and a cron schedule has no year: {GATE}")
        elif isinstance(value, Recurrence) and (value.nth is not None or value.shift):
            yield _error(
                path,
                "is an nth day of a month, and a cron schedule with both day fields matches "
                f"either of them: {GATE}",
            )


def _weekly(timetable: Timetable, wording: Wording) -> Edges:
    """Return the edges of the union of weekly windows."""
    opens, closes = _of_week(timetable.windows)
    if not opens:
        message = "together are never closed, so there is no edge to act at"
        return Edges(results=(_error("windows", message),))
    own = {window.name: _of_week([window]) for window in timetable.windows}
    found: list[Trigger | Result] = []
    for number, (edge, wanted) in enumerate(((OPENS, opens), (CLOSES, closes))):
        of_edge = {name: both[number] for name, both in own.items()}
        found += _shared_out(edge, wanted, of_edge, timetable, wording)
    triggers, results = _parted(found)
    # Window `a` with several CronJobs has an `open-a-2200`, and a window `a-2200` has one, too.
    if len({each.slug for each in triggers}) < len(triggers):
        message = "would have CronJobs with the same name: rename one"
        results.append(_error("windows", message))
    week = sorted(opens | closes)
    # After the last edge of a week comes the first of the next.
    return _patient(triggers, _shortest([*week, week[0] + len(_WEEK) * DAY]), results)


def _of_week(windows: Iterable[Rule]) -> tuple[frozenset[int], frozenset[int]]:
    """Return when the union of weekly windows opens and closes, in minutes from a Sunday on."""
    days = range(_WEEK.start - 1, _WEEK.stop)
    opens: set[int] = set()
    closes: set[int] = set()
    for day, begins, ends in table.edges(_union(windows, days)):
        opens.update((day - _SUNDAY) * DAY + minute for minute in bits.numbers(begins))
        closes.update((day - _SUNDAY) * DAY + minute for minute in bits.numbers(ends))
    return frozenset(opens), frozenset(closes)


def _union(windows: Iterable[Rule], days: range) -> Table:
    """Return when windows are open, on a wall clock that never changes."""
    return table.make(Timetable("", "", windows=tuple(windows)), UTC, days).table


def _shortest(edges: Iterable[int]) -> timedelta:
    """Return the shortest time between two of some minutes in order."""
    gaps = (later - edge for edge, later in pairwise(edges))
    return timedelta(minutes=min(gaps, default=DAY))


def _parted(parts: Iterable[Trigger | Result]) -> tuple[tuple[Trigger, ...], list[Result]]:
    """Part CronJobs, in the order of their names, from what speaks against them."""
    triggers: list[Trigger] = []
    results: list[Result] = []
    for part in parts:
        if isinstance(part, Trigger):
            triggers.append(part)
        else:
            results.append(part)
    triggers.sort(key=lambda each: each.slug)
    return tuple(triggers), results


def _shared_out(
    edge: _WindowEdge,
    wanted: frozenset[int],
    own: Mapping[str, frozenset[int]],
    timetable: Timetable,
    wording: Wording,
) -> Iterator[Trigger | Result]:
    """Give each edge of a weekly union to the window that it belongs to.

    One that several share goes to the first by name. `own` are all edges of each window, in minutes
    of the week.
    """
    # Each edge of the union is somebody's; what is taken is not given to a later window.
    left = wanted
    for window in timetable.windows:
        mine = own[window.name] & left
        left -= mine
        given = edge.given(window, wording)
        lines = _lines(edge, window, mine, wording)
        # The policy names one CronJob; of two with that name only one would be applied.
        if given and len(lines) != 1:
            message = (
                "must not be set: the edges of this window are not CronJobs of their own; or "
                f"{GATE}"
            )
            yield _error(f"{window.name}.cronJobs.{edge.verb}", message, given)
        shared = [name for name, of_window in own.items() if of_window & mine]
        for first, schedule in lines:
            trigger = edge.trigger(window, schedule, shared, timetable, wording)
            # Several of one window are distinguished by the first time of day that each has.
            at = f"-{first // 60:02}{first % 60:02}" if len(lines) > 1 else ""
            yield trigger._replace(slug=trigger.slug + at)


def _lines(
    edge: _WindowEdge, window: Rule, mine: frozenset[int], wording: Wording
) -> list[tuple[int, str]]:
    """Return the schedules for the edges of one window.

    As written, where that is what fires at them.
    """
    written = wording.schedules.get((window.name, edge.field))
    value = edge.value(window)
    if written and isinstance(value, Recurrence) and _minutes_of_week(value) == mine:
        return [(0, written)]
    return sorted(_schedules(mine))


def _minutes_of_week(recurrence: Recurrence) -> frozenset[int]:
    """Return when a weekly recurrence is, in minutes from a Sunday on."""
    times = product(recurrence.named(_WEEK), bits.numbers(recurrence.times))
    return frozenset((day - _SUNDAY) * DAY + minute for day, minute in times)


def _schedules(wanted: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield the fewest schedules that fire at exactly these minutes of the week.

    Each has its first time of day.
    """
    # The weekdays of each time of day, then the minutes of each hour with the same weekdays, then
    # the hours with the same minutes and weekdays: what is left are schedules whose fields are
    # products of sets.
    weekdays_at = grouped((minute % DAY, minute // DAY) for minute in wanted)
    minutes_of = grouped(
        ((weekdays, clock // 60), clock % 60) for clock, weekdays in weekdays_at.items()
    )
    hours_of = grouped(
        ((weekdays, minutes_of_hour), hour)
        for (weekdays, hour), minutes_of_hour in minutes_of.items()
    )
    for (weekdays, minutes_of_hour), hours in hours_of.items():
        first = min(hours) * 60 + min(minutes_of_hour)
        minute_field = cron.field(minutes_of_hour, range(60))
        hour_field = cron.field(hours, range(24))
        weekday_field = cron.field(weekdays, range(7))
        yield first, f"{minute_field} {hour_field} * * {weekday_field}"


def _as_they_are(timetable: Timetable, wording: Wording) -> Edges:
    """Take the edges of windows that are not weekly, and prove them those of their union."""
    own: list[Trigger | Result] = []
    for window in timetable.windows:
        own.extend(_own(timetable, window, wording))
    triggers, results = _parted(own)
    if results:
        return Edges(results=tuple(results))
    return _proven(timetable, triggers)


def _proven(timetable: Timetable, triggers: tuple[Trigger, ...]) -> Edges:
    """Hold the schedules against the union of the windows, by the minute of audited years."""
    fired = {suspends: _fired(triggers, suspends=suspends) for suspends in (False, True)}
    found: list[int] = []
    for day, opens, closes in table.edges(_union(timetable.windows, _AUDITED_DAYS)):
        # A bit that only one side has: an edge that no CronJob meets, or a run at no edge.
        odd = opens ^ fired[False].get(day, 0) | closes ^ fired[True].get(day, 0)
        if odd:
            at = bits.moment(day, bits.first(odd))
            message = (
                f"overlap or leave no time between them, as on {at:%Y-%m-%d} at {at:%H:%M} "
                f"{timetable.time_zone}: {GATE}"
            )
            return Edges(results=(_error("windows", message),))
        found += [day * DAY + minute for minute in bits.numbers(opens | closes)]
    return _patient(triggers, _shortest(found), [])


def _fired(triggers: Iterable[Trigger], *, suspends: bool) -> dict[int, int]:
    """Return the minutes of audited days at which schedules fire, as bits.

    On a wall clock that never changes, a schedule fires exactly when its fields say.
    """
    found: dict[int, int] = {}
    for trigger in triggers:
        recurrence = cron.parse(trigger.schedule).recurrence
        # Only `@every` is none, which no policy may have.
        if recurrence is None:
            raise TypeError(trigger.schedule)
        if trigger.suspends is suspends:
            for day in recurrence.named(_AUDITED_DAYS):
                found[day] = found.get(day, 0) | recurrence.times
    return found


def _own(timetable: Timetable, window: Rule, wording: Wording) -> Iterator[Trigger | Result]:
    """Yield a CronJob for either edge of a window, or why there can be none."""
    for edge in (OPENS, CLOSES):
        # What the policy has written as cron stays as a person wrote it.
        written = wording.schedules.get((window.name, edge.field))
        schedule = written or _exact(window, edge)
        if schedule is None:
            message = (
                "is on another day than its beginning, which days of the month cannot express: "
                f"{GATE}"
            )
            yield _error(edge.path(window), message)
            continue
        yield edge.trigger(window, schedule, [window.name], timetable=timetable, wording=wording)


def _exact(window: Rule, edge: _WindowEdge) -> str | None:
    """Return the schedule of one end of a window, None if none fires exactly then."""
    value = edge.value(window)
    if isinstance(value, Recurrence):
        return covering.cover(value, covering.moments(value))
    # What is dated was refused before.
    if not isinstance(window.begins, Recurrence) or not isinstance(value, time | timedelta):
        return None
    at = covering.ends_of(covering.moments(window.begins), value)
    # An end on another day needs the day fields moved, and of "the 31st, a day later" none is.
    if any(moment // DAY for moment in at):
        return None
    # That it fires at no other minute is proven with all of them.
    return covering.cover(window.begins, at)


def _patient(
    triggers: tuple[Trigger, ...],
    gap: timedelta,
    results: list[Result],
) -> Edges:
    """Share the shortest time between two edges between starting and ending."""
    # Once to start, once to end, and a minute between that and the opposite edge.
    patience = min(MOST_PATIENCE, (gap - LEAST_PATIENCE) // 2)
    if patience < LEAST_PATIENCE:
        message = (
            f"are within {gap // _MINUTE} minutes of each other, so a Job that starts "
            f"late would undo the next: {GATE}"
        )
        found = rules.KUBECTL_DEADLINE.result(f"have edges that {message}", path="spec.windows")
        results = [*results, found]
    return Edges(triggers, patience, tuple(results))


def _error(
    path: str,
    message: str,
    current: str | None = None,
) -> Result:
    return rules.KUBECTL_UNION.result(message, path=f"spec.{path}", current=current)
