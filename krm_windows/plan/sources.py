"""The sources of targets: which of them the gate reads, and what gating one would lock out."""

from collections.abc import Iterable, Iterator

from krm_windows import gateable, rules
from krm_windows.gate.revisions import ELSEWHERE, KINDS, Source
from krm_windows.gate.timetable import Target
from krm_windows.inventory import CHANGE_CLASS, Inventory, Resource, each
from krm_windows.plan.targets import Selection
from krm_windows.results import Result

LIVE = "live"
# `flux bootstrap` names the source and the Kustomization that deliver a cluster's own directory
# like their namespace.
ROOT = ("flux-system", "flux-system")
# What they may name as their source (kustomize.toolkit.fluxcd.io/v1, helm.toolkit.fluxcd.io/v2,
# HelmChart of source.toolkit.fluxcd.io/v1).
_OF_KUSTOMIZATIONS = ("GitRepository", "OCIRepository", "Bucket", "ExternalArtifact")
_OF_CHARTS = ("HelmRepository", "GitRepository", "Bucket")
_OF_RELEASES = ("HelmChart", "OCIRepository", "ExternalArtifact", *_OF_CHARTS)


def read(targets: Iterable[Target], inventory: Inventory) -> frozenset[Source]:
    """Return the sources of targets that note what they have applied.

    For one that is not visible all that it may have in its own namespace: those have no name.
    """
    found: set[Source] = set()
    for target in targets:
        if (target.group, target.kind) == (gateable.KUSTOMIZE, "Kustomization"):
            found.update(_of_kustomization(target, inventory))
        elif (target.group, target.kind) == (gateable.HELM, "HelmRelease"):
            found.update(_of_release(target, inventory))
    return frozenset(found)


def check_applied(selection: Selection) -> Iterator[Result]:
    """Yield a warning for targets of which `afterApply` never learns what they have applied."""
    kind = selection.row.kind
    if (selection.row.group, kind) not in KINDS:
        message = f"is not what `afterApply` checks: a {kind} notes no revision that it has applied"
        yield rules.PENDING_UNKNOWN.result(message, path=selection.path, current=kind)


def check_pending(selection: Selection, inventory: Inventory) -> Iterator[Result]:
    """Yield a warning for each target for which hooks run in spite of `onlyIf: Pending`."""
    kind = selection.row.kind
    if (selection.row.group, kind) not in KINDS:
        message = f"cannot be told for a {kind}, which notes no revision that waits: hooks run"
        yield rules.PENDING_UNKNOWN.result(message, path=selection.path, current=kind)
        return
    for resource in selection.seen(inventory):
        for field in ELSEWHERE:
            if resource.item.get("spec", *field):
                words = ".".join(field)
                yield resource.result(
                    rules.PENDING_UNKNOWN,
                    "takes values from ConfigMaps or Secrets, which the gate of a policy with "
                    "`onlyIf: Pending` does not read: hooks run, as they may have changed",
                    path=f"spec.{words}",
                )


def _of_kustomization(target: Target, inventory: Inventory) -> Iterator[Source]:
    resource = inventory.find(target.group, target.kind, target.namespace, target.name)
    if resource is None:
        yield from _any_of(_OF_KUSTOMIZATIONS, target.namespace)
    else:
        yield from _named(resource, target.namespace, _OF_KUSTOMIZATIONS, "spec", "sourceRef")


def _of_release(target: Target, inventory: Inventory) -> Iterator[Source]:
    resource = inventory.find(target.group, target.kind, target.namespace, target.name)
    if resource is None:
        yield from _any_of(_OF_RELEASES, target.namespace)
        return
    chart = ("spec", "chart", "spec", "sourceRef")
    for source in _named(resource, target.namespace, _OF_CHARTS, *chart):
        # The name that helm-controller gives the HelmChart, beside what that comes from.
        yield Source("HelmChart", source.namespace, f"{target.namespace}-{target.name}")
        yield source
    for source in _named(resource, target.namespace, _OF_RELEASES, "spec", "chartRef"):
        yield source
        if source.kind == "HelmChart":
            yield from _of_chart(source, inventory)


def _of_chart(chart: Source, inventory: Inventory) -> Iterator[Source]:
    resource = inventory.find(gateable.SOURCE, chart.kind, chart.namespace, chart.name)
    if resource is None:
        yield from _any_of(_OF_CHARTS, chart.namespace)
    else:
        yield from _named(resource, chart.namespace, _OF_CHARTS, "spec", "sourceRef")


def _any_of(kinds: Iterable[str], namespace: str) -> Iterator[Source]:
    for kind in kinds:
        yield Source(kind, namespace, "")


def _named(
    resource: Resource,
    namespace: str,
    kinds: Iterable[str],
    *path: str,
) -> Iterator[Source]:
    """Yield what a reference names, if that can be a source."""
    kind = resource.text(*path, "kind")
    name = resource.text(*path, "name")
    if kind in kinds and name:
        yield Source(kind, resource.text(*path, "namespace") or namespace, name)


def check(selection: Selection, inventory: Inventory) -> Iterator[Result]:
    """Yield an error for each gated object that delivers the policy or what is live."""
    if selection.row.is_source:
        for name in selection.names:
            yield from _source(selection, name, inventory)
        yield rules.SOURCE_UPLINK.result(
            "gates a source: the cluster needs its uplink while the window is open to fetch what "
            f"{selection.row.kind} names, and after a restart of source-controller there is no "
            "drift correction until the window opens",
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
    # A reference without a namespace means that of the object that has it.
    namespace = resource.text(*path, "namespace") or resource.namespace or selection.namespace
    found = (resource.text(*path, "kind"), namespace, resource.text(*path, "name"))
    return found == (selection.row.kind, selection.namespace, name)


def _source(
    selection: Selection,
    name: str,
    inventory: Inventory,
) -> Iterator[Result]:
    # A suspended source still serves what it has fetched, but never an edited policy.
    if selection.row.kind == "GitRepository" and (selection.namespace, name) == ROOT:
        yield _shared(
            selection, name, "it delivers the cluster's own directory, the policy with it"
        )
        # One that many share would hold back their live Kustomizations too.
        return
    for user in users(selection, name, inventory):
        if (user.namespace, user.name) == ROOT or user.item.annotations.get(CHANGE_CLASS) == LIVE:
            yield _shared(
                selection, name, f"the live {user.kind} {user.namespace}/{user.name} uses it"
            )


def _shared(selection: Selection, name: str, reason: str) -> Result:
    return rules.SOURCE_SHARED.result(
        f"must not gate {selection.row.kind} {selection.namespace}/{name}: {reason}; "
        f"declare a second {selection.row.kind} for the windowed class and gate that one",
        path=selection.path,
        current=name,
    )


def _self_lock(selection: Selection, name: str) -> Result:
    return rules.SELF_LOCK.result(
        f"must not gate Kustomization {selection.namespace}/{name}: it delivers the cluster's own "
        "directory, so while closed no edit of the windows would arrive; gate the Kustomizations "
        "of apps and infrastructure instead",
        path=selection.path,
        current=name,
    )
