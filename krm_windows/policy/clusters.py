"""A policy per cluster: RFC 7386 merge patches over trees of texts."""

from collections.abc import Iterator

from krm_windows.policy.texts import Tree


def merge(target: Tree, patch: Tree) -> Tree:
    """Apply a merge patch (RFC 7386): maps merge, null removes, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), value)
    return merged


def empty_maps(patch: Tree, path: str) -> Iterator[str]:
    """Yield the paths of empty maps within a patch: nothing to merge, and the mark of a null that got lost.

    A patch that is empty as a whole says that the cluster has the policy as it stands.
    """
    if isinstance(patch, dict):
        for name, value in patch.items():
            if value == {}:
                yield f"{path}.{name}"
            yield from empty_maps(value, f"{path}.{name}")


def nulls(root: Tree) -> Iterator[str]:
    """Yield the names of a policy's clusters that have null for a patch.

    A merge patch removes by null. In the policy's own file nothing is there to be removed, so it is what YAML makes of
    a name with nothing behind it: `north:`.
    """
    spec = root.get("spec") if isinstance(root, dict) else None
    patches = spec.get("clusters") if isinstance(spec, dict) else None
    for name, patch in patches.items() if isinstance(patches, dict) else ():
        if patch is None:
            yield name


def touches(patch: Tree, path: str) -> bool:
    """Whether a patch has anything at a path of the spec, above it or below it."""
    for part in path.split("."):
        name = part.partition("[")[0]
        if not isinstance(patch, dict):
            return True
        if name not in patch:
            return False
        patch = patch[name]
    return True
