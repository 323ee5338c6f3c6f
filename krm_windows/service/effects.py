"""What each change of a policy did: the hours that it moved, and overrides that it made or ended.

A commit never changes, and the hours of the weeks that follow it are compared, whenever somebody
asks: so an answer holds for ever, and those that were asked for last are kept.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple, cast
from zoneinfo import ZoneInfo

from krm_windows.edit import overrides
from krm_windows.edit.overrides import ListedOverride
from krm_windows.krm import Value
from krm_windows.preview.calendar import Period
from krm_windows.preview.difference import ChangedPeriod, Difference, compare
from krm_windows.schedule.timetable import Timetable
from krm_windows.service import policies
from krm_windows.service.evaluation import Evaluator
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem
from krm_windows.system.git_branch import Branch
from krm_windows.system.git_objects import Commit

# Days whose hours are compared: four weeks, as `set` does; and of what moves none of theirs, such
# as a freeze of next summer, a year.
_DAYS = (28, 366)
_MOST_EFFECTS = 2000
# Of a change, clusters that differ and are compared: each takes some ten milliseconds.
_MOST_GROUPS = 50
# A version is the new one of its commit, and then the old one of the next.
_MOST_VERSIONS = 64
_UTC = ZoneInfo("UTC")
# A commit that was made by hand may have any time: the year behind it has to be before 10000.
_LATEST = int(datetime(9990, 1, 1, tzinfo=UTC).timestamp())


class OverrideEvent(NamedTuple):
    """An override that a change made, or else took out, as it was at that instant."""

    override: ListedOverride
    ticket: str | None
    is_made: bool = True


class _Version(NamedTuple):
    """A policy on clusters that are alike, with its overrides."""

    timetable: Timetable
    held: list[OverrideEvent]


class _Group(NamedTuple):
    """Clusters that are alike, before and after a change; one of no name where there are none."""

    clusters: list[str]
    old: _Version
    new: _Version


@dataclass(frozen=True, slots=True)
class MovedHours:
    """The hours that moved within some days on `clusters`, at the same times on their clocks.

    Instants are those of the first one.
    """

    difference: Difference
    days: int
    clusters: list[str]

    @property
    def parts(self) -> list[list[ChangedPeriod]]:
        """What opens and closes, together what does so at one time of several days."""
        same: dict[object, list[ChangedPeriod]] = {}
        for each in self.difference.changes:
            clock = each.begins.astimezone(self.difference.zone).time()
            same.setdefault((clock, each.ends - each.begins, each.grouping_key), []).append(each)
        return list(same.values())


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change did; `note` says why no hours moved, or why it is not known which.

    `still` are the clusters on which none did.
    """

    note: str = ""
    hours: tuple[MovedHours, ...] = ()
    still: Sequence[str] = ()
    events: Mapping[OverrideEvent, Sequence[str]] | None = None

    def hours_on(self, cluster: str | None) -> list[MovedHours]:
        """Return the hours that moved on a cluster; None is all of them."""
        return [each for each in self.hours if cluster is None or cluster in each.clusters]


class Effects:
    """Says what changes did, for any number of threads."""

    def __init__(self, branch: Branch) -> None:
        """Look at commits of a repository."""
        self._branch = branch
        # Without the targets of that time: hours that hang on them are not known.
        self._evaluator = Evaluator(None, lambda: "")
        self._of = lru_cache(_MOST_EFFECTS)(self._found)
        self.version = lru_cache(_MOST_VERSIONS)(self._read)

    def of(self, commit: Commit, stored: Stored) -> Effect:
        """Return what a commit did to a policy."""
        return self._of(commit, stored.file, stored.namespace, stored.name)

    def _found(self, commit: Commit, *policy: str) -> Effect:
        at = datetime.fromtimestamp(min(commit.committed, _LATEST) // 60 * 60, UTC)
        which = "the version before"
        try:
            old = self.version(commit.parent, *policy)
            which = "this version"
            new = self.version(commit.name, *policy)
            if old is None or new is None:
                return Effect("The policy was removed" if old else "The policy is new in this file")
            groups, still = self._alike(old, new)
            if len(groups) > _MOST_GROUPS:
                return Effect("Hours not compared: too many clusters differ")
            after = [self._on(new, names[0], at) for names in groups]
            which = "the version before"
            before = [self._on(old, names[0], at) for names in groups]
        except Problem as problem:
            why = ": ".join(
                [which, problem.detail, *(str(each["message"]) for each in problem.findings)]
            )
            return Effect(f"Hours not compared: {why}")
        found = _compared(list(map(_Group, groups, before, after)), at, _fields(old, new))
        return replace(found, still=[*found.still, *still])

    def _read(self, commit: str | None, file: str, namespace: str, name: str) -> Stored | None:
        """Return a policy as a commit has it, None where it has none; raises Problem."""
        found = self._branch.file(commit, file) if commit else None
        if found is None:
            return None
        parsed: policies.Parsed = "it is too large"
        if found.size <= policies.MOST:
            parsed = policies.parse(self._branch.contents([found.blob], found.size)[found.blob])
        if isinstance(parsed, str):
            raise Problem(HTTPStatus.CONFLICT, parsed)
        for *key, config in parsed:
            if key == [namespace, name]:
                return Stored(namespace, name, file, found.mode, found.blob, config)
        return None

    def _alike(self, old: Stored, new: Stored) -> tuple[list[list[str]], list[str]]:
        """Return the clusters that a change may be of, together those alike, and all others."""
        is_of_all = _without_clusters(old) != _without_clusters(new)
        still: list[str] = []
        groups: dict[str, list[str]] = {}
        was, now = map(self._evaluator.patches, (old, new))
        for name in {**was, **now} or [""]:
            if not is_of_all and was.get(name) == now.get(name):
                still.append(name)
                continue
            patches = json.dumps([was.get(name), now.get(name)], sort_keys=True)
            groups.setdefault(patches, []).append(name)
        return list(groups.values()), still

    def _on(self, stored: Stored, cluster: str, at: datetime) -> _Version:
        """Return a policy as a cluster has it; raises Problem where it is wrong."""
        # One that only the other version names has it as it is.
        name = cluster if cluster in self._evaluator.patches(stored) else None
        timetable = self._evaluator.timetable(stored, name)
        asked = self._evaluator.policy(stored, name).spec.overrides or {}
        held = []
        for rule in timetable.overrides:
            by, ticket = asked[rule.key].requested_by, asked[rule.key].ticket
            listed = overrides.as_listed(None, rule.key, by, [(rule, timetable)], at)
            # Most say when by an instant, which is the same in every zone.
            held.append(OverrideEvent(replace(listed, zone=_UTC), ticket))
        return _Version(timetable, held)


def _compared(groups: Sequence[_Group], at: datetime, fields: str) -> Effect:
    events: dict[OverrideEvent, list[str]] = {}
    for clusters, old, new in groups:
        ended = [each._replace(is_made=False) for each in old.held if each not in new.held]
        for event in (*ended, *(each for each in new.held if each not in old.held)):
            events.setdefault(event, []).extend(clusters)
    for days in _DAYS:
        # By the clocks: each zone has instants of its own.
        moved: dict[object, MovedHours] = {}
        for clusters, old, new in groups:
            found = compare(old.timetable, new.timetable, Period(at, days))
            key = tuple(
                (
                    f"{each.begins.astimezone(found.zone):%x %X}",
                    each.ends - each.begins,
                    each.reason,
                )
                for each in found.changes
            )
            moved.setdefault(key, MovedHours(found, days, [])).clusters.extend(clusters)
        still = moved.pop((), None)
        if moved:
            return Effect("", tuple(moved.values()), still.clusters if still else (), events)
    return Effect(f"No hours moved: {fields}", events=events)


def _without_clusters(stored: Stored) -> Value:
    spec = stored.config.get("spec")
    # What an earlier version of the file had may be anything.
    return {**spec, "clusters": None} if isinstance(spec, dict) else spec


def _fields(old: Stored, new: Stored) -> str:
    """Say what else a change is about."""
    was, now = (cast("dict[str, Value]", each.config.get("spec")) for each in (old, new))
    names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    return f"{', '.join(names) or 'only labels, comments or other objects of the file'} changed"
