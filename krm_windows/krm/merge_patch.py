"""JSON merge patches (RFC 7386): maps merge, null removes, everything else replaces."""

from typing import TypeVar, cast

T = TypeVar("T")


def merge(target: T | None, patch: T) -> T:
    """Return what a patch makes of a value; both are maps, lists and leaves of any one type."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, part in patch.items():
        # Section 1: null removes.
        if part is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), part)
    return cast("T", merged)


def compose(first: T | None, second: T) -> T:
    """Return the one patch that does what two do, one after the other.

    A null of the second stays, as the first need not be all that gives a key its value. There is
    no such patch where the first puts a leaf and the second a map in its place: what is returned
    then merges into what was there before. Whoever composes compares.
    """
    if not isinstance(first, dict) or not isinstance(second, dict):
        return second
    composed = dict(first)
    for name, part in second.items():
        composed[name] = part if part is None else compose(first.get(name), part)
    return cast("T", composed)


def pruned(patch: T, target: object) -> T:
    """Return a patch without the nulls that remove nothing from what it is applied to."""
    if not isinstance(patch, dict):
        return patch
    base = target if isinstance(target, dict) else {}
    kept: dict[str, object] = {}
    for name, part in patch.items():
        if part is None and name not in base:
            continue
        rest = pruned(part, base.get(name))
        # A map of such nulls alone goes with them, unless it takes the place of a leaf.
        if part and not rest and isinstance(base.get(name, {}), dict):
            continue
        kept[name] = rest
    return cast("T", kept)
