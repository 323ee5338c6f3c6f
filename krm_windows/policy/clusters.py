"""A policy per cluster: RFC 7386 merge patches over trees of texts."""

from collections.abc import Iterator

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
