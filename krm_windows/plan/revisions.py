"""Revisions: which sources the gate reads for them, and of which targets none is known.

Loaded only for a policy with `onlyIf: Pending` or `afterApply`.
"""

from collections.abc import Iterable, Iterator

from krm_windows import gateable, rules
from krm_windows.gate.revisions import ELSEWHERE, KINDS, Source
from krm_windows.gate.timetable import Target
from krm_windows.inventory import Inventory, Resource
from krm_windows.plan.targets import Selection
from krm_windows.results import Result

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
            own = Source(target.kind, target.namespace, target.name)
            found.update(_referred(target.group, own, _OF_KUSTOMIZATIONS, inventory))
        elif (target.group, target.kind) == (gateable.HELM, "HelmRelease"):
            found.update(_of_release(target, inventory))
    return frozenset(found)


def check_applied(selection: Selection) -> Iterator[Result]:
    """Yield a warning for targets of which `afterApply` never learns what they have applied."""
    kind = selection.row.kind
    if (selection.row.group, kind) not in KINDS:
        message = f"is not checked by `afterApply`: the gate reads no revision of a {kind}"
        yield rules.PENDING_UNKNOWN.result(message, path=selection.path, current=kind)


def check(selection: Selection, inventory: Inventory) -> Iterator[Result]:
    """Yield a warning for each target for which hooks run in spite of `onlyIf: Pending`."""
    kind = selection.row.kind
    if (selection.row.group, kind) not in KINDS:
        message = f"is unknown for a {kind}, of which the gate reads no revision: hooks run"
        yield rules.PENDING_UNKNOWN.result(message, path=selection.path, current=kind)
        return
    for resource in selection.seen(inventory):
        for field in ELSEWHERE:
            if resource.item.get("spec", *field):
                words = ".".join(field)
                yield resource.result(
                    rules.PENDING_UNKNOWN,
                    "takes values from ConfigMaps or Secrets, which the gate does not read with "
                    "`onlyIf: Pending`: hooks run, because they may have changed",
                    path=f"spec.{words}",
                )


def _referred(
    group: str, source: Source, kinds: Iterable[str], inventory: Inventory
) -> Iterator[Source]:
    """Yield what an object refers to as its source."""
    resource = inventory.find(group, source.kind, source.namespace, source.name)
    if resource is None:
        yield from _any_of(kinds, source.namespace)
    else:
        yield from _named(resource, source.namespace, kinds, "spec", "sourceRef")


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
            yield from _referred(gateable.SOURCE, source, _OF_CHARTS, inventory)


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
