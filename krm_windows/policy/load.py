"""Text to model: a WindowPolicy and its clusters read from nodes.

Everything that is wrong is said in the user's words.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from krm_windows import rules
from krm_windows.krm.merge_patch import merge
from krm_windows.krm.nodes import Mapping as Node
from krm_windows.policy import clusters, document, schedules, sizes
from krm_windows.policy.document import Tree
from krm_windows.policy.findings import Finding, RefusedError, closest
from krm_windows.policy.model import API_VERSION, KIND, Spec, WindowPolicy
from krm_windows.policy.moments import Moment, Value
from krm_windows.policy.parts import Context
from krm_windows.results import File, ResourceRef, Result, sort
from krm_windows.schedule import zones
from krm_windows.schedule.recurrence import Recurrence


class Version(NamedTuple):
    """The policy of one cluster.

    `findings` are those that its patch brings in, `cured` those of the policy that it puts right.
    """

    policy: WindowPolicy | None
    findings: tuple[Finding, ...] = ()
    cured: frozenset[Finding] = frozenset()


class PolicyDocument(NamedTuple):
    """A policy as its document says it, of which the versions for clusters are read one at a time.

    `patches` are those of the clusters that it names. `policy` is the one for no cluster in
    particular, None where an error is among its `findings`. `lasting` are those that no patch
    puts right: keys that occur twice (`doubled`) and clusters without a patch. Versions are made of
    `base`.
    """

    root: dict[str, Tree]
    patches: Mapping[str, Tree]
    policy: WindowPolicy | None
    findings: frozenset[Finding]
    doubled: tuple[Finding, ...]
    ref: ResourceRef
    base: dict[str, Tree]
    file: File | None = None

    @property
    def lasting(self) -> tuple[Finding, ...]:
        """The findings that every cluster has, whatever its patch says."""
        patches = clusters.patches(self.root.get("spec"))
        # `{}` says that nothing is changed, null says nothing: a name with nothing behind it.
        return (*self.doubled, *(_null_cluster(name) for name in patches if patches[name] is None))

    @property
    def build_for(self) -> str | None:
        """The cluster that the policy itself says it is built for."""
        return document.text_at(self.root, "spec", "buildFor")

    @property
    def differing(self) -> list[str]:
        """The clusters that may have other hours than the policy without a cluster."""
        return [name for name, patch in self.patches.items() if patch]

    def version(self, name: str | None) -> tuple[WindowPolicy | None, tuple[Result, ...]]:
        """Return the policy for a cluster, or for none, with the findings that concern it.

        A cluster that the policy does not name has it as it is.
        """
        version = Version(self.policy)
        if name is not None and name in self.patches:
            version = _cluster(self, name, self.patches[name])
        # What the patch puts right is no problem of this cluster.
        every = (*self.lasting, *(self.findings - version.cured), *version.findings)
        return version.policy, tuple(self.results(every))

    def results(self, findings: Iterable[Finding]) -> list[Result]:
        """Return findings as results of this policy, sorted."""
        return sort(finding.result(finding.path, self.ref, self.file) for finding in findings)


@dataclass(frozen=True)
class Loaded:
    """A policy for no cluster in particular, for each of its clusters, and all that was found.

    `results` are sorted.
    """

    source: PolicyDocument
    versions: Mapping[str, Version]
    results: tuple[Result, ...]

    @property
    def policy(self) -> WindowPolicy | None:
        """The policy for no cluster in particular, None where it is wrong."""
        return self.source.policy

    @property
    def build_for(self) -> str | None:
        """The cluster that the policy itself says it is built for."""
        return self.source.build_for

    @property
    def clusters(self) -> dict[str, WindowPolicy | None]:
        """The policy of each cluster, None where the patch makes one that is wrong."""
        return {name: version.policy for name, version in self.versions.items()}

    def for_cluster(self, name: str | None) -> tuple[WindowPolicy | None, tuple[Result, ...]]:
        """Return the policy for a cluster, and all findings but those that its patch puts right.

        `None` is the policy without `clusters`. The policy of an unknown cluster is None, and an
        error names those that are known.
        """
        if name is None:
            return self.policy, self.results
        if name in self.versions:
            version = self.versions[name]
            # What is wrong without the patch and right with it is no finding of this cluster.
            cured = self.source.results(version.cured)
            return version.policy, tuple(each for each in self.results if each not in cured)
        # The policy may name the cluster that it is built for itself.
        if name == self.build_for:
            return None, self.results
        unknown = _unknown_cluster(name, self.versions, "spec.clusters")
        return None, tuple(sort([*self.results, *self.source.results([unknown])]))


def read(node: Node, *, file: File | None = None) -> PolicyDocument:
    """Read a policy without its clusters; raises nothing, whatever the document holds."""
    tree = document.read(node)
    # A document of another shape has no fields, and an error for each that is required.
    root = tree if isinstance(tree, dict) else {}
    present = {name: document.present(entry) for name, entry in root.items() if entry is not None}
    policy, findings = _validate(present)
    spec = present.get("spec")
    patches = {} if _has_too_many(findings) else clusters.patches(root.get("spec"))
    if isinstance(spec, dict):
        present["spec"] = {name: entry for name, entry in spec.items() if name != "clusters"}
    return PolicyDocument(
        root=root,
        patches={name: patch for name, patch in patches.items() if patch is not None},
        policy=policy,
        findings=frozenset(findings),
        doubled=tuple(document.doubled(node)),
        ref=document.ref(root, API_VERSION, KIND),
        base=present,
        file=file,
    )


def _has_too_many(findings: Iterable[Finding]) -> bool:
    """Whether the clusters of a policy are too many to be read."""
    return any((each.rule, each.path) == (rules.TOO_MANY, "spec.clusters") for each in findings)


def load(node: Node, *, file: File | None = None) -> Loaded:
    """Read a policy and those of all its clusters; raises nothing, whatever the document holds."""
    source = read(node, file=file)
    versions = {name: _cluster(source, name, patch) for name, patch in source.patches.items()}
    findings = [*source.lasting, *source.findings]
    for version in versions.values():
        findings += version.findings
    named = source.build_for
    # A build for a cluster without a patch: a typo, most likely.
    if named is not None and named not in versions and not _has_too_many(findings):
        findings.append(_unknown_cluster(named, versions, "spec.buildFor"))
    return Loaded(source, versions, tuple(source.results(findings)))


def _validate(tree: dict[str, Tree]) -> tuple[WindowPolicy | None, tuple[Finding, ...]]:
    """Read one version of a policy from a tree without nulls, with all that is wrong about it."""
    # Counted first: nothing is read of what is too much to be read.
    excess = tuple(sizes.check(tree))
    if excess:
        return None, excess
    # Moments are compared in the zone, which is a field beside them.
    zone = document.text_at(tree, "spec", "timeZone")
    known = zone if zone in zones.names() else None
    try:
        policy = WindowPolicy.read(
            tree, Context(known, document.text_at(tree, "metadata", "namespace"))
        )
    except RefusedError as refused:
        return None, refused.findings
    return policy, tuple(_cautions(policy.spec))


def _cautions(spec: Spec) -> Iterator[Finding]:
    """Yield what is doubtful about a policy that can be read."""
    if spec.state != "Scheduled":
        must = "overrides the whole policy: windows, freezes and overrides have no effect"
        yield Finding(rules.STATE_HELD, must, spec.state, path="spec.state")
    for name, window in spec.windows.items():
        yield from _doubts(f"spec.windows.{name}", opens=window.opens, closes=window.closes)
    for name, freeze in spec.freezes.items():
        yield from _doubts(f"spec.freezes.{name}", starts=freeze.starts, ends=freeze.ends)


def _doubts(path: str, **edges: Moment[Value] | None) -> Iterator[Finding]:
    for name, moment in edges.items():
        # Dates and `Mon 08:00` leave nothing to doubt.
        if moment and isinstance(moment.value, Recurrence):
            doubt = schedules.caution(moment.text, moment.value)
            if doubt:
                yield doubt._replace(path=f"{path}.{name}")


def _cluster(source: PolicyDocument, name: str, patch: Tree) -> Version:
    """Read the policy of one cluster; what it has without its patch is not reported again."""
    path = f"spec.clusters.{name}"
    # Null, or a text: the model of the policy itself says so.
    if not isinstance(patch, dict):
        return Version(None)
    found = list(_misplaced(patch, path))
    found += map(_empty_map, clusters.empty_maps(patch, path))
    own = {key: value for key, value in patch.items() if key not in ("clusters", "buildFor")}
    # Without the other clusters: a version is of one alone.
    changes: Tree = {**own, "clusters": None, "buildFor": name}
    spec = merge(source.base.get("spec"), document.present_in_lists(changes))
    # The spec is last, wherever it was: findings come in the order of the fields.
    others = {key: value for key, value in source.base.items() if key != "spec"}
    policy, problems = _validate({**others, "spec": spec})
    # What the policy has without the patch is reported once, for the policy.
    for finding in problems:
        if finding not in source.findings:
            found.append(_attributed(finding, own, path))
    return Version(policy, tuple(found), source.findings.difference(problems))


def _misplaced(patch: dict[str, Tree], path: str) -> Iterator[Finding]:
    for name in ("clusters", "buildFor"):
        if name in patch:
            # A patch is for one cluster, and cannot name others or another one.
            must = "is not allowed in a cluster's patch"
            yield Finding(rules.FIELD_UNKNOWN, must, path=f"{path}.{name}")


def _null_cluster(name: str) -> Finding:
    must = (
        f"must be a map: {name} would have no windows at all and always be open; write "
        f"`{name}: {{}}` for a cluster without changes, or remove the line"
    )
    return Finding(rules.CLUSTER_NULL, must, path=f"spec.clusters.{name}")


def _empty_map(path: str) -> Finding:
    must = (
        "must not be an empty map, which changes nothing; kustomize drops a null that a patch "
        "adds, so to remove something write the null in the policy's own file"
    )
    return Finding(rules.CLUSTER_EMPTY_MAP, must, path=path)


def _attributed(finding: Finding, patch: Mapping[str, Tree], path: str) -> Finding:
    """Point a finding to its place in the patch, or to all of a patch that has no such field."""
    below = finding.path.removeprefix("spec.")
    if below.replace("[", ".").split(".")[0] in patch:
        return finding._replace(path=f"{path}.{below}")
    # The patch has nothing there, and so is not where a reader would look.
    must = f"results in an invalid policy: {finding.path} {finding.must}"
    return finding._replace(must=must, path=path)


def _unknown_cluster(
    name: str,
    known: Iterable[str],
    path: str,
) -> Finding:
    names = sorted(known)
    # A policy may name none, and still be built for one by an option.
    listed = ", ".join(names) or "it names none"
    must = f"must be one of the policy's clusters ({listed})"
    return Finding(rules.CLUSTER_UNKNOWN, must, name, closest(name, names), path)
