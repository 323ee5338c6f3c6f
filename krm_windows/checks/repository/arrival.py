"""A new cluster comes up: the windows need nothing that waits for them.

kustomize-controller tries all that a Kustomization applies by a dry run, and applies nothing where
that fails; Namespaces and CustomResourceDefinitions of the same Kustomization come first
(fluxcd/pkg, ssa.ApplyAllStaged). So one object whose namespace or definition is missing holds up
all others, and what those create.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from krm_windows import rules
from krm_windows.checks.repository.gated import GatedCluster, is_windows
from krm_windows.flux import Kustomization, Object
from krm_windows.flux.model import Finding, ObjectIdentity
from krm_windows.gateable import HELM, KUSTOMIZE
from krm_windows.inventory import POLICY
from krm_windows.rules import Rule

_DEFINITION = "CustomResourceDefinition"
_RELEASE = (HELM, "HelmRelease")
_FIX = (
    "render the windows with `--resources` of the cluster's directory, so that it is delivered by "
    "a Kustomization of its own, or create what it needs in the Kustomization that applies it"
)
# What every cluster has.
_ALWAYS = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
# What an object needs: the kind of that, and its name; a definition is named by group and kind.
_Need = tuple[str, str]


@dataclass(frozen=True)
class _Creator:
    """What creates something that is needed: a Kustomization, or a HelmRelease that it applies."""

    by: Kustomization
    release: Object | None = None

    def __str__(self) -> str:
        return str(self.release or self.by)


def blocked(gated: GatedCluster) -> Iterator[Finding]:
    """Yield what belongs to windows and needs what waits for it."""
    order = _Order(gated)
    for each in gated.cluster.kustomizations.values():
        # To look for the text is much cheaper than to read every object.
        ours = [item for item in each.objects if item.item.mentions(POLICY) and item.note(POLICY)]
        needs: dict[_Need, Object] = {}
        for item in ours:
            for need in _needs(item):
                needs.setdefault(need, item)
        for need, item in needs.items():
            reason = order.blocked(each, need)
            if reason:
                said = f"{reason}: on a new cluster {each} fails, and applies nothing"
                yield _finding(each, item, need, rules.NEW_CLUSTER_BLOCKED, said)
            elif unread := order.unread(each, need):
                said = (
                    f"nothing that was read creates: if {unread} does, which is applied after "
                    f"{each} and was not read, a new cluster does not come up"
                )
                yield _finding(each, item, need, rules.DELIVERED_TOGETHER, said)


def _needs(item: Object) -> Iterator[_Need]:
    if item.namespace:
        yield "Namespace", item.namespace
    yield _DEFINITION, f"{item.kind}.{item.group}"


def _finding(each: Kustomization, item: Object, need: _Need, rule: Rule, said: str) -> Finding:
    kind, name = need
    needed = f"the namespace {name}" if kind == "Namespace" else f"the {kind} of {item.kind}"
    fix = _FIX
    if rule is rules.NEW_CLUSTER_BLOCKED and is_windows(each):
        fix = "wait for nothing that this Kustomization belongs to: remove `wait` or `dependsOn`"
    message = f"needs {needed}, which {said}; {fix}"
    return Finding(rule, message, item, "metadata.namespace", current=name)


@dataclass(frozen=True)
class _Order:
    """What comes before what on a new cluster."""

    gated: GatedCluster

    @cached_property
    def _creators(self) -> dict[tuple[tuple[str, ...], _Need], list[_Creator]]:
        """What creates what, on which cluster."""
        found: dict[tuple[tuple[str, ...], _Need], list[_Creator]] = {}
        for each, item in self.gated.applied():
            where = self.gated.cluster.destination(each)
            for need in _created(item):
                release = item if (item.group, item.kind) == _RELEASE else None
                found.setdefault((where, need), []).append(_Creator(each, release))
        return found

    def blocked(self, each: Kustomization, need: _Need) -> str:
        """Say what creates a need of a Kustomization and why that comes too late; else nothing."""
        where = self.gated.cluster.destination(each)
        # Where Flux runs there is what it reads: itself.
        if not where and need in self._read(each):
            return ""
        reasons = []
        # What nobody in the repository creates is there: `default`, for one.
        for creator in self._creators.get((where, need), ()):
            reason = self._late(each, creator)
            if not reason:
                return ""
            reasons.append(f"{creator} creates, {reason}")
        return "; ".join(reasons)

    def _read(self, each: Kustomization) -> Iterator[_Need]:
        """Yield what is there where Flux applies a Kustomization, whoever creates it as well."""
        yield _DEFINITION, f"Kustomization.{KUSTOMIZE}"
        above: Kustomization | None = each
        while above is not None:
            yield "Namespace", above.namespace
            above = self.gated.cluster.kustomizations.get(above.parent or "")

    def unread(self, each: Kustomization, need: _Need) -> str:
        """Name what may create a need of a Kustomization after it, and was not read.

        Empty where nothing is like that. Not read is whatever is in another repository, and of
        definitions also any chart.
        """
        kind, name = need
        is_there = name in {*_ALWAYS, each.namespace, self.gated.cluster.first.namespace}
        if is_windows(each) or is_there or not _is_foreign(need):
            return ""
        where = self.gated.cluster.destination(each)
        if (where, need) in self._creators:
            return ""
        for other in self.gated.cluster.kustomizations.values():
            if self.gated.cluster.destination(other) != where:
                continue
            charts = [item for item in other.objects if (item.group, item.kind) == _RELEASE]
            if kind == _DEFINITION and charts and each.key in self.gated.before(other):
                return str(charts[0])
            if not other.complete and other is not each and each.key in self.gated.before(other):
                return str(other)
        return ""

    def _late(self, each: Kustomization, creator: _Creator) -> str:
        if creator.by is each and creator.release is None:
            return ""
        before = self._before(creator)
        if each.key in before:
            return f"which waits for {each}, or is delivered by it"
        # Of what is delivered by itself nothing is held up but that.
        if is_windows(each):
            return ""
        closed = {self.gated.cluster.kustomizations[key].identity for key in before}
        closed.update(release.identity for release in self._releases(creator.release))
        for identity in sorted(closed):
            # Under `firstApply: Allow` a target is applied once before it is closed.
            policies = self.gated.gates(identity) & self.gated.waiting
            if policies:
                return (
                    f"which the policy {', '.join(sorted(policies))} gates with `firstApply: Wait`"
                )
        return ""

    def _before(self, creator: _Creator) -> set[str]:
        """Return the keys of the Kustomizations that are applied before something is created."""
        owners = (
            self.gated.cluster.objects[release.identity][0]
            for release in self._releases(creator.release)
        )
        return self.gated.before(creator.by, *owners)

    def _releases(self, release: Object | None) -> Iterator[Object]:
        """Yield a HelmRelease and all that it depends on."""
        due = [release] if release else []
        seen: set[ObjectIdentity] = set()
        while due:
            each = due.pop()
            if each.identity in seen:
                continue
            seen.add(each.identity)
            yield each
            for entry in each.parts("spec", "dependsOn"):
                namespace = str(entry.get("namespace") or each.namespace)
                identity = ObjectIdentity(*_RELEASE, namespace, str(entry.get("name")))
                if identity in self.gated.cluster.objects:
                    due.append(self.gated.cluster.objects[identity][1])


def _is_foreign(need: _Need) -> bool:
    """Whether a namespace is needed, or a definition that neither Kubernetes nor Flux has."""
    kind, name = need
    group = name.partition(".")[2]
    return kind == "Namespace" or ("." in group and not group.endswith((".k8s.io", ".fluxcd.io")))


def _created(item: Object) -> Iterator[_Need]:
    """Yield what an object creates that others may need."""
    if item.kind == "Namespace" and not item.group:
        yield "Namespace", item.name
    elif item.kind == _DEFINITION:
        yield _DEFINITION, f"{item.text('spec', 'names', 'kind')}.{item.text('spec', 'group')}"
    elif (item.group, item.kind) == _RELEASE and item.get("spec", "install", "createNamespace"):
        yield "Namespace", item.text("spec", "targetNamespace") or item.namespace
