"""A new cluster comes up: the windows need nothing that waits for them.

kustomize-controller tries all that a Kustomization applies by a dry run, and applies nothing where
that fails; Namespaces and CustomResourceDefinitions of the same Kustomization come first
(fluxcd/pkg, ssa.ApplyAllStaged). So one object whose namespace or definition is missing holds up
all others, and what those create.
"""

from collections.abc import Iterator

from krm_windows import rules
from krm_windows.checks.repository.gated import GatedCluster, is_windows
from krm_windows.flux import Kustomization, Object
from krm_windows.flux.model import Finding
from krm_windows.gateable import HELM, KUSTOMIZE
from krm_windows.inventory import POLICY

_DEFINITION = "CustomResourceDefinition"
_RELEASE = (HELM, "HelmRelease")
_RENDER = (
    "render the windows with `--resources` of the cluster's directory, so that it is delivered by "
    "a Kustomization of its own, or create what it needs in the Kustomization that applies it"
)
_WAIT = "wait for nothing that this Kustomization belongs to: remove `wait` or `dependsOn`"
# What an object needs: the kind of that, and its name; a definition is named by group and kind.
_Need = tuple[str, str]
# What creates something: a Kustomization, or a HelmRelease that it applies.
_Creator = tuple[Kustomization, Object | None]
_Creators = dict[tuple[tuple[str, ...], _Need], list[_Creator]]


def blocked(gated: GatedCluster) -> Iterator[Finding]:
    """Yield what belongs to windows and needs what waits for it, once for each need."""
    creators: _Creators = {}
    for each, item in gated.applied():
        release = item if (item.group, item.kind) == _RELEASE else None
        for need in _created(item):
            where = gated.cluster.destination(each), need
            creators.setdefault(where, []).append((each, release))
    for each in gated.cluster.kustomizations.values():
        needs: dict[_Need, Object] = {}
        for item in each.objects:
            # To look for the text is much cheaper than to read every object.
            if item.item.mentions(POLICY) and item.note(POLICY):
                if item.namespace:
                    needs.setdefault(("Namespace", item.namespace), item)
                needs.setdefault((_DEFINITION, f"{item.kind}.{item.group}"), item)
        for (kind, name), item in needs.items():
            reason = _blocked(gated, each, (kind, name), creators)
            if reason:
                message = (
                    f"needs the {kind} {name}, which {reason}: on a new cluster {each} fails, and "
                    f"applies nothing; {_WAIT if is_windows(each) else _RENDER}"
                )
                yield Finding(
                    rules.NEW_CLUSTER_BLOCKED, message, item, "metadata.namespace", current=name
                )


def _created(item: Object) -> Iterator[_Need]:
    """Yield what an object creates that others may need."""
    if item.kind == "Namespace" and not item.group:
        yield "Namespace", item.name
    elif item.kind == _DEFINITION:
        yield _DEFINITION, f"{item.text('spec', 'names', 'kind')}.{item.text('spec', 'group')}"
    elif (item.group, item.kind) == _RELEASE and item.get("spec", "install", "createNamespace"):
        yield "Namespace", item.text("spec", "targetNamespace") or item.namespace


def _blocked(gated: GatedCluster, each: Kustomization, need: _Need, creators: _Creators) -> str:
    """Say what creates a need of a Kustomization and why that comes too late; else nothing."""
    where = gated.cluster.destination(each)
    # Where Flux runs there is what it reads, whoever creates it as well: itself.
    there = {("Namespace", above.namespace) for above in gated.above(each)}
    if not where and need in {*there, (_DEFINITION, f"Kustomization.{KUSTOMIZE}")}:
        return ""
    reasons = []
    # What nobody in the repository creates is there: `default`, for one.
    for by, release in creators.get((where, need), ()):
        reason = "" if by is each and release is None else _late(gated, each, by, release)
        if not reason:
            return ""
        reasons.append(f"{release or by} creates, {reason}")
    return "; ".join(reasons)


def _late(
    gated: GatedCluster, each: Kustomization, by: Kustomization, release: Object | None
) -> str:
    """Say why what something creates is not there when a Kustomization is applied."""
    before = gated.before(by)
    if each.key in before:
        return f"which waits for {each}, or is delivered by it"
    # Of what is delivered by itself nothing is held up but that.
    if is_windows(each):
        return ""
    closed = {gated.cluster.kustomizations[key].identity for key in before}
    if release:
        closed.add(release.identity)
    for identity in sorted(closed):
        # Under `firstApply: Allow` a target is applied once before it is closed.
        policies = gated.gates(identity) & gated.waiting
        if policies:
            named = ", ".join(sorted(policies))
            return f"which the policy {named} gates with `firstApply: Wait`"
    return ""
