"""The layout `overlays`.

A base of what every cluster has, suspended and without times, and patches for each cluster. What a
base holds depends on one version of the policy, never on all clusters: so the change of one cluster
leaves the files of all others as they are, and no shard of a fleet has to know the others.
"""

from collections.abc import Iterable

from krm_windows import emit
from krm_windows.emit import Identity, Manifest, configmap, names
from krm_windows.emit.labels import WINDOW
from krm_windows.krm import writer
from krm_windows.plan.model import Plan
from krm_windows.render import flat
from krm_windows.render.patch import DIRECTIVE, Object, difference

PLACEHOLDER = "placeholder"
_TABLES = (configmap.TIMETABLE, configmap.HOOKS)
_NEVER = {"schedule": "* * * * *", "suspend": True}


def base(plan: Plan, manifests: Iterable[Manifest]) -> list[Manifest]:
    """Return the objects of a policy as the base has them: nothing runs, and no time is said."""
    return [_waiting(plan, manifest) for manifest in manifests]


def _waiting(plan: Plan, manifest: Manifest) -> Manifest:
    metadata, spec = manifest["metadata"], manifest.get("spec", {})
    match manifest["kind"]:
        case "CronJob":
            annotations = {
                key: text for key, text in metadata["annotations"].items() if key != WINDOW
            }
            timeless = {key: value for key, value in spec.items() if key != "timeZone"}
            return {
                **manifest,
                "metadata": {**metadata, "annotations": annotations},
                "spec": {**timeless, **_NEVER},
            }
        case "ConfigMap":
            data = {
                key: text for key, text in manifest.get("data", {}).items() if key not in _TABLES
            }
            return {**manifest, "data": data}
        case "Job":
            name = names.now(plan, PLACEHOLDER)
            return {
                **manifest,
                "metadata": {**metadata, "name": name},
                "spec": {"suspend": True, **spec},
            }
    return manifest


def cluster(
    based: Iterable[Manifest], wanted: Iterable[Manifest]
) -> tuple[dict[str, Manifest], list[Object]]:
    """Return what makes the objects of a cluster of those of the base.

    That are objects by file, and entries of `patches`.
    """
    there = {_place(manifest): manifest for manifest in based}
    here = {_place(manifest): manifest for manifest in wanted}
    own = flat.named(manifest for place, manifest in here.items() if place not in there)
    both = sorted((place for place in here if place in there), key=_reading)
    changes = [_change(there[place], here[place]) for place in both]
    removals = [_removal(manifest) for place, manifest in there.items() if place not in here]
    return own, [*filter(None, changes), *removals]


def _place(manifest: Manifest) -> Identity:
    """Return what two versions of an object have in common.

    A policy has one Job, whose name is a hash.
    """
    kind, namespace, name = emit.identity(manifest)
    return kind, namespace, "" if kind == "Job" else name


def _reading(place: Identity) -> bool:
    """Sort the schedules first, which is what a reader looks for."""
    return place[0] != "CronJob"


def _change(there: Manifest, here: Manifest) -> Object | None:
    """Return the entry of `patches` that makes one object of another, None where they are equal."""
    changed = {key: value for key, value in difference(there, here).items() if key != "metadata"}
    metadata = difference(there["metadata"], here["metadata"])
    if not changed and not metadata:
        return None
    named: dict[str, object] = {"metadata": {**_named(here), **metadata}}
    # kustomize trims the end of a patch in line, so a text of several lines must not be its last.
    patch = _entry(here, changed | named if "data" in changed else named | changed)
    return (
        patch if there["metadata"]["name"] == here["metadata"]["name"] else patch | _renaming(there)
    )


def _removal(manifest: Manifest) -> Object:
    return _entry(manifest, {DIRECTIVE: "delete", "metadata": _named(manifest)})


def _named(manifest: Manifest) -> dict[str, str]:
    """Return what metadata say which object it is; one of the whole cluster has no namespace."""
    _, namespace, name = emit.identity(manifest)
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


def _entry(manifest: Manifest, patch: Object) -> dict[str, object]:
    return {
        "patch": writer.render(
            {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], **patch}
        )
    }


def _renaming(there: Manifest) -> dict[str, object]:
    """Say which object a patch is for that gives it another name."""
    group, _, version = there["apiVersion"].rpartition("/")
    target = {"group": group, "version": version, "kind": there["kind"], **_named(there)}
    return {"options": {"allowNameChange": True}, "target": target}
