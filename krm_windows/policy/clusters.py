"""A policy per cluster: RFC 7386 merge patches over trees of texts."""

from collections.abc import Iterator

from krm_windows.krm import nodes
from krm_windows.krm.nodes import Mapping, Node, Scalar
from krm_windows.policy.document import Tree


def empty_maps(patch: Tree, path: str) -> Iterator[str]:
    """Yield the paths of empty maps within a patch.

    Nothing to merge, and the sign of a null that got lost.

    A patch that is empty as a whole says that the cluster has the policy unchanged.
    """
    if isinstance(patch, dict):
        for name, value in patch.items():
            # kustomize drops null values of a patch on a custom resource before it merges.
            if value == {}:
                yield f"{path}.{name}"
            yield from empty_maps(value, f"{path}.{name}")


def patches(spec: Tree) -> dict[str, Tree]:
    """Return what a spec has for each cluster, by name; nothing where that is no map."""
    found = spec.get("clusters") if isinstance(spec, dict) else None
    return found if isinstance(found, dict) else {}


def dropped(patch: Node) -> Iterator[tuple[str, int]]:
    """Yield path and line of every null that a patch of the policy has below a cluster.

    Lines count from 1.

    A merge takes each for the removal of what the policy has there, so none is left in the result:
    kustomize does so too. The cluster would have what it was to be without. Null for the cluster
    itself removes the cluster, as is meant.
    """
    node: Node | None = patch
    for name in ("spec", "clusters"):
        if not isinstance(node, Mapping):
            return
        node = node.find(name)
    if not isinstance(node, Mapping):
        return
    for cluster, changes in node.entries:
        yield from _nulls(changes, f"spec.clusters.{cluster.text}")


def why_dropped(path: str) -> str:
    """Say what is wrong with a null at a path that `dropped` gave, and what does what was meant."""
    # Behind `spec.clusters.NAME`.
    below = path.split(".", 3)[3]
    return (
        f"must not be null in a patch: the merge drops it, so the cluster would keep {below}; "
        "write it in the policy's own file, or remove it from spec itself with a patch in that "
        "cluster's build only"
    )


def _nulls(node: Node, path: str) -> Iterator[tuple[str, int]]:
    if not isinstance(node, Mapping):
        return
    for key, entry in node.entries:
        # Deeper down, too: a null removes at whatever depth it stands.
        if isinstance(entry, Scalar) and nodes.value(entry) is None:
            yield f"{path}.{key.text}", key.line
        yield from _nulls(entry, f"{path}.{key.text}")


def touches(patch: Tree, path: str) -> bool:
    """Whether a patch has anything at a path of the spec, above it or below it."""
    for part in path.split("."):
        # An entry of a list stands for the whole list: a patch replaces it.
        name, _, _ = part.partition("[")
        if not isinstance(patch, dict):
            return True
        if name not in patch:
            return False
        patch = patch[name]
    return True
