"""One tree for each change class, and the Flux Kustomizations that deliver them."""

import re
from collections.abc import Iterator

from krm_windows.classes.model import ChangeClass, Spec
from krm_windows.classes.partition import Partition
from krm_windows.emit.labels import GOVERNED_BY
from krm_windows.emit.names import digest, fit
from krm_windows.inventory import CHANGE_CLASS, Resource
from krm_windows.krm import KubeObject, writer
from krm_windows.krm.listings import framed
from krm_windows.render.flat import KUSTOMIZATION, kustomization

_LONGEST = 240  # a file system takes 255 bytes, and something is written beside it
_PLAIN = re.compile(r"[a-z0-9._-]+")


def header(name: str) -> str:
    """Return the first line of every file of a split, by which they are told from others."""
    return f"# Split by krm-windows from ChangeClasses {name}: edit the base, not this file."


def files(
    name: str, spec: Spec, partition: Partition, template: KubeObject | None
) -> dict[str, bytes]:
    """Return the content of each file by its path; a class without a resource has none.

    `template` is the Flux Kustomization, whose path is that of the directory in which all of this
    stands.
    """
    trees = {declared.name: _tree(partition, declared) for declared in spec.classes}
    there = [declared for declared in spec.classes if trees[declared.name]]
    found = {
        f"{of.name}/{file}": content
        for of in there
        for file, content in _listed(trees[of.name]).items()
    }
    if template is not None and there:
        deliverers = [_delivered(template, declared, there) for declared in there]
        found |= _listed(
            {f"kustomization_{item.name}.yaml": _document(item) for item in deliverers}
        )
    head = f"{header(name)}\n".encode()
    return {path: head + content for path, content in found.items()}


def _tree(partition: Partition, declared: ChangeClass) -> dict[str, bytes]:
    """Return the resources of a class in their order, as they came."""
    return {
        file_name(placed.resource): _document(placed.resource.item.as_read())
        for placed in partition.of(declared.name)
    }


def file_name(resource: Resource) -> str:
    """Return the name of a resource's file.

    Kind with group, namespace and name, as far as there are such.
    """
    kind = f"{resource.kind}.{resource.group}".rstrip(".").lower()
    stem = "_".join(part for part in (kind, resource.namespace, resource.name) if part)
    if not _PLAIN.fullmatch(stem):
        stem = f"{re.sub('[^a-z0-9._-]', '-', stem)}-{digest(stem)}"
    return f"{fit(stem, _LONGEST)}.yaml"


def _listed(contents: dict[str, bytes]) -> dict[str, bytes]:
    """Return files with the kustomization that lists them.

    So that their order is the one of the base.
    """
    return {**contents, KUSTOMIZATION: writer.render(kustomization(contents)).encode()}


def _document(item: KubeObject) -> bytes:
    text = framed(item, None, b"\n")
    return text if text.endswith(b"\n") else text + b"\n"


def _delivered(template: KubeObject, declared: ChangeClass, there: list[ChangeClass]) -> KubeObject:
    """Return the Flux Kustomization of a class.

    The template with its own name, path, marks and dependencies.
    """
    item = template.as_read()
    path, depends_on = item.get("spec", "path"), item.get("spec", "dependsOn")
    item.set(f"{template.name}-{declared.name}", "metadata", "name")
    item.set_annotation(CHANGE_CLASS, declared.name)
    if declared.policy is not None:
        item.set_annotation(GOVERNED_BY, declared.policy)
    item.set(
        f"{(path if isinstance(path, str) else '.').rstrip('/')}/{declared.name}", "spec", "path"
    )
    names = [{"name": f"{template.name}-{earlier.name}"} for earlier in relied_on(declared, there)]
    if names:
        item.set(
            [*(depends_on if isinstance(depends_on, list) else []), *names], "spec", "dependsOn"
        )
    return item


def relied_on(declared: ChangeClass, there: list[ChangeClass]) -> Iterator[ChangeClass]:
    """Yield the earlier classes that a class may wait for: those that are open whenever it is.

    Flux holds back what depends on a Kustomization that has not applied the newest revision, and a
    suspended one has not. So a class waits for none that another policy gates.
    """
    for earlier in there:
        if earlier is declared:
            return
        if earlier.policy in (None, declared.policy):
            yield earlier
