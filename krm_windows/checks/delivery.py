"""The Flux Kustomization that delivers the windows: live, and in front of what they gate.

Were it, its source or anything that it waits for closed by its own windows, no edit of them would
arrive (S5).
"""

from collections.abc import Iterable, Iterator

from krm_windows import inventory, rules
from krm_windows.flux.model import Kustomization, Object, ObjectIdentity
from krm_windows.gate.timetable import Target
from krm_windows.inventory import Resource
from krm_windows.krm import KubeObject
from krm_windows.results import Result

Field = tuple[str, str, str]
"""The path of a field, what it is, and what is wrong with it."""


def hindered(delivering: KubeObject, targets: Iterable[Target]) -> list[Result]:
    """Return what is wrong with a Kustomization that delivers windows for these targets."""
    resource = inventory.resource_of(delivering)
    fields = (*stopped(delivering), *lasting(delivering), *_moving(delivering))
    # Fields that keep windows from arriving as rendered.
    found = [
        resource.result(rules.DELIVERY_FIELD, message, path=path, current=current)
        for path, current, message in fields
    ]
    return [*found, *_locks(resource, targets)]


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


def _locks(resource: Resource, targets: Iterable[Target]) -> Iterator[Result]:
    """Yield an error for each gated object that the delivery is, reads from or waits for."""
    gated = {ObjectIdentity.of_target(target): target for target in targets}
    own = Object.of(resource.item)
    delivering = Kustomization(own.identity.path, own, None, "")
    needed = [
        (delivering.identity, "metadata.name", "delivers them"),
        (delivering.source, "spec.sourceRef", "is the source they are delivered from"),
    ]
    for key in delivering.depends_on:
        waited = Kustomization(key, None, None, "").identity
        needed.append((waited, "spec.dependsOn", "is a dependency of their delivery"))
    for identity, path, reason in needed:
        if identity is not None and identity in gated:
            message = (
                f"the windows must not gate {gated[identity]}, which {reason}: while it is closed, "
                "no change to the windows would be applied; targets may depend on the windows, "
                "but not the other way round"
            )
            yield resource.result(rules.SELF_LOCK, message, path=path, current=identity.name)
