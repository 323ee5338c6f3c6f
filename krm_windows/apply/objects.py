"""The emitted objects in the stream: update those that are there, add the others, remove what is no longer yielded."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from krm_windows import rules
from krm_windows.emit import names
from krm_windows.emit.labels import POLICY
from krm_windows.krm import KubeObject
from krm_windows.plan.model import Plan
from krm_windows.results import ResourceRef, Result

KINDS = frozenset({"ServiceAccount", "Role", "RoleBinding", "ConfigMap", "CronJob", "Job"})

Key = tuple[str, str, str]
Manifest = dict[str, object]


@dataclass(frozen=True, slots=True)
class Standing:
    """What the stream holds already under the names of a plan, or with its label."""

    ours: dict[Key, KubeObject]
    foreign: dict[Key, KubeObject]


def standing(plan: Plan, items: Iterable[KubeObject]) -> Standing:
    """Find the objects of a plan among the items, looking only into those that could be."""
    label, needles = names.policy_label(plan), _needles(plan)
    ours: dict[Key, KubeObject] = {}
    foreign: dict[Key, KubeObject] = {}
    for item in items:
        if item.kind in KINDS and any(item.mentions(needle) for needle in needles):
            (ours if item.labels.get(POLICY) == label else foreign)[_key_of(item, plan.namespace)] = item
    return Standing(ours, foreign)


def check(plan: Plan, wanted: Sequence[Manifest], found: Standing) -> Iterator[Result]:
    """Yield an error for each foreign object under a name of ours that the policy does not claim."""
    adopted = {id(item) for item in claimed(plan, found)}
    for manifest in wanted:
        kind, namespace, name = key = key_of(manifest)
        if key in found.foreign and id(found.foreign[key]) not in adopted:
            yield rules.NAME_TAKEN.result(
                f"stands in the resources already and is not ours; rename it or the policy {plan.policy}"
                + (", or name it in the window's cronJobs to adopt it" if kind == "CronJob" else ""),
                path="metadata.name",
                current=name,
                ref=ResourceRef(api_version=str(manifest["apiVersion"]), kind=kind, name=name, namespace=namespace),
            )


def claimed(plan: Plan, found: Standing) -> list[KubeObject]:
    """Return the foreign CronJobs that the policy names in `cronJobs`."""
    keys = [("CronJob", plan.namespace, look.given) for look in plan.wake_ups if look.given]
    return [found.foreign[key] for key in keys if key in found.foreign]


def edit(wanted: Sequence[Manifest], found: Standing, items: Sequence[KubeObject]) -> list[KubeObject]:
    """Return the items with the objects of the plan in place: updated where they stand, new ones at the end."""
    keys = {key_of(manifest): manifest for manifest in wanted}
    gone = {id(item) for key, item in found.ours.items() if key not in keys}
    kept = [item for item in items if id(item) not in gone]
    return kept + [new for key, manifest in keys.items() if (new := _upsert(key, manifest, found)) is not None]


def key_of(manifest: Manifest) -> Key:
    """Return kind, namespace and name of a manifest."""
    metadata = manifest["metadata"]
    if not isinstance(metadata, dict):
        raise TypeError("a manifest's metadata is a mapping")
    return str(manifest["kind"]), str(metadata["namespace"]), str(metadata["name"])


def _key_of(item: KubeObject, default: str) -> Key:
    return item.kind, item.namespace or default, item.name


def _needles(plan: Plan) -> set[str]:
    given = {look.given for look in plan.wake_ups if look.given}
    return {plan.name[:40], names.policy_label(plan), *given}


def _upsert(key: Key, manifest: Manifest, found: Standing) -> KubeObject | None:
    """Update the object that stands under a key, or return a new one."""
    if key in found.ours:
        _update(found.ours[key], manifest)
    elif key in found.foreign:
        _update(found.foreign[key], manifest)
    else:
        return KubeObject.from_value(manifest)
    return None


def _update(item: KubeObject, manifest: Manifest) -> None:
    """Make an object say what the manifest says, keeping its other labels, annotations and comments."""
    for key, value in manifest.items():
        if key != "metadata":
            item.set(value, key)
    metadata = manifest["metadata"]
    if isinstance(metadata, dict):
        for label, value in metadata["labels"].items():
            item.set_label(label, value)
        for annotation, value in metadata["annotations"].items():
            item.set_annotation(annotation, value)
