"""The Flux Kustomization that delivers the windows: live, and in front of what they gate.

Were it, its source or anything that it waits for closed by its own windows, no edit of them would
arrive (S5).
"""

from collections.abc import Iterable, Iterator, Mapping

from krm_windows import gateable, inventory, rules
from krm_windows.gate.timetable import Target
from krm_windows.inventory import Resource
from krm_windows.krm import KubeObject
from krm_windows.results import Result

Address = tuple[str, str, str]
"""Kind, namespace and name."""
Field = tuple[str, str, str]
"""The path of a field, what it is, and what is wrong with it."""


def hindered(
    delivering: KubeObject,
    targets: Iterable[Target],
    items: list[KubeObject],
) -> list[Result]:
    """Return what is wrong with a Kustomization that delivers windows for these targets."""
    resource = inventory.resource_of(delivering)
    gated = {(target.kind, target.namespace, target.name): target for target in targets}
    return [*_fields(resource), *_locks(resource, gated, items)]


def _fields(resource: Resource) -> Iterator[Result]:
    """Yield an error for each field that keeps windows from arriving as rendered."""
    item = resource.item
    for path, current, message in (*stopped(item), *lasting(item), *_moving(item)):
        yield resource.result(rules.DELIVERY_FIELD, message, path=path, current=current)


def stopped(item: KubeObject) -> Iterator[Field]:
    """Yield the field by which a Flux Kustomization applies nothing."""
    if item.get("spec", "suspend") is True:
        yield (
            "spec.suspend",
            "true",
            (
                "must not be true on a Kustomization that delivers windows: while it is suspended, "
                "no change to the windows is applied; remove it"
            ),
        )


def lasting(item: KubeObject) -> Iterator[Field]:
    """Yield the fields by which what a Flux Kustomization applied stays when it is gone in Git."""
    if item.get("spec", "prune") is False:
        yield (
            "spec.prune",
            "false",
            (
                "must not be false on the Kustomization that delivers the windows: CronJobs of "
                "removed windows would keep running, and every change would leave a Job behind; "
                "set it to true"
            ),
        )
    if item.get("spec", "deletionPolicy") == "Orphan":
        yield (
            "spec.deletionPolicy",
            "Orphan",
            (
                "must not be Orphan on the Kustomization that delivers the windows: once it is "
                "removed, the windows would keep opening and closing, and nothing in Git would "
                "show them; remove it"
            ),
        )


def _moving(item: KubeObject) -> Iterator[Field]:
    """Yield the fields that move or rename all that a Flux Kustomization applies."""
    for name, does in (
        # A Role in another namespace than its targets grants nothing on them.
        ("targetNamespace", "move the Roles out of the namespaces of the targets"),
        ("namePrefix", "rename what the admission policies and the timetable have by name"),
        ("nameSuffix", "rename what the admission policies and the timetable have by name"),
    ):
        value = item.get("spec", name)
        if value:
            yield f"spec.{name}", str(value), f"must not be set: it would {does}; remove it"


def _locks(
    resource: Resource,
    gated: Mapping[Address, Target],
    items: list[KubeObject],
) -> Iterator[Result]:
    """Yield an error for each gated object that the delivery is, reads from or waits for."""
    seen = {(found.namespace, found.name): found for found in _kustomizations(items)}
    own = ("Kustomization", resource.namespace, resource.name)
    chain: list[tuple[Address, str, str]] = [
        (own, "metadata.name", "delivers them"),
        (_source(resource), "spec.sourceRef", "is the source they are delivered from"),
    ]
    for address in _chain(resource, seen):
        # What is waited for must not be gated either, nor what that waits for in its turn.
        waited = ("Kustomization", *address)
        chain.append((waited, "spec.dependsOn", "is a dependency of their delivery"))
    for key, path, reason in chain:
        if key in gated:
            message = (
                f"the windows must not gate {gated[key]}, which {reason}: while it is closed, "
                "no change to the windows would be applied; targets may depend on the windows, "
                "but not the other way round"
            )
            yield resource.result(rules.SELF_LOCK, message, path=path, current=key[2])


def _chain(resource: Resource, seen: Mapping[tuple[str, str], Resource]) -> list[tuple[str, str]]:
    """Return all that a Kustomization depends on, as far as it is visible."""
    found: dict[tuple[str, str], None] = {}
    waiting = [resource]
    while waiting:
        for address in _depends_on(waiting.pop()):
            # A cycle would never end; Flux refuses it.
            if address in found:
                continue
            found[address] = None
            if address in seen:
                waiting.append(seen[address])
    return list(found)


def _depends_on(resource: Resource) -> Iterator[tuple[str, str]]:
    entries = resource.item.get("spec", "dependsOn")
    if not isinstance(entries, list):
        return
    for entry in entries:
        if isinstance(entry, dict):
            # Without a namespace it is that of the Kustomization itself (kustomize-controller).
            yield str(entry.get("namespace") or resource.namespace), str(entry.get("name"))


def _source(resource: Resource) -> Address:
    namespace = resource.text("spec", "sourceRef", "namespace") or resource.namespace
    return (
        resource.text("spec", "sourceRef", "kind"),
        namespace,
        resource.text("spec", "sourceRef", "name"),
    )


def _kustomizations(items: list[KubeObject]) -> Iterator[Resource]:
    return inventory.each(
        inventory.take(items, ["Kustomization"]), gateable.KUSTOMIZE, "Kustomization"
    )
