"""One tree for each change class, and the Flux Kustomizations that deliver them."""

import re
from collections.abc import Iterator

from krm_windows.classes.model import ChangeClass, Spec
from krm_windows.classes.partition import Partition
from krm_windows.emit.labels import GOVERNED_BY
from krm_windows.emit.names import digest, fit
from krm_windows.inventory import CHANGE_CLASS, Resource
from krm_windows.krm import KubeObject, Value, writer
from krm_windows.krm.frames import document
from krm_windows.render.flat import KUSTOMIZATION, below, kustomization

# A file system takes 255 bytes, and something is written beside it.
_LONGEST = 240
# All but characters that no file system and no shell has trouble with.
_UNUSUAL = re.compile(r"[^a-z0-9._-]")


def header(name: str) -> str:
    """Return the first line of every file of a split, by which they are recognised."""
    return f"# Split by krm-windows from ChangeClasses {name}: edit the base, not this file."


def files(
    name: str,
    spec: Spec,
    partition: Partition,
    template: KubeObject | None,
) -> dict[str, bytes]:
    """Return the content of each file by its path; a class without a resource has none.

    `template` is the Flux Kustomization, whose path is that of the directory in which all of this
    is.
    """
    # A class that is empty has no tree, so none may depend on it, either.
    there = [declared for declared in spec.classes if any(partition.of(declared.name))]
    found: dict[str, bytes] = {}
    for declared in there:
        found |= below(declared.name, _listed(_tree(partition, declared)))
    if template is not None and there:
        found.update(_delivery(template, there))
    head = f"{header(name)}\n".encode()
    return {path: head + content for path, content in found.items()}


def _delivery(template: KubeObject, there: list[ChangeClass]) -> dict[str, bytes]:
    """Return the Flux Kustomizations of the classes, with the kustomization that lists them."""
    contents = {}
    for declared in there:
        item = _delivered(template, declared, there)
        contents[f"kustomization_{item.name}.yaml"] = _document(item)
    return _listed(contents)


def _tree(partition: Partition, declared: ChangeClass) -> dict[str, bytes]:
    """Return the resources of a class in their order, as they came."""
    found = {}
    for placed in partition.of(declared.name):
        found[file_name(placed.resource)] = _document(placed.resource.item.as_read())
    return found


def file_name(resource: Resource) -> str:
    """Return the name of a resource's file.

    Kind with group, namespace and name, as far as there are such.
    """
    # `kustomization.kustomize.toolkit.fluxcd.io`, but `service` in the core group.
    kind = f"{resource.kind}.{resource.group}".rstrip(".").lower()
    stem = "_".join(part for part in (kind, resource.namespace, resource.name) if part)
    replaced = _UNUSUAL.sub("-", stem)
    # Two names that differ in a replaced character alone are distinguished by the digest.
    if replaced != stem:
        stem = f"{replaced}-{digest(stem)}"
    return f"{fit(stem, _LONGEST)}.yaml"


def _listed(contents: dict[str, bytes]) -> dict[str, bytes]:
    """Return files with the kustomization that lists them.

    So that their order is the one of the base.
    """
    listing = writer.render(kustomization(contents))
    return {**contents, KUSTOMIZATION: listing.encode()}


def _document(item: KubeObject) -> bytes:
    # As it was read, comments too.
    text = document(item)
    if text.endswith(b"\n"):
        return text
    return text + b"\n"


def _delivered(
    template: KubeObject,
    declared: ChangeClass,
    there: list[ChangeClass],
) -> KubeObject:
    """Return the Flux Kustomization of a class.

    It is the template with its own name, path, annotations and dependencies.
    """
    # A copy: the template serves the other classes, too.
    item = template.as_read()
    item.set(f"{template.name}-{declared.name}", "metadata", "name")
    item.set_annotation(CHANGE_CLASS, declared.name)
    if declared.policy is not None:
        item.set_annotation(GOVERNED_BY, declared.policy)
    path = str(template.get("spec", "path") or ".")
    item.set(f"{path.rstrip('/')}/{declared.name}", "spec", "path")
    waited = relied_on(declared, there)
    names: list[Value] = [{"name": f"{template.name}-{each.name}"} for each in waited]
    if names:
        depends_on = template.get("spec", "dependsOn")
        # Those of the template hold for every class.
        if isinstance(depends_on, list):
            names = depends_on + names
        item.set(names, "spec", "dependsOn")
    return item


def relied_on(declared: ChangeClass, there: list[ChangeClass]) -> Iterator[ChangeClass]:
    """Yield the earlier classes that a class may wait for: those that are open whenever it is.

    Flux holds back what depends on a Kustomization that has not applied the newest revision, and a
    suspended one has not. So a class waits for none that another policy gates.
    """
    for earlier in there:
        if earlier is declared:
            return
        # A class without a policy is never gated, so it is open whenever any other is.
        if earlier.policy in (None, declared.policy):
            yield earlier
