"""A document as plain maps, lists, strings and None, with every duplicate key found."""

from collections.abc import Iterator
from typing import TypeAlias

from krm_windows import rules
from krm_windows.krm.nodes import Mapping, Node, Scalar, Sequence, value
from krm_windows.policy.findings import Finding
from krm_windows.results import ResourceRef

Tree: TypeAlias = "str | dict[str, Tree] | list[Tree] | None"


def read(node: Node) -> Tree:
    """Take the text of every scalar.

    A plain null is None, a plain boolean `true` or `false` however it was spelt.
    """
    if isinstance(node, Mapping):
        return {key.text: read(entry) for key, entry in node.entries}
    if isinstance(node, Sequence):
        return [read(item) for item in node.items]
    return _text(node)


def _text(scalar: Scalar) -> str | None:
    meaning = value(scalar)
    if meaning is None:
        return None
    # `True`, `TRUE` and `true` are one value, as kustomize hands it over.
    return str(meaning).lower() if isinstance(meaning, bool) else scalar.text


def present(tree: Tree) -> Tree:
    """Leave out every key whose value is null: it is absent."""
    if isinstance(tree, dict):
        return {name: present(entry) for name, entry in tree.items() if entry is not None}
    if isinstance(tree, list):
        return [present(item) for item in tree]
    return tree


def present_in_lists(patch: Tree) -> Tree:
    """Leave out keys whose value is null in the lists of a merge patch, which are not merged.

    In a map null removes, so that a patch merged onto what is present is present.
    """
    if isinstance(patch, dict):
        return {name: present_in_lists(entry) for name, entry in patch.items()}
    return present(patch)


def text_at(tree: Tree, *path: str) -> str | None:
    """Return the text at a path, or None where there is none."""
    for name in path:
        # A step into what is no map leads nowhere.
        if not isinstance(tree, dict):
            return None
        tree = tree.get(name)
    if isinstance(tree, str):
        return tree
    return None


def ref(root: Tree, api_version: str, kind: str) -> ResourceRef:
    """Return an object as a result names it.

    `api_version` and `kind` where the object does not say its own.
    """
    return ResourceRef(
        api_version=text_at(root, "apiVersion") or api_version,
        kind=text_at(root, "kind") or kind,
        name=text_at(root, "metadata", "name") or "",
        namespace=text_at(root, "metadata", "namespace") or "",
    )


def doubled(node: Node, path: str = "") -> Iterator[Finding]:
    """Yield the keys that occur twice in one map: readers differ in which of the two they take."""
    if isinstance(node, Sequence):
        for i, item in enumerate(node.items):
            yield from doubled(item, f"{path}[{i}]")
    if not isinstance(node, Mapping):
        return
    seen: set[str] = set()
    for key, entry in node.entries:
        # The root has no name, so its keys have no dot before them.
        place = f"{path}.{key.text}".removeprefix(".")
        # YAML forbids it, JSON leaves it open, and readers take the first or the last.
        if key.text in seen:
            must = f"is a duplicate key: it occurs again on line {key.line}"
            yield Finding(rules.KEY_DUPLICATE, must, path=place)
        seen.add(key.text)
        yield from doubled(entry, place)
