"""What a change does to the targets of policies: both trees are followed, and compared.

A target is affected where it differs as it is built, or anything that Flux reads for it, or where
only one of the trees has it. What cannot be known affects it.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from posixpath import dirname

from krm_windows import rules
from krm_windows.flux import Cluster, Gate, Kustomization, Object, Survey
from krm_windows.flux.artifact_files import FILE as IGNORE_FILE
from krm_windows.flux.artifacts import KIND as ARTIFACT
from krm_windows.flux.closure import joined
from krm_windows.flux.model import Finding, Identity, ObjectIdentity, release_of
from krm_windows.flux.sources import below
from krm_windows.gate.timetable import Target
from krm_windows.gateable import GROUP, HELM, KUSTOMIZE, SOURCE
from krm_windows.krm import Value
from krm_windows.pending.objects import content
from krm_windows.pending.repository import kustomizations
from krm_windows.preview import difference
from krm_windows.preview.calendar import Period
from krm_windows.preview.changes import sums
from krm_windows.rules import Rule
from krm_windows.system.checkout import Checkout

Key = tuple[str, str]
"""A policy's `namespace/name`, and the name of a cluster."""

# They decide when, and not what is delivered.
_TIMING = (("spec", "interval"), ("spec", "retryInterval"), ("metadata", "labels"))
# Fields whose names are no references to what is read: what is waited for, and content.
_NOT_READ = ("dependsOn", "healthChecks", "healthCheckExprs", "values", "patches", "images")
# A chart beside a chart (Helm, Chart.yaml, dependencies).
_BESIDE = re.compile(rb"file://([^\s\"',}]+)")
_DAYS = (7, 366)
_CHARTS_OF = ("GitRepository", "Bucket", "OCIRepository", ARTIFACT)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change does: why each of the policies that it affects is affected.

    `notes` say what it does to policies themselves.
    """

    reasons: Mapping[Key, str]
    notes: tuple[str, ...] = ()


def compare(before: Survey, after: Survey, at: datetime) -> Effect:
    """Return what a change from one tree to another does, to hours from an instant on."""
    was = {each.root: each for each in before.clusters}
    will = {each.root: each for each in after.clusters}
    reasons: dict[Key, str] = {}
    lost: list[str] = []
    hours: list[str] = []
    for root in dict.fromkeys((*was, *will)):
        sides = (
            _Side(before.tree, was.get(root), before.notices),
            _Side(after.tree, will.get(root), after.notices),
        )
        name = (was.get(root) or will[root]).name
        for policy, targets in _targets(sides).items():
            # A policy affects nothing by being new or gone: only what it gates does.
            found = next(_reasons(sides, targets), None) or _released(sides, policy)
            if found is not None:
                reasons[policy, name] = found
        lost += _lost(*sides, name)
        hours += _hours(*sides, at)
    # What is gated no longer first: where there is room for one alone, it is that.
    return Effect(reasons, tuple(dict.fromkeys((*lost, *hours))))


def gating(survey: Survey) -> dict[Key, bool]:
    """Return the policies of clusters, and whether any of their targets is there.

    One that is not may have been removed, and come again.
    """
    found: dict[Key, bool] = {}
    for cluster in survey.clusters:
        for gate in cluster.gates:
            key = gate.policy, cluster.name
            is_there = any(_is_there(cluster, target) for target in gate.targets)
            found[key] = found.get(key, False) or is_there
    return found


def _is_there(cluster: Cluster, target: Target) -> bool:
    if ObjectIdentity.of_target(target) in cluster.objects:
        return True
    return next(kustomizations(cluster, target), None) is not None


@dataclass(frozen=True)
class _Side:
    """A cluster in one of the trees; None where it is not in there."""

    tree: Checkout
    cluster: Cluster | None
    notices: tuple[Finding, ...] = ()

    @property
    def gates(self) -> tuple[Gate, ...]:
        return () if self.cluster is None else self.cluster.gates

    @cached_property
    def named(self) -> Mapping[tuple[str, str], list[Object]]:
        """Every object, by its namespace and name."""
        found: dict[tuple[str, str], list[Object]] = {}
        if self.cluster is not None:
            for _, item in self.cluster.objects.values():
                found.setdefault((item.namespace, item.name), []).append(item)
        return found

    @cached_property
    def applied(self) -> Mapping[Identity, list[tuple[str, Object]]]:
        """Every object as each Kustomization applies it."""
        found: dict[Identity, list[tuple[str, Object]]] = {}
        if self.cluster is not None:
            for each in self.cluster.kustomizations.values():
                for item in each.objects:
                    found.setdefault(item.identity, []).append((each.key, item))
        return found

    @cached_property
    def releases(self) -> Mapping[tuple[str, str, str], list[Object]]:
        """Every HelmRelease, by the release that it upgrades."""
        found: dict[tuple[str, str, str], list[Object]] = {}
        for item in self.of_kind("HelmRelease"):
            if item.group == HELM:
                found.setdefault(release_of(item), []).append(item)
        return found

    def of_kind(self, *kinds: str) -> list[Object]:
        """Return the objects of some kinds."""
        every = chain.from_iterable(self.named.values())
        return [item for item in every if item.kind in kinds]

    def gate(self, policy: str) -> Gate | None:
        """Return what a policy gates; None where it is not there."""
        return next((each for each in self.gates if each.policy == policy), None)


def _targets(sides: Iterable[_Side]) -> dict[str, dict[Target, None]]:
    """Return the targets of each policy, in either tree: a change may alter the selection."""
    found: dict[str, dict[Target, None]] = {}
    for side in sides:
        for gate in side.gates:
            found.setdefault(gate.policy, {}).update(dict.fromkeys(gate.targets))
    return found


def _reasons(sides: tuple[_Side, _Side], targets: Iterable[Target]) -> Iterator[str]:
    """Yield why targets are affected, the first of each."""
    suspended: dict[Identity, tuple[str, ...]] = {
        ObjectIdentity.of_target(each): each.field for each in targets
    }
    # A target that is a source may hold many; the content of all is compared as one.
    for target in targets:
        before, after = (_Facts(side, suspended) for side in sides)
        is_there = [before.learn(target), after.learn(target)]
        if is_there == [True, False]:
            yield f"removes {target}"
        elif is_there == [False, True]:
            yield f"adds {target}"
        unknown = before.unknown + after.unknown
        if unknown:
            yield unknown[0]
        # Which others apply the same objects, too: another one that is not gated would do.
        applied = before.content | after.content | before.read | after.read
        for each in (before, after):
            each.learn_appliers(applied)
        # In the same order in each run, so that a status stays as it is.
        for key in dict.fromkeys((*before.found, *after.found)):
            if before.found.get(key) != after.found.get(key):
                verb = "removes" if key not in after.found else "changes"
                verb = "adds" if key not in before.found else verb
                yield f"{verb} {key[1]}"


def _released(sides: tuple[_Side, _Side], policy: str) -> str | None:
    """Say which target a policy loses, though it stays as it is itself: as by a label."""
    was, will = (side.gate(policy) for side in sides)
    if was is None or will is None or content(was.manifest) != content(will.manifest):
        return None
    gone = [each for each in was.targets if each not in will.targets]
    return f"takes {gone[0]} from {policy}" if gone else None


class _Facts:
    """What is known of a target in one tree: what it applies, and what is read for it."""

    def __init__(self, side: _Side, suspended: Mapping[Identity, tuple[str, ...]]) -> None:
        self.side = side
        self.suspended = suspended
        # What is compared, by what it is of: an object, a file, or an object and who applies it.
        self.found: dict[tuple[object, str], object] = {}
        self.content: set[Identity] = set()
        self.unknown: list[str] = []
        self.read: set[Identity] = set()

    def learn(self, target: Target) -> bool:
        """Learn all of a target; return whether it is there."""
        cluster = self.side.cluster
        if cluster is None:
            return False
        # What the cluster itself is synced by decides which directory is looked at here.
        root = cluster.first
        if root.own is not None:
            self._object(root.own, root.namespace)
        found = list(kustomizations(cluster, target))
        for each in found:
            self._kustomization(each)
        known = cluster.objects.get(ObjectIdentity.of_target(target))
        if known is not None:
            self._object(known[1], target.namespace)
            self._check_built(known[0])
            self._sources_above(cluster, known[0])
        elif not found:
            # It may be in what could not be built.
            self.unknown += (
                f"cannot build {each}"
                for each in cluster.kustomizations.values()
                if self._has_failed(each)
            )
        return known is not None or bool(found)

    def learn_appliers(self, identities: Iterable[Identity]) -> None:
        """Learn who applies some objects, and what each makes of them."""
        # In order, so that a status stays as it is.
        wanted = sorted(identities)
        for identity in wanted:
            for key, item in self.side.applied.get(identity, ()):
                self.found[(key, identity), str(item)] = self._stripped(item)
        # Their removal removes what is in them, or of them.
        namespaces = {namespace for _, _, namespace, _ in wanted}
        kinds = {(group, kind) for group, kind, _, _ in wanted}
        for item in self.side.of_kind("Namespace", "CustomResourceDefinition"):
            kind = item.text("spec", "group"), item.text("spec", "names", "kind")
            if item.name in namespaces or kind in kinds:
                for key, _ in self.side.applied.get(item.identity, ()):
                    self.found[(key, item.identity), str(item)] = True

    def _sources_above(self, cluster: Cluster, each: Kustomization) -> None:
        """Learn the sources of what brings a target."""
        key, seen = each.key, set[str]()
        # One may apply the next, and that one the first again.
        while key in cluster.kustomizations and key not in seen:
            seen.add(key)
            above = cluster.kustomizations[key]
            if above.own is not None:
                for entry in _references(above.own.get("spec", "sourceRef")):
                    self._referred(entry, above.namespace)
            key = above.parent or ""

    def _kustomization(self, each: Kustomization) -> None:
        if each.own is not None:
            self._object(each.own, each.namespace)
        # What it applies; our own policies wait for nobody.
        self.content |= {item.identity for item in each.objects if item.group != GROUP}
        self._check_built(each)
        self._ignored(each.files)
        if not each.complete and each.files:
            # Not all of what is built is known, so it is compared as it is written.
            directories = {dirname(file) or "." for file in each.files} | {each.path}
            for directory in directories:
                self._directory(directory)
        for item in each.objects:
            if (item.group, item.kind) == (HELM, "HelmRelease"):
                self._object(item, each.namespace)

    def _check_built(self, each: Kustomization) -> None:
        is_read = each.complete or each.files or each.elsewhere
        if not is_read and self._has(each, rules.NOT_FOLLOWED):
            self.unknown.append(f"cannot tell whether this repository is the source of {each}")
        elif not is_read or self._has_failed(each):
            self.unknown.append(f"cannot build {each}")

    def _has_failed(self, each: Kustomization) -> bool:
        return self._has(each, rules.BUILD_FAILED, rules.CLUSTER_UNBUILT)

    def _has(self, each: Kustomization, *wanted: Rule) -> bool:
        notices = self.side.notices
        return any(found.rule in wanted and _is_about(found, each) for found in notices)

    def _object(self, item: Object, namespace: str) -> None:
        """Learn an object, and what it refers to, and so on."""
        if item.identity in self.read:
            return
        self.read.add(item.identity)
        self.found[item.identity, str(item)] = self._stripped(item)
        home = item.namespace or namespace
        for entry in _references(item.get("spec")):
            self._referred(entry, home)
        account = item.text("spec", "serviceAccountName")
        if account:
            self._account(account, home)
        if (item.group, item.kind) == (HELM, "HelmRelease"):
            self._chart(item, ("spec", "chart", "spec"))
            # Another one of the same release upgrades it as well.
            for other in self.side.releases.get(release_of(item), ()):
                self._object(other, other.namespace)
        elif (item.group, item.kind) == (SOURCE, "HelmChart"):
            self._chart(item, ("spec",))

    def _referred(self, entry: Mapping[str, Value], home: str) -> None:
        """Learn what a reference in an object leads to."""
        namespace = str(entry.get("namespace") or home)
        kind = entry.get("kind")
        for item in self.side.named.get((namespace, str(entry.get("name"))), ()):
            # What has no kind is known by its field: `secretRef`, `include` of a GitRepository.
            if kind in (None, item.kind):
                self._object(item, namespace)
        if kind == ARTIFACT:
            for item in self.side.of_kind("ArtifactGenerator"):
                if item.namespace == namespace:
                    self._object(item, namespace)

    def _account(self, name: str, namespace: str) -> None:
        """Learn a service account, by whose rights Flux acts, and the roles that it has."""
        account = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        self._referred(account, namespace)
        for item in self.side.of_kind("RoleBinding", "ClusterRoleBinding"):
            if any(account.items() <= subject.items() for subject in item.parts("subjects")):
                self._object(item, namespace)
                for entry in _references(item.get("roleRef")):
                    is_of_cluster = entry.get("kind") == "ClusterRole"
                    self._referred(entry, "" if is_of_cluster else item.namespace)

    def _stripped(self, item: Object) -> str:
        """Return an object as JSON, without what only says when it is looked at.

        Nor is a target's field there by which it is closed.
        """
        found = content(item)
        is_flux = item.group in (KUSTOMIZE, HELM, SOURCE)
        fields = [self.suspended[item.identity]] if item.identity in self.suspended else []
        # Of an object that Flux's controllers act on, and not of what a target applies.
        if is_flux or fields:
            fields += _TIMING
        for path in fields:
            _drop(found, path)
        # As JSON, since `1` and `true` are equal to Python, and to nobody else.
        return json.dumps(found, sort_keys=True, default=str)

    def _chart(self, release: Object, spec: tuple[str, ...]) -> None:
        """Learn a chart that may be in the repository, and the files of values beside it."""
        if release.text(*spec, "sourceRef", "kind") not in _CHARTS_OF:
            return
        directory = below("", release.text(*spec, "chart"))
        self._charts(directory, set())
        for file in release.entries(*spec, "valuesFiles"):
            path = below("", str(file))
            self.found[path, path] = self.side.tree.read(path)

    def _charts(self, directory: str, seen: set[str]) -> None:
        if directory in seen:
            return
        seen.add(directory)
        self._directory(directory)
        for path in _BESIDE.findall(self.side.tree.read(joined(directory, "Chart.yaml")) or b""):
            self._charts(joined(directory, path.decode(errors="replace")), seen)

    def _directory(self, directory: str) -> None:
        """Learn a directory as it is written."""
        self._ignored([joined(directory, "file")])
        self.found[directory, directory] = _digest(Path(self.side.tree.root), directory)

    def _ignored(self, files: Iterable[str]) -> None:
        """Learn what leaves some files out of an artifact (.sourceignore)."""
        for file in files:
            above = dirname(file)
            while True:
                path = joined(above or ".", IGNORE_FILE)
                found = self.side.tree.read(path)
                if found is not None:
                    self.found[path, path] = found
                if not above:
                    break
                above = dirname(above)


def _lost(before: _Side, after: _Side, name: str) -> Iterator[str]:
    """Yield what the policies of a cluster gate no longer."""
    will = {each.policy: set(each.targets) for each in after.gates}
    for was in before.gates:
        gone = sorted(str(each) for each in was.targets if each not in will.get(was.policy, ()))
        if gone:
            yield f"{was.policy} no longer gates {_some(gone)} in {name}"


def _hours(before: _Side, after: _Side, at: datetime) -> Iterator[str]:
    """Yield how much more, or less, the policies of a cluster are open."""
    will = {each.policy: each for each in after.gates}
    for was in before.gates:
        if was.policy not in will:
            continue
        old, new = was.timetable(), will[was.policy].timetable()
        if old is None or new is None:
            if old is not new:
                yield f"cannot tell when {was.policy} opens"
            continue
        # A week says most of what comes again; what is for once may be far.
        found = {days: difference.compare(old, new, Period(at, days)) for days in _DAYS}
        said = [
            f"{sums(each)} more in the next {days} days"
            for days, each in found.items()
            if each.changes
        ]
        if said:
            yield f"{was.policy} {', '.join(said)}"


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _is_about(notice: Finding, kustomization: Kustomization) -> bool:
    """Whether a notice is about a Kustomization, or a file in what it applies."""
    if notice.about is not None:
        return notice.about.identity == kustomization.identity
    is_below = notice.file == kustomization.path or notice.file.startswith(f"{kustomization.path}/")
    return is_below or notice.file in kustomization.files


def _references(part: Value) -> Iterator[Mapping[str, Value]]:
    """Yield the mappings in an object that have a name."""
    waiting: list[Value] = [part]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            if isinstance(each.get("name"), str):
                yield each
            waiting += (entry for name, entry in each.items() if name not in _NOT_READ)


def _drop(part: Value, path: tuple[str, ...]) -> None:
    *above, last = path
    for name in above:
        if not isinstance(part, dict):
            return
        part = part.get(name)
    if isinstance(part, dict):
        part.pop(last, None)


def _digest(root: Path, directory: str) -> str:
    """Return a digest of all that is in a directory of a tree, and of what links in it lead to."""
    found = hashlib.sha256()
    waiting = [os.path.realpath(root / directory)]
    seen: set[str] = set()
    while waiting:
        path = waiting.pop()
        # A link may lead to a directory above it; none leads out of the snapshot of a commit.
        if path in seen or not Path(path).is_relative_to(root):
            continue
        seen.add(path)
        if Path(path).is_dir():
            entries = sorted(os.scandir(path), key=lambda each: each.name)
            found.update(repr([(each.name, each.is_symlink()) for each in entries]).encode())
            waiting += (os.path.realpath(each.path) for each in entries)
        elif Path(path).is_file():
            with Path(path).open("rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()
