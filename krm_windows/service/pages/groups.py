"""What holds now, once for clusters that are alike: why, who wrote the rules, and what is next."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import chain, repeat
from statistics import mode
from urllib.parse import quote
from zoneinfo import ZoneInfo

from krm_windows import plurals
from krm_windows.gate.timetable import Decision
from krm_windows.policy.model import Freeze, Override, Window
from krm_windows.schedule import timeline
from krm_windows.schedule.table import rules_of
from krm_windows.schedule.timetable import Timetable
from krm_windows.service.admission import Call
from krm_windows.service.pages.rendering import policy_url
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem
from krm_windows.service.waiting import Waits
from krm_windows.system.git_objects import Commit

MOST = 100
"""Of one policy: each takes milliseconds, the first time."""
TOO_MANY = "not worked out here, as so many clusters differ: search for one by its name"
"""Why nothing is known of those beyond, which are one group all the same, so that all count."""
COMMITS = 15
"""So many changes of a file are at hand."""
# Who wrote a rule is searched for in more, of which each is read: a moment's work, the first time.
_MOST_BYTES = 250_000
_CLOSING = ("freezes.", "overrides.")
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Group:
    """Clusters of a policy on which the same holds; `problem` says why that is not known.

    A policy that names no clusters has one group without names. `url` is the address of its page,
    `change` the last one of its file, `waits` what has come since it closed.
    """

    stored: Stored
    names: tuple[str, ...]
    url: str
    change: Commit | None
    problem: str = ""
    timetable: Timetable | None = None
    decision: Decision | None = None
    waits: Waits | None = None

    @property
    def state(self) -> str:
        """Open, closed or unknown."""
        if self.decision is None:
            return "unknown"
        return "open" if self.decision.open else "closed"

    @property
    def title(self) -> str:
        """The clusters in a line: `412 clusters like berlin`."""
        if self.problem == TOO_MANY:
            return plurals.counted(len(self.names), "more cluster")
        return plurals.clusters(self.names) or "every cluster"

    @property
    def cluster(self) -> str | None:
        """The first of them, which stands for all."""
        return next(iter(self.names), None)

    @property
    def overrides(self) -> dict[str, str]:
        """The overrides that decide now, with their reasons."""
        if self.timetable is None or self.decision is None:
            return {}
        rules = self.timetable.overrides
        return {each.key: each.reason for each in rules if each.name in self.decision.rules}

    @property
    def zone(self) -> ZoneInfo | None:
        """Its time zone."""
        return self.timetable and self.timetable.zone


@dataclass(frozen=True, slots=True)
class Reason:
    """A rule that decides: what it is, by the field of the spec, its key there, and what it says.

    `written` is the commit that gave it its text; where that is unknown, how many came later.
    """

    kind: str
    key: str
    entry: Window | Freeze | Override | None
    written: Commit | int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a group is open or closed, by which other rules it is so `later`, and what is next.

    Where no rule closes it any more, the reasons are those that closed it, or by which it was open
    before, and `has_ended`.
    """

    reasons: tuple[Reason, ...]
    later: tuple[Reason, ...]
    has_ended: bool
    following: Decision | None


def of(call: Call, stored: Stored, names: tuple[str, ...], now: datetime) -> Group:
    """Work out what holds on clusters that are alike."""
    windows = call.windows
    file = windows.snapshot.selector(stored)
    alone = names[0] if len(names) == 1 else None
    url = policy_url(stored.namespace, stored.name, cluster=alone, file=file)
    if names and not alone:
        url += f"#on-{quote(names[0])}"
    change = next(iter(windows.history(stored, 1)), None)
    group = Group(stored, names, url, change)
    try:
        timetable = windows.evaluator.timetable(stored, group.cluster)
    except Problem as problem:
        # A policy that is wrong has a row, too: it opens nothing, and somebody has to look at it.
        return replace(group, problem=problem.detail)
    decision = timeline.decide(timetable, now)
    waits = None if decision.open else windows.waits(decision)
    return replace(group, timetable=timetable, decision=decision, waits=waits)


def every(call: Call, stored: Stored, now: datetime) -> list[Group]:
    """Return the groups of a policy, those first of which nothing is known; beyond `MOST` one."""
    alike = call.windows.evaluator.alike(stored)
    found: dict[tuple[str, Timetable | None], list[str]] = {}
    for names in alike[:MOST]:
        here = of(call, stored, names, now)
        # Patches that differ in other things leave the hours alike.
        key = here.problem, here.timetable and rules_of(here.timetable)
        found.setdefault(key, []).extend(names)
    shown = sort(of(call, stored, tuple(names), now) for names in found.values())
    rest = tuple(chain.from_iterable(alike[MOST:]))
    if not rest:
        return shown
    # Of these, not even the first one counts for all.
    left = of(call, stored, rest, now)
    return [*shown, Group(stored, rest, left.url, left.change, TOO_MANY)]


def like(call: Call, cluster: str) -> tuple[str, ...]:
    """Return the clusters of a group by one of them."""
    found = every(call, call.stored(), call.windows.now())
    return next(each.names for each in found if cluster in each.names)


def sort(groups: Iterable[Group]) -> list[Group]:
    """Put those first of which nothing is known: somebody has to look at them."""
    return sorted(groups, key=lambda each: each.decision is not None)


def today(every: Iterable[Group], now: datetime) -> date:
    """Return the day that it is on the clocks of most clusters."""
    days = (repeat(now.astimezone(each.zone).date(), len(each.names) or 1) for each in every)
    # Without any, that of UTC.
    return mode([*chain.from_iterable(days), now.date()])


def explain(call: Call, group: Group) -> Explanation | None:
    """Say why a group is open or closed; None where that is not known."""
    decision, timetable = group.decision, group.timetable
    if decision is None or timetable is None:
        return None
    rules, following = decision.rules, None
    later: tuple[str, ...] = ()
    ended = None if rules else decision.since
    if ended is not None:
        # A freeze, or an override, may have begun while it was open, and be over, too.
        rules = timeline.decide(timetable, ended).rules
        if not any(rule.startswith(_CLOSING) for rule in rules):
            rules = timeline.decide(timetable, ended - _MINUTE).rules
    if decision.until:
        following = timeline.decide(timetable, decision.until)
        last = timeline.decide(timetable, decision.until - _MINUTE).rules
        later = last if last != decision.rules else ()
    reasons, others = (tuple(_reasons(call, group, each)) for each in (rules, later))
    return Explanation(reasons, others, ended is not None, following)


def _reasons(call: Call, group: Group, rules: Iterable[str]) -> Iterator[Reason]:
    windows, stored = call.windows, group.stored
    spec = windows.evaluator.policy(stored, group.cluster).spec
    for rule in rules:
        kind, _, key = rule.partition(".")
        written = windows.effects.author(stored, group.cluster, rule, _history(call, stored))
        # `state`, and others that are no entries of a map.
        entry = getattr(spec, kind)[key] if key else None
        yield Reason(kind, key, entry, written)


def _history(call: Call, stored: Stored) -> Iterator[Commit]:
    """Yield the changes of a policy's file, newest first; beyond those at hand if need be."""
    yield from call.windows.history(stored, COMMITS)
    further = _MOST_BYTES // len(stored.config.span)
    yield from call.windows.history(stored, COMMITS + further)[COMMITS:]
