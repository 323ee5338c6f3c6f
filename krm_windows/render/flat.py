"""One policy for one cluster as plain files in one directory.

A kustomization lists them.
"""

from collections.abc import Iterable, Mapping

from krm_windows import emit
from krm_windows.apply.paths import file_name
from krm_windows.emit import Manifest
from krm_windows.emit.header import header
from krm_windows.krm import writer
from krm_windows.plan.model import Plan
from krm_windows.render.apart import Delivery, Folders, split

KUSTOMIZATION = "kustomization.yaml"


def rendered(
    plan: Plan, manifests: Iterable[Manifest], delivery: Delivery | None = None
) -> dict[str, bytes]:
    """Return the content of each file by its path, for what a policy yields.

    Where it is known how Flux delivers the directory, what must not hold up the windows is in
    directories of its own.
    """
    if delivery is None:
        return files(plan.policy, manifests)
    together, folders = split(plan, manifests)
    together += delivery.kustomizations(plan, folders)
    return {**files(plan.policy, together), **apart_files(plan.policy, folders)}


def below(folder: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return files by their paths from the directory that a folder of them is in."""
    return {f"{folder}/{name}": content for name, content in files.items()}


def apart_files(policy: str, folders: Folders) -> dict[str, bytes]:
    """Return the files of the directories of what is apart, by path."""
    found: dict[str, bytes] = {}
    for folder, manifests in folders.items():
        found |= below(folder, files(policy, manifests))
    return found


def files(policy: str, manifests: Iterable[Manifest]) -> dict[str, bytes]:
    """Return the content of each file of a directory by its name, for objects of a policy."""
    found = objects(policy, manifests)
    return {**found, KUSTOMIZATION: content(policy, kustomization(found))}


def objects(policy: str, manifests: Iterable[Manifest]) -> dict[str, bytes]:
    """Return the content of the file of each object by its name."""
    found = {}
    for manifest in manifests:
        kind, _, name = emit.identity(manifest)
        # The kind is in the name, as a Role, its binding and their account are named alike.
        found[file_name(kind, name)] = content(policy, manifest)
    return found


def kustomization(resources: Iterable[str]) -> dict[str, object]:
    """Return a kustomization of files and directories."""
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(resources),
    }


def content(policy: str, value: object) -> bytes:
    """Return the content of a file that a policy yields.

    Several policies may yield it, whose names a comma separates.
    """
    return f"{header(policy)}\n{writer.render(value)}".encode()
