"""The layout `overlays`.

A base of what every cluster has, suspended and without times, and patches for each cluster. What a
base holds depends on one version of the policy, never on all clusters: so the change of one cluster
leaves the files of all others as they are.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from krm_windows import emit
from krm_windows.emit import Identity, Manifest, configmap, names
from krm_windows.emit.labels import WINDOW
from krm_windows.krm import writer
from krm_windows.plan.model import Plan
from krm_windows.render.patch import DIRECTIVE, Object, difference

_Value = TypeVar("_Value")

# A name that no Job has in a cluster: what stands for the hash of its times there.
PLACEHOLDER = "placeholder"
# What differs in each cluster, so that it is left to the patch.
_TABLES = (
    configmap.TIMETABLE,
    configmap.HOOKS,
    names.TIME_INTERVALS,
    names.MUTE_TIMINGS,
)
# A schedule is required (batch/v1); suspended, none of its times comes.
_NEVER = {"schedule": "* * * * *", "suspend": True}


def base(plan: Plan, manifests: Iterable[Manifest]) -> list[Manifest]:
    """Return the objects of a policy as the base has them: nothing runs, and no time is said."""
    return [_waiting(plan, manifest) for manifest in manifests]


def _waiting(plan: Plan, manifest: Manifest) -> Manifest:
    """Return an object as the base has it."""
    metadata = manifest["metadata"]
    match manifest["kind"]:
        case "CronJob":
            spec = {**_without(manifest["spec"], "timeZone"), **_NEVER}
            manifest = {**manifest, "spec": spec}
        case "ConfigMap":
            manifest = {**manifest, "data": _without(manifest.get("data", {}), *_TABLES)}
        case "Job":
            metadata = {**metadata, "name": names.apply_job(plan, PLACEHOLDER)}
            # Suspended it is created but starts no Pod (batch/v1, JobSpec.suspend).
            manifest = {**manifest, "spec": {"suspend": True, **manifest["spec"]}}
    # Windows in words, and the zone data of a table, are each cluster's own as its schedules are.
    annotations = _without(metadata["annotations"], WINDOW, configmap.ZONE_DATA)
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def _without(mapping: Mapping[str, _Value], *keys: str) -> dict[str, _Value]:
    return {key: value for key, value in mapping.items() if key not in keys}


def cluster(
    based: Iterable[Manifest], wanted: Iterable[Manifest]
) -> tuple[list[Manifest], list[Object]]:
    """Return the difference between a cluster's objects (`wanted`) and those of the base.

    That is the objects that the base lacks, and the entries of `patches`.
    """
    # By what stays equal: the name of a Job changes with the times.
    of_base = {_place(manifest): manifest for manifest in based}
    of_cluster = {_place(manifest): manifest for manifest in wanted}
    added = [of_cluster[place] for place in of_cluster if place not in of_base]
    both = [place for place in of_cluster if place in of_base]
    # CronJobs first, as a reader looks for the schedules; else in the order of the cluster.
    both.sort(key=lambda place: place[0] != "CronJob")
    changes = [_change(of_base[place], of_cluster[place]) for place in both]
    # An object of the base that this cluster does not have is deleted by a patch.
    removals = [_removal(of_base[place]) for place in of_base if place not in of_cluster]
    # Without those that the cluster has as the base has them.
    return added, [*filter(None, changes), *removals]


def _place(manifest: Manifest) -> Identity:
    """Return what two versions of an object have in common.

    A policy has one Job, whose name is a hash.
    """
    kind, namespace, name = emit.identity(manifest)
    if kind == "Job":
        return kind, namespace, ""
    return kind, namespace, name


def _change(there: Manifest, here: Manifest) -> Object | None:
    """Return the entry of `patches` that makes one object of another, None where they are equal."""
    changed = _without(difference(there, here), "metadata")
    metadata = difference(there["metadata"], here["metadata"])
    if not changed and not metadata:
        return None
    # Without name and namespace kustomize finds no object that a patch is for.
    named: dict[str, object] = {"metadata": {**_named(here), **metadata}}
    # kustomize trims the end of a patch in line, so a text of several lines must not be its last.
    patch = _entry(here, {**changed, **named} if "data" in changed else {**named, **changed})
    # kustomize renames only where a patch says that it may.
    if there["metadata"]["name"] != here["metadata"]["name"]:
        patch.update(_renaming(there))
    return patch


def _removal(manifest: Manifest) -> Object:
    return _entry(manifest, {DIRECTIVE: "delete", "metadata": _named(manifest)})


def _named(manifest: Manifest) -> dict[str, str]:
    """Return what metadata say which object it is; one of the whole cluster has no namespace."""
    _, namespace, name = emit.identity(manifest)
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


def _entry(manifest: Manifest, patch: Object) -> dict[str, object]:
    """Return an entry of `patches` for an object."""
    whole = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], **patch}
    return {"patch": writer.render(whole)}


def _renaming(there: Manifest) -> dict[str, object]:
    """Return the fields of a patch that gives an object another name, with the object it is for."""
    # `batch/v1` is group and version; of the core group's `v1` the group is empty.
    group, _, version = there["apiVersion"].rpartition("/")
    target = {"group": group, "version": version, "kind": there["kind"], **_named(there)}
    return {"options": {"allowNameChange": True}, "target": target}
