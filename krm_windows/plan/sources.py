"""The sources of targets: what gating one would lock out."""

from collections.abc import Iterator

from krm_windows import gateable, rules
from krm_windows.inventory import CHANGE_CLASS, Inventory, Resource, each
from krm_windows.plan.targets import Selection
from krm_windows.results import Result

LIVE = "live"
# `flux bootstrap` names the source and the Kustomization that deliver a cluster's own directory
# like their namespace.
ROOT = ("flux-system", "flux-system")


def check(selection: Selection, inventory: Inventory) -> Iterator[Result]:
    """Yield an error for each gated object that delivers the policy or what is live."""
    if selection.row.is_source:
        for name in selection.names:
            yield from _source(selection, name, inventory)
        yield rules.SOURCE_NEEDS_NETWORK.result(
            f"gates a source: the cluster must be able to fetch the {selection.row.kind} while "
            "the window is open, and after a restart of source-controller there is no drift "
            "correction until the window opens",
            path=selection.path,
        )
    elif selection.row.kind == "Kustomization" and selection.row.group == gateable.KUSTOMIZE:
        for name in selection.names:
            if (selection.namespace, name) == ROOT:
                yield _self_lock(selection, name)


def users(
    selection: Selection,
    name: str,
    inventory: Inventory,
) -> Iterator[Resource]:
    """Yield the visible Kustomizations and HelmReleases that a source feeds."""
    for kustomization in each(inventory, gateable.KUSTOMIZE, "Kustomization"):
        if _refers(kustomization, ("spec", "sourceRef"), selection, name):
            yield kustomization
    for release in each(inventory, gateable.HELM, "HelmRelease"):
        # A HelmRelease names a chart of a HelmRepository, or since Flux 2.3 a chart as a source of
        # its own.
        paths = (("spec", "chart", "spec", "sourceRef"), ("spec", "chartRef"))
        if any(_refers(release, path, selection, name) for path in paths):
            yield release


def _refers(
    resource: Resource,
    path: tuple[str, ...],
    selection: Selection,
    name: str,
) -> bool:
    if resource.text(*path, "kind") != selection.row.kind:
        return False
    if resource.text(*path, "name") != name:
        return False
    # A reference without a namespace means that of the object that has it.
    namespace = resource.text(*path, "namespace") or resource.namespace or selection.namespace
    return namespace == selection.namespace


def _source(
    selection: Selection,
    name: str,
    inventory: Inventory,
) -> Iterator[Result]:
    # A suspended source still serves what it has fetched, but never an edited policy.
    if selection.row.kind == "GitRepository" and (selection.namespace, name) == ROOT:
        yield _shared(
            selection, name, "it delivers the cluster's own directory, including the policy"
        )
        # One that many share would hold back their live Kustomizations too.
        return
    for user in users(selection, name, inventory):
        if (user.namespace, user.name) == ROOT or user.item.annotations.get(CHANGE_CLASS) == LIVE:
            named = f"{user.kind} {user.namespace}/{user.name}"
            yield _shared(selection, name, f"{named}, which must always reconcile, uses it")


def _shared(selection: Selection, name: str, reason: str) -> Result:
    return rules.SOURCE_SHARED.result(
        f"must not gate {selection.row.kind} {selection.namespace}/{name}: {reason}; create a "
        f"second {selection.row.kind} for the gated workloads, and gate that one",
        path=selection.path,
        current=name,
    )


def _self_lock(selection: Selection, name: str) -> Result:
    return rules.SELF_LOCK.result(
        f"must not gate Kustomization {selection.namespace}/{name}: it delivers the cluster's "
        "own directory, so no change to the windows would be applied while it is closed; gate "
        "the Kustomizations of apps and infrastructure instead",
        path=selection.path,
        current=name,
    )
