"""What each change of a policy did: hours it moved, overrides it made or ended, rules it wrote.

A commit never changes, and the hours of the weeks that follow it are compared, whenever somebody
asks: so an answer holds for ever, and those that were asked for last are kept.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple, TypeAlias, cast

from krm_windows.edit import overrides
from krm_windows.edit.overrides import ListedOverride
from krm_windows.krm import InputError, Value
from krm_windows.plurals import clusters
from krm_windows.policy.model import Override
from krm_windows.preview.changed_rules import differences, unmoved
from krm_windows.preview.difference import ChangedPeriod, Difference
from krm_windows.schedule.timetable import Rule, Timetable
from krm_windows.service import policies
from krm_windows.service.evaluation import Evaluator
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem
from krm_windows.system.git_branch import Branch
from krm_windows.system.git_objects import Commit

_MOST_EFFECTS = 2000
# Of a change, clusters that differ and are compared: each takes some ten milliseconds.
_MOST_GROUPS = 50
# A version is the new one of its commit, and then the old one of the next.
_MOST_VERSIONS = 64
_MOST_TEXTS = 5000
_UNKNOWN = ""
# A commit that was made by hand may have any time: the year behind it has to be before 10000.
_LATEST = int(datetime(9990, 1, 1, tzinfo=UTC).timestamp())


class OverrideEvent(NamedTuple):
    """An override that a change made, or else took out: what it was then, and as it is written.

    Where the other version `has_another` of its name, it is changed: taken out as it was, and made.
    """

    override: ListedOverride
    asked: Override
    is_made: bool
    has_another: bool


class _Version(NamedTuple):
    """A policy on clusters that are alike, with what it says of its overrides."""

    timetable: Timetable
    overrides: dict[str, Override]


class _Group(NamedTuple):
    """Clusters that are alike, before and after a change; one of no name where there are none."""

    clusters: list[str]
    old: _Version
    new: _Version


# The clusters that have an override, and how it is on their clocks.
_Places: TypeAlias = tuple[list[str], list[tuple[Rule, Timetable]]]


@dataclass(frozen=True, slots=True)
class MovedHours:
    """The hours that moved on `clusters`, at the same times on their clocks.

    Instants are those of the first one.
    """

    difference: Difference
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

    `still` are clusters that it is of and on which none did, and `why` is why overrides did not.
    """

    note: str = ""
    hours: tuple[MovedHours, ...] = ()
    still: Sequence[str] = ()
    events: Mapping[OverrideEvent, Sequence[str]] | None = None
    why: str = ""

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
        self._version = lru_cache(_MOST_VERSIONS)(self._read)
        self._text = lru_cache(_MOST_TEXTS)(self._said)

    def of(self, commit: Commit, stored: Stored) -> Effect:
        """Return what a commit did to a policy."""
        return self._of(commit, stored.file, stored.namespace, stored.name)

    def author(
        self, stored: Stored, cluster: str | None, rule: str, history: Iterable[Commit]
    ) -> Commit | int:
        """Return the commit that gave a rule its text, or else how many of a history came later.

        The history has the latest commits that changed the file, newest first; `rule` is a path in
        the spec, such as `windows.week`, and on a cluster its patch counts, too.
        """
        policy = stored.file, stored.namespace, stored.name
        shallow = self._branch.layout.shallow()
        later = -1
        for later, commit in enumerate(history):
            text = self._text(commit.name, cluster, rule, *policy)
            before = [self._text(parent, cluster, rule, *policy) for parent in commit.parents]
            # What cannot be read, or was cut off, may have said the same.
            if _UNKNOWN in (text, *before) or (shallow and not before):
                return later
            if text not in before:
                return later + 1 if self._is_moved(commit, stored.file) else commit
        return later + 1

    def _is_moved(self, commit: Commit, file: str) -> bool:
        """Whether a commit moved a file as it was, so that somebody else has written it."""
        moved = [self._branch.objects.found(commit.name, file), None]
        return moved in (pair for _, *pair in self._branch.steps(commit)[0])

    def _said(self, commit: str, cluster: str | None, rule: str, *policy: str) -> str:
        places = [("spec",), ("spec", "clusters", cluster)] if cluster else [("spec",)]
        try:
            stored = self._version(commit, *policy)
            texts = [stored and stored.config.get(*each, *rule.split(".", 1)) for each in places]
        except (Problem, InputError):
            return _UNKNOWN
        return json.dumps(texts)

    def _found(self, commit: Commit, *policy: str) -> Effect:
        at = datetime.fromtimestamp(min(commit.committed, _LATEST) // 60 * 60, UTC)
        which = "the version before"
        try:
            old = self._version(commit.parent, *policy)
            which = "this version"
            new = self._version(commit.name, *policy)
            if old is None or new is None:
                return Effect("The policy was removed" if old else "The policy is new in this file")
            groups = self._alike(old, new)
            if len(groups) > _MOST_GROUPS:
                return Effect("Hours not compared: too many clusters differ")
            after = [self._on(new, names[0]) for names in groups]
            which = "the version before"
            before = [self._on(old, names[0]) for names in groups]
        except Problem as problem:
            why = ": ".join(
                [which, problem.detail, *(str(each["message"]) for each in problem.findings)]
            )
            return Effect(f"Hours not compared: {why}")
        return _compared(list(map(_Group, groups, before, after)), at, _fields(old, new))

    def _read(self, commit: str | None, file: str, namespace: str, name: str) -> Stored | None:
        """Return a policy as a commit has it, None where it has none; raises Problem."""
        found = self._branch.file(commit, file) if commit else None
        if found is None:
            return None
        parsed: policies.Parsed = "it is too large"
        if found.size <= policies.MOST:
            parsed = policies.parse(self._branch.objects.content(found.blob, most=found.size))
        if isinstance(parsed, str):
            raise Problem(HTTPStatus.CONFLICT, parsed)
        for *key, config in parsed:
            if key == [namespace, name]:
                return Stored(namespace, name, file, found.mode, found.blob, config)
        return None

    def _alike(self, old: Stored, new: Stored) -> list[list[str]]:
        """Return the clusters that a change may be of, together those alike."""
        is_of_all = _without_clusters(old) != _without_clusters(new)
        groups: dict[str, list[str]] = {}
        was, now = map(self._evaluator.patches, (old, new))
        for name in {**was, **now} or [""]:
            patches = [was.get(name), now.get(name)]
            if is_of_all or patches[0] != patches[1]:
                groups.setdefault(json.dumps(patches, sort_keys=True), []).append(name)
        return list(groups.values())

    def _on(self, stored: Stored, cluster: str) -> _Version:
        """Return a policy as a cluster has it; raises Problem where it is wrong."""
        # One that only the other version names has it as it is.
        name = cluster if cluster in self._evaluator.patches(stored) else None
        spec = self._evaluator.policy(stored, name).spec
        return _Version(self._evaluator.timetable(stored, name), spec.overrides or {})


def _events(groups: Sequence[_Group], at: datetime) -> dict[OverrideEvent, list[str]]:
    """Return the overrides that one version alone has so, each once, whatever clocks it is on."""
    found: dict[tuple[str, Override, bool, bool], _Places] = {}
    for group in groups:
        for is_made, here, there in ((False, group.old, group.new), (True, group.new, group.old)):
            for rule in here.timetable.overrides:
                asked, other = here.overrides[rule.key], there.overrides.get(rule.key)
                if asked != other:
                    key = rule.key, asked, is_made, other is not None
                    names, rules = found.setdefault(key, ([], []))
                    names.extend(group.clusters)
                    rules.append((rule, here.timetable))
    return {
        OverrideEvent(overrides.as_listed(None, name, asked, rules, at), asked, *of): names
        for (name, asked, *of), (names, rules) in found.items()
    }


def _why(groups: Sequence[_Group], at: datetime) -> str:
    """Say why a change moved no hours, and of which clusters where it is not the same of all."""
    said: dict[str, list[str]] = {}
    for names, old, new in groups:
        why = "; ".join(sorted(unmoved(old.timetable, new.timetable, at)))
        said.setdefault(why, []).extend(names)
    # Those that the change leaves as they are.
    said.pop("", None)
    apart = [f"{clusters(names)}: {why}" for why, names in said.items()]
    return "; ".join(apart if len(said) > 1 else said)


def _compared(groups: Sequence[_Group], at: datetime, fields: str) -> Effect:
    events = _events(groups, at)
    # By the clocks: each zone has instants of its own.
    moved: dict[object, MovedHours] = {}
    both = [(old.timetable, new.timetable) for _, old, new in groups]
    for group, found in zip(groups, differences(both, at), strict=True):
        key = tuple(
            (f"{each.begins.astimezone(found.zone):%x %X}", each.ends - each.begins, each.reason)
            for each in found.changes
        )
        moved.setdefault(key, MovedHours(found, [])).clusters.extend(group.clusters)
    left = moved.pop((), None)
    still = left.clusters if left else []
    if moved:
        why = _why([each for each in groups if each.clusters[0] in still], at)
        return Effect("", tuple(moved.values()), still, events, why)
    why = _why(groups, at) or ("" if events else fields)
    return Effect(why and f"No hours moved: {why}", events=events)


def _without_clusters(stored: Stored) -> Value:
    spec = stored.config.get("spec")
    # What an earlier version of the file had may be anything.
    return {**spec, "clusters": None} if isinstance(spec, dict) else spec


def _fields(old: Stored, new: Stored) -> str:
    """Say what else a change is about."""
    was, now = (cast("dict[str, Value]", each.config.get("spec")) for each in (old, new))
    names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    return f"{', '.join(names) or 'only labels, comments or other objects of the file'} changed"
