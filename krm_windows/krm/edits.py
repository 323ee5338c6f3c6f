"""Edits: a text with another value at a path, and no line changed that already says so.

The wanted value is compared with the layout of the text, and only where they differ is something
written: a scalar in its place, an entry behind the last one, an entry removed with its lines. The
result is read again, and is given only if it means exactly what was asked for; else a larger node
is written anew, up to the whole object.
"""

from collections.abc import Iterator
from typing import TypeAlias

from krm_windows.krm import layout, nodes, writer
from krm_windows.krm.difference import Difference
from krm_windows.krm.errors import EditError, InputError
from krm_windows.krm.layout import Alias, Pairs, Row, Spot
from krm_windows.krm.nodes import Value
from krm_windows.krm.patches import NotMinimalError, Patch, apply, canonical, meaning

Path: TypeAlias = tuple[str | int, ...]

# An object of Kubernetes has some ten levels.
# Each level at which a larger node is written is a reading of the text; more than these no
# orchestrator lays out.
_LEVELS = 17


def set_value(text: str, path: Path, content: object) -> str:
    """Give `text` with `content` at `path`, missing mappings made.

    Raises EditError where the path leads nowhere.
    """
    root = layout.read(text)
    # There and back, so that what is compared are values of the same few types.
    wanted = nodes.value(nodes.node_of(content))
    return _rewritten(text, root, _replaced(meaning(root), path, wanted))


def remove(text: str, path: Path) -> str:
    """Give `text` without the entry at `path`; raises EditError where there is none."""
    # Without steps it would be the whole text.
    if not path:
        raise EditError("a path of no steps leads to no entry, so nothing can be removed")
    root = layout.read(text)
    return _rewritten(text, root, _without(meaning(root), path))


def _replaced(old: Value, path: Path, content: Value) -> Value:
    """Give `old` with `content` at `path`."""
    if not path:
        return content
    step = path[0]
    rest = path[1:]
    if isinstance(step, int):
        return _replaced_item(old, step, rest, content)
    if old is None:
        # A mapping that is missing on the way is made.
        return {step: _replaced(None, rest, content)}
    if not isinstance(old, dict):
        raise EditError(f"{step!r} cannot be set: it is not in a mapping")
    return {**old, step: _replaced(old.get(step), rest, content)}


def _replaced_item(
    old: Value,
    index: int,
    rest: Path,
    content: Value,
) -> Value:
    """Give a list with another item, or with one more behind its last."""
    if not isinstance(old, list) or not 0 <= index <= len(old):
        raise EditError(f"{index!r} cannot be set: it is not in a list of that length")
    items = list(old)
    # An index right behind the last item adds one.
    if index == len(items):
        items.append(None)
    items[index] = _replaced(items[index], rest, content)
    return items


def _without(old: Value, path: Path) -> Value:
    """Give `old` without what is at `path`."""
    step = path[0]
    rest = path[1:]
    if isinstance(old, list) and isinstance(step, int) and 0 <= step < len(old):
        items = list(old)
        if rest:
            items[step] = _without(items[step], rest)
        else:
            del items[step]
        return items
    if isinstance(old, dict) and isinstance(step, str) and step in old:
        entries = dict(old)
        if rest:
            entries[step] = _without(entries[step], rest)
        else:
            del entries[step]
        return entries
    raise EditError(f"{step!r} not found, so it cannot be removed")


def _rewritten(text: str, root: Spot, wanted: Value) -> str:
    """Give a text that means `wanted`: the smallest change that is proven to do so."""
    sought = canonical(wanted)
    # Also where it is spelt in another way: `"a"` for `a`.
    if canonical(meaning(root)) == sought:
        return text
    tried = text
    # First the smallest patches, then with larger and larger nodes written anew.
    # Each next try keeps less of the text as it was, so the first that is right is the best.
    for depth in (None, *reversed(range(_LEVELS))):
        patches = _patches(text, root, wanted, depth)
        # An alias must not change with the node that it stands for.
        # The patches of one place keep their order, so the expansions come behind the edits.
        edited = apply(text, [*patches, *_expansions(root, patches)])
        # Below the last level of the text nothing is written anew, so the try is as the last one.
        if edited == tried:
            continue
        tried = edited
        # Nothing is believed that was not read again.
        if _means(edited, sought):
            return edited
    raise EditError("the layout of this object cannot be edited")


def _patches(
    text: str,
    root: Spot,
    wanted: Value,
    depth: int | None,
) -> list[Patch]:
    try:
        return Difference(text, depth).of_document(root, wanted)
    except NotMinimalError:
        # Then the loop goes on with a larger node, at last with the root.
        return []


def _expansions(root: Spot, patches: list[Patch]) -> Iterator[Patch]:
    """Write out the aliases of every anchored node that the patches change.

    They keep the value that they had.
    """
    for alias in _aliases(root):
        is_changed = any(_touches(patch, alias.target) for patch in patches)
        if is_changed and not any(_covers(patch, alias) for patch in patches):
            yield Patch(alias.start, alias.end, writer.flow(meaning(alias.target)))


def _touches(patch: Patch, spot: Spot) -> bool:
    # What is added behind the last entry is still a part of it; what is before the anchor is none.
    return patch.start <= spot.end and patch.end > spot.start


def _covers(patch: Patch, spot: Spot) -> bool:
    return patch.start <= spot.start and patch.end >= spot.end


def _aliases(spot: Spot) -> Iterator[Alias]:
    if isinstance(spot, Alias):
        yield spot
    elif isinstance(spot, Row):
        for item in spot.items:
            yield from _aliases(item)
    elif isinstance(spot, Pairs):
        for key, entry in spot.entries:
            yield from _aliases(key)
            yield from _aliases(entry)


def _means(text: str, sought: str) -> bool:
    try:
        return canonical(meaning(layout.read(text))) == sought
    except InputError:
        return False
