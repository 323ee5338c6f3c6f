"""Edits: a text in, the same text out with another value at a path, no line changed that already says so.

The wanted value is compared with the layout of the text, and only where they differ is something written: a scalar in
its place, an entry behind the last one, an entry removed with its lines. The result is read again, and is given only if
it means exactly what was asked for; else a larger node is written anew, up to the whole object.
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

# Each level at which a larger node is written is a reading of the text; deeper than this no orchestrator lays out.
_LEVELS = 16


def set_value(text: str, path: Path, content: object) -> str:
    """Give `text` with `content` at `path`, missing mappings made; raises EditError where the path leads nowhere."""
    root = layout.read(text)
    return _rewritten(
        text, root, _replaced(meaning(root), path, nodes.value(nodes.node_of(content)))
    )


def remove(text: str, path: Path) -> str:
    """Give `text` without the entry at `path`; raises EditError where there is none."""
    root = layout.read(text)
    return _rewritten(text, root, _without(meaning(root), path))


def _replaced(old: Value, path: Path, content: Value) -> Value:
    """Give `old` with `content` at `path`."""
    if not path:
        return content
    step, rest = path[0], path[1:]
    if isinstance(step, int) and isinstance(old, list) and 0 <= step <= len(old):
        below = old[step] if step < len(old) else None
        return [*old[:step], _replaced(below, rest, content), *old[step + 1 :]]
    if isinstance(step, str) and (old is None or isinstance(old, dict)):
        known = old or {}
        return {**known, step: _replaced(known.get(step), rest, content)}
    raise EditError(
        f"{step!r} cannot be set in what is no {'mapping' if isinstance(step, str) else 'list so long'}"
    )


def _without(old: Value, path: Path) -> Value:
    """Give `old` without what is at `path`."""
    step, rest = path[0], path[1:]
    if isinstance(old, list) and isinstance(step, int) and step < len(old):
        return [*old[:step], *([_without(old[step], rest)] if rest else []), *old[step + 1 :]]
    if isinstance(old, dict) and isinstance(step, str) and step in old:
        kept = {key: entry for key, entry in old.items() if rest or key != step}
        return {**kept, step: _without(old[step], rest)} if rest else kept
    raise EditError(f"there is no {step!r} to remove")


def _rewritten(text: str, root: Spot, wanted: Value) -> str:
    """Give a text that means `wanted`: the smallest change that is proven to do so."""
    sought = canonical(wanted)
    if canonical(meaning(root)) == sought:
        return text
    for depth in (None, *range(min(_depth(root), _LEVELS), -1, -1)):
        patches = _patches(text, root, wanted, depth)
        edited = apply(text, [*patches, *_expansions(root, patches)])
        if _means(edited, sought):
            return edited
    raise EditError("the object is laid out in a way that cannot be edited")


def _patches(text: str, root: Spot, wanted: Value, depth: int | None) -> list[Patch]:
    try:
        return Difference(text, depth).of_document(root, wanted)
    except NotMinimalError:
        return []


def _expansions(root: Spot, patches: list[Patch]) -> Iterator[Patch]:
    """Write out the aliases of every anchored node that the patches change: they keep the value that they had."""
    for alias in _aliases(root):
        target = alias.target
        changed = any(patch.start <= target.end and patch.end >= target.start for patch in patches)
        gone = any(patch.start <= alias.start and patch.end >= alias.end for patch in patches)
        if changed and not gone:
            yield Patch(alias.start, alias.end, writer.flow(meaning(target)))


def _aliases(spot: Spot) -> Iterator[Alias]:
    if isinstance(spot, Alias):
        yield spot
    elif isinstance(spot, Row):
        for item in spot.items:
            yield from _aliases(item)
    elif isinstance(spot, Pairs):
        for entry in spot.entries:
            for part in entry:
                yield from _aliases(part)


def _depth(spot: Spot) -> int:
    if isinstance(spot, Row):
        return 1 + max(map(_depth, spot.items), default=0)
    if isinstance(spot, Pairs):
        return 1 + max((_depth(entry) for _, entry in spot.entries), default=0)
    return 0


def _means(text: str, sought: str) -> bool:
    try:
        return canonical(meaning(layout.read(text))) == sought
    except InputError:
        return False
