"""What a change does to the targets of policies: both trees are followed, and compared.

A target is affected where it differs as it is built, or anything that Flux reads for it, or where
only one of the trees has it. What cannot be known affects it.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import chain
from pathlib import Path, PurePosixPath
from posixpath import dirname
from typing import TypeAlias

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
from krm_windows.pending.objects import as_json, content
from krm_windows.pending.repository import is_in, kustomizations
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
_FAILED = {rules.BUILD_FAILED, rules.CLUSTER_UNBUILT}
_Applied: TypeAlias = tuple[str, Object]
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
            is_there = any(is_in(cluster, target) for target in gate.targets)
            found[key] = found.get(key, False) or is_there
    return found


@dataclass(frozen=True)
class _Side:
    """A cluster in one of the trees; None where it is not in there."""

    tree: Checkout
    cluster: Cluster | None
    notices: tuple[Finding, ...] = ()

    @property
    def gates(self) -> tuple[Gate, ...]:
        return () if self.cluster is None else self.cluster.gates

    def gate(self, policy: str) -> Gate | None:
        """Return what a policy gates; None where it is not there."""
        return next((each for each in self.gates if each.policy == policy), None)

    @cached_property
    def applied(self) -> Mapping[tuple[str, str], list[_Applied]]:
        """Every object as each Kustomization applies it, by its namespace and name."""
        found: dict[tuple[str, str], list[_Applied]] = {}
        if self.cluster is not None:
            for each in self.cluster.kustomizations.values():
                for item in each.objects:
                    found.setdefault((item.namespace, item.name), []).append((each.key, item))
        return found

    @cached_property
    def releases(self) -> Mapping[tuple[str, str, str], list[_Applied]]:
        """Every HelmRelease, by the release that it upgrades."""
        found: dict[tuple[str, str, str], list[_Applied]] = {}
        for by, item in self.of_kind("HelmRelease"):
            found.setdefault(release_of(item), []).append((by, item))
        return found

    def of_kind(self, *kinds: str) -> Iterator[_Applied]:
        """Yield the objects of some kinds."""
        every = chain.from_iterable(self.applied.values())
        return ((by, item) for by, item in every if item.kind in kinds)

    def rules_about(self, kustomization: Kustomization) -> set[Rule]:
        """Return the rules of the notices about a Kustomization, or a file in what it applies."""
        return {each.rule for each in self.notices if _is_about(each, kustomization)}


def _targets(sides: Iterable[_Side]) -> dict[str, dict[Target, None]]:
    """Return the targets of each policy, in either tree: a change may alter the selection."""
    found: dict[str, dict[Target, None]] = {}
    for side in sides:
        for gate in side.gates:
            found.setdefault(gate.policy, {}).update(dict.fromkeys(gate.targets))
    return found


def _reasons(sides: tuple[_Side, _Side], targets: Iterable[Target]) -> Iterator[str]:
    """Yield why targets are affected, the first of each."""
    fields: dict[Identity, tuple[str, ...]] = {
        ObjectIdentity.of_target(each): each.field for each in targets
    }
    # A target that is a source may hold many; the content of all is compared as one.
    for target in targets:
        before, after = (_Facts(side, target, fields) for side in sides)
        if before.is_there != after.is_there:
            yield f"{'removes' if before.is_there else 'adds'} {target}"
        yield from (*before.unknown, *after.unknown)
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
    """What is known of a target in one tree: what it applies, and what is read for it.

    `found` is what is compared: objects by who applies them, since another one that is not gated
    would do, and files by their paths.
    """

    def __init__(
        self, side: _Side, target: Target, fields: Mapping[Identity, tuple[str, ...]]
    ) -> None:
        self.side = side
        self.fields = fields
        self.found: dict[tuple[str, Identity | str], object] = {}
        self.read: set[tuple[str, Identity]] = set()
        self.unknown: list[str] = []
        self.is_there = side.cluster is not None and self._target(side.cluster, target)

    def _target(self, cluster: Cluster, target: Target) -> bool:
        known = cluster.objects.get(ObjectIdentity.of_target(target))
        applying = list(kustomizations(cluster, target))
        # What delivers it, and so on up to what the cluster itself is synced by, decides what is
        # looked at here.
        key = known[0].key if known else ""
        above = [cluster.first]
        while key in cluster.kustomizations and cluster.kustomizations[key] not in above:
            above.append(cluster.kustomizations[key])
            key = above[-1].parent or ""
        for each in (*above, *applying):
            if each.own is not None:
                self._object("", each.own, each.namespace)
                self._named(each.namespace, each.own.name, each.own.kind)
        for each in applying:
            self._kustomization(each)
        if known:
            self._named(target.namespace, target.name, target.kind)
            self._check_built(known[0])
        elif not applying:
            # It may be in what could not be built.
            for each in cluster.kustomizations.values():
                if self.side.rules_about(each) & _FAILED:
                    self.unknown.append(f"cannot build {each}")
        self._homes()
        return known is not None or bool(applying)

    def _kustomization(self, each: Kustomization) -> None:
        self._check_built(each)
        if not each.complete and each.files:
            # Not all of what is built is known, so it is compared as it is written.
            for directory in {dirname(file) or "." for file in each.files} | {each.path}:
                self._directory(directory)
        for item in each.objects:
            if (item.group, item.kind) == (HELM, "HelmRelease"):
                self._named(item.namespace, item.name, item.kind)
            # Our own policies wait for nobody.
            elif item.group != GROUP:
                for by, same in self.side.applied[item.namespace, item.name]:
                    if same.identity == item.identity:
                        self.found[by, same.identity] = self._stripped(same)

    def _check_built(self, each: Kustomization) -> None:
        is_read = each.is_followed or each.elsewhere
        found = self.side.rules_about(each)
        if not is_read and rules.NOT_FOLLOWED in found:
            self.unknown.append(f"cannot tell whether this repository is the source of {each}")
        elif not is_read or found & _FAILED:
            self.unknown.append(f"cannot build {each}")

    def _homes(self) -> None:
        """Learn namespaces and definitions, whose removal removes what is in them, or of them."""
        identities = [name for _, name in self.found if isinstance(name, ObjectIdentity)]
        namespaces = {each.namespace for each in identities}
        kinds = {(each.group, each.kind) for each in identities}
        for by, item in self.side.of_kind("Namespace", "CustomResourceDefinition"):
            kind = item.text("spec", "group"), item.text("spec", "names", "kind")
            if item.name in namespaces or kind in kinds:
                self.found.setdefault((by, item.identity), "there")

    def _named(self, namespace: str, name: object, kind: object = None) -> None:
        """Learn the objects of a name; without a kind, whatever it is that a field means by it."""
        for by, item in self.side.applied.get((namespace, str(name)), ()):
            if kind in (None, item.kind):
                self._object(by, item, namespace)

    def _object(self, by: str, item: Object, namespace: str) -> None:
        """Learn an object, and what it refers to, and so on."""
        # What a target applies is compared, and may be read as well.
        if (by, item.identity) in self.read:
            return
        self.read.add((by, item.identity))
        self.found[by, item.identity] = self._stripped(item)
        home = item.namespace or namespace
        # A role that is bound is of the binding's namespace, or of none.
        for entry in (*_references(item.get("spec")), *_references(item.get("roleRef"))):
            kind, name = entry.get("kind"), entry["name"]
            self._named(str(entry.get("namespace") or home), name, kind)
            if kind == "ClusterRole":
                self._named("", name, kind)
            elif kind == ARTIFACT:
                self._objects(self.side.of_kind("ArtifactGenerator"))
        account = item.text("spec", "serviceAccountName")
        if account:
            self._account({"kind": "ServiceAccount", "name": account, "namespace": home})
        if (item.group, item.kind) == (HELM, "HelmRelease"):
            self._chart(item, ("spec", "chart", "spec"))
            # Another one of the same release upgrades it as well.
            self._objects(self.side.releases.get(release_of(item), ()))
        elif (item.group, item.kind) == (SOURCE, "HelmChart"):
            self._chart(item, ("spec",))

    def _objects(self, every: Iterable[_Applied]) -> None:
        for by, item in every:
            self._object(by, item, item.namespace)

    def _account(self, account: Mapping[str, str]) -> None:
        """Learn a service account, by whose rights Flux acts, and the roles that it has."""
        self._named(account["namespace"], account["name"], account["kind"])
        for by, item in self.side.of_kind("RoleBinding", "ClusterRoleBinding"):
            if any(account.items() <= subject.items() for subject in item.parts("subjects")):
                self._object(by, item, account["namespace"])

    def _stripped(self, item: Object) -> str:
        """Return an object as JSON, without what only says when it is looked at.

        Nor is a target's field there by which it is closed.
        """
        found = content(item)
        field = self.fields.get(item.identity)
        # Of an object that Flux's controllers act on, and not of what a target applies.
        if field or item.group in (KUSTOMIZE, HELM, SOURCE):
            for path in (*_TIMING, *filter(None, [field])):
                _drop(found, path)
        return as_json(found)

    def _chart(self, release: Object, spec: tuple[str, ...]) -> None:
        """Learn a chart that may be in the repository, and the files of values beside it."""
        if release.text(*spec, "sourceRef", "kind") not in _CHARTS_OF:
            return
        self._directory(below("", release.text(*spec, "chart")))
        for file in release.entries(*spec, "valuesFiles"):
            path = below("", str(file))
            self.found["", path] = self.side.tree.read(path)

    def _directory(self, directory: str) -> None:
        """Learn a directory as it is written, and the charts beside it that a chart depends on."""
        if ("", directory) in self.found:
            return
        root = Path(self.side.tree.root)
        files = dict(_files(root, directory))
        # A link may lead anywhere in the repository.
        if any(is_link for is_link, _ in files.values()):
            files = dict(_files(root, "."))
        self.found["", directory] = files
        # What leaves files out of an artifact may be in any directory above.
        for above in PurePosixPath(directory, IGNORE_FILE).parents:
            path = str(above / IGNORE_FILE)
            self.found["", path] = self.side.tree.read(path)
        for path in _BESIDE.findall(self.side.tree.read(joined(directory, "Chart.yaml")) or b""):
            self._directory(joined(directory, path.decode(errors="replace")))


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


def _files(root: Path, directory: str) -> Iterator[tuple[str, tuple[bool, str]]]:
    """Yield the files below a directory of a tree: whether each is a link, and its content."""
    top = Path(os.path.realpath(root / directory))
    if not top.is_relative_to(root):
        return
    for folder, folders, names in os.walk(top):
        for name in (*folders, *names):
            place = Path(folder, name)
            path = place.relative_to(root).as_posix()
            if place.is_symlink():
                yield path, (True, str(place.readlink()))
            elif place.is_file():
                yield path, (False, hashlib.sha256(place.read_bytes()).hexdigest())
