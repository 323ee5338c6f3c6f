"""The Flux Kustomization that delivers the windows: live, and in front of what they gate.

Were it, its source or anything that it waits for closed by its own windows, no edit of them would
arrive (S5).
"""

from collections.abc import Iterable, Iterator, Mapping

from krm_windows import gateable, inventory, rules
from krm_windows.flux.model import Identity, Kustomization, Object, ObjectIdentity
from krm_windows.gate.timetable import Target
from krm_windows.inventory import Resource
from krm_windows.krm import KubeObject
from krm_windows.results import Result

Field = tuple[str, str, str]
"""The path of a field, what it is, and what is wrong with it."""


def hindered(
    delivering: KubeObject,
    targets: Iterable[Target],
    items: list[KubeObject],
) -> list[Result]:
    """Return what is wrong with a Kustomization that delivers windows for these targets."""
    resource = inventory.resource_of(delivering)
    gated: dict[Identity, Target] = {ObjectIdentity.of_target(target): target for target in targets}
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
    gated: Mapping[Identity, Target],
    items: list[KubeObject],
) -> Iterator[Result]:
    """Yield an error for each gated object that the delivery is, reads from or waits for."""
    delivering = _kustomization(resource.item)
    seen = {each.key: each for each in _kustomizations(items)}
    chain: list[tuple[Identity | None, str, str]] = [
        (delivering.identity, "metadata.name", "delivers them"),
        (delivering.source, "spec.sourceRef", "is the source they are delivered from"),
    ]
    for key in _chain(delivering, seen):
        # What is waited for must not be gated either, nor what that waits for in its turn.
        waited = Kustomization(key, None, None, "").identity
        chain.append((waited, "spec.dependsOn", "is a dependency of their delivery"))
    for identity, path, reason in chain:
        if identity is not None and identity in gated:
            message = (
                f"the windows must not gate {gated[identity]}, which {reason}: while it is closed, "
                "no change to the windows would be applied; targets may depend on the windows, "
                "but not the other way round"
            )
            yield resource.result(rules.SELF_LOCK, message, path=path, current=identity[3])


def _chain(delivering: Kustomization, seen: Mapping[str, Kustomization]) -> list[str]:
    """Return the keys of all that a Kustomization depends on, as far as it is visible."""
    found: dict[str, None] = {}
    waiting = [delivering]
    while waiting:
        for key in waiting.pop().depends_on:
            # A cycle would never end; Flux refuses it.
            if key in found:
                continue
            found[key] = None
            if key in seen:
                waiting.append(seen[key])
    return list(found)


def _kustomization(item: KubeObject) -> Kustomization:
    own = Object.of(item)
    return Kustomization(own.identity.path, own, None, "")


def _kustomizations(items: list[KubeObject]) -> Iterator[Kustomization]:
    taken = inventory.take(items, ["Kustomization"])
    for each in inventory.each(taken, gateable.KUSTOMIZE, "Kustomization"):
        yield _kustomization(each.item)
