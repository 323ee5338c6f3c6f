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
    """Yield the paths of empty maps in a patch: nothing to merge, and the mark of a null that got lost."""
    if isinstance(patch, dict):
        if not patch:
            yield path
        for name, value in patch.items():
            yield from empty_maps(value, f"{path}.{name}")


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
