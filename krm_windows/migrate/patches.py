"""Patches as kustomize applies them: strategic merge patches, and the operations of RFC 6902 that such files use."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from krm_windows.migrate.selectors import PatternError, Selectors
from krm_windows.migrate.trees import Document, Leaf, Map, Place, Tree, at, leaf, text

# By which key the lists of built-in kinds merge (`patchMergeKey` of k8s.io/api); a list of any other kind is replaced.
_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "volumeMounts": "mountPath",
}
_BUILT_IN = re.compile(r"(?:[a-z]+/)?v[0-9][a-z0-9]*|[a-z.]+\.k8s\.io/v[0-9][a-z0-9]*")


class PatchError(Exception):
    """A patch that is not understood, or that kustomize would refuse."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message)
        self.message, self.place = message, place


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch with what it is for: an object by its own name, or all that a selector finds."""

    content: Tree
    place: Place
    target: Map | None = None

    def selects(self, found: Document, selectors: Selectors) -> bool:
        """Whether the patch is for an object; raises PatchError."""
        if self.target is not None:
            return selects(self.target, found, selectors)
        if not isinstance(self.content, dict):
            raise PatchError("a list of operations needs a target", self.place)
        named = Document(self.content, self.place)
        same = (named.group, named.kind) == (found.group, found.kind)
        return same and any(_is(named, *known) for known in ((found.namespace, found.name), *found.former))

    def apply(self, found: Document) -> Map | None:
        """Return the object's tree with the patch made, None where it removes the object; raises PatchError."""
        if isinstance(self.content, list):
            done: Tree | None = _operations(found.tree, self.content, self.place)
        else:
            done = merge(found.tree, _nameless(self.content) if self.target else self.content, found.api_version)
        return done if isinstance(done, dict) else None


def merge(target: Tree | None, patch: Tree, api_version: str) -> Tree | None:
    """Apply a strategic merge patch; None where it removes the whole."""
    if not isinstance(patch, dict):
        return None if isinstance(patch, Leaf) and patch.value is None else patch
    directive = text(patch, "$patch")
    if directive == "delete":
        return None
    rest = {key: entry for key, entry in patch.items() if not key.startswith("$")}
    merged = dict(target) if isinstance(target, dict) and directive != "replace" else {}
    for key, entry in rest.items():
        done = _entry(key, merged.get(key), entry, api_version)
        if done is None:
            merged.pop(key, None)
        else:
            merged[key] = done
    return merged


def _entry(key: str, held: Tree | None, entry: Tree, api_version: str) -> Tree | None:
    by = _KEYS.get(key) if _BUILT_IN.fullmatch(api_version) else None
    if by and isinstance(held, list) and isinstance(entry, list):
        return _listed(held, entry, by, api_version)
    return merge(held, entry, api_version)


def _listed(held: list[Tree], patch: list[Tree], by: str, api_version: str) -> list[Tree]:
    named = {text(entry, by): entry for entry in held}
    for entry in patch:
        if isinstance(entry, dict) and text(entry, "$patch") == "replace":
            return [other for other in patch if not text(other, "$patch")]
        done = merge(named.get(text(entry, by)), entry, api_version)
        if done is None:
            named.pop(text(entry, by), None)
        else:
            named[text(entry, by)] = done
    return list(named.values())


def _is(named: Document, namespace: str, name: str) -> bool:
    return (named.name, named.namespace or "default") == (name, namespace or "default")


def selects(target: Map, found: Document, selectors: Selectors) -> bool:
    """Whether the target of a patch means an object; raises PatchError for a pattern that kustomize refuses."""
    version = found.api_version.rpartition("/")[2]
    group_version_kind = {"group": found.group, "version": version, "kind": found.kind}
    if not _matches(target, group_version_kind, selectors):
        return False
    for namespace, name in ((found.namespace, found.name), *found.former):
        # An object without a namespace is one of `default`, as far as a selector sees (kustomize, EffectiveNamespace).
        if _matches(target, {"namespace": namespace or "default", "name": name}, selectors):
            return _labelled(target, found)
    return False


def _matches(target: Map, held: dict[str, str], selectors: Selectors) -> bool:
    """Whether every field of a target that is given matches."""
    return all(names(target, key, has, selectors) for key, has in held.items())


def names(target: Map, key: str, held: str, selectors: Selectors) -> bool:
    """Whether one field of a target matches; raises PatchError for a pattern that kustomize refuses."""
    written = leaf(target, key)
    if written is None:
        return True
    try:
        return selectors.matches(written.text, held)
    except PatternError as error:
        message = f"the pattern {written.text[:80]!r} of target.{key} {error}"
        raise PatchError(message, written.place) from error


def _labelled(target: Map, found: Document) -> bool:
    for key, field in (("labelSelector", "labels"), ("annotationSelector", "annotations")):
        selector = leaf(target, key)
        for term in selector.text.split(",") if selector else ():
            name, equal, wanted = (part.strip() for part in term.partition("="))
            if not equal or name.endswith("!") or wanted.startswith("="):
                raise PatchError(
                    f"the selector {term.strip()!r} is not understood", selector.place if selector else found.place
                )
            if text(found.tree, "metadata", field, name) != wanted:
                return False
    return True


def _nameless(patch: Tree) -> Tree:
    """Drop what names an object from a patch that goes by its target."""
    if not isinstance(patch, dict):
        return patch
    metadata = patch.get("metadata")
    kept = {key: entry for key, entry in patch.items() if key not in ("apiVersion", "kind", "metadata")}
    if isinstance(metadata, dict):
        kept["metadata"] = {key: entry for key, entry in metadata.items() if key not in ("name", "namespace")}
    return kept


def _operations(tree: Tree, operations: list[Tree], place: Place) -> Tree:
    for operation in operations:
        where, name = leaf(operation, "path"), text(operation, "op")
        change = _OPERATIONS.get(name)
        if where is None or change is None or not where.text.startswith("/"):
            raise PatchError(f"the operation {name!r} is not understood", where.place if where else place)
        steps = [part.replace("~1", "/").replace("~0", "~") for part in where.text.split("/")[1:]]
        tree = _walk(tree, steps, at(operation, "value"), change, where.place)
    return tree


_Change = Callable[[Tree | None, str, Tree | None], Tree]


def _walk(tree: Tree | None, steps: list[str], entry: Tree | None, change: _Change, place: Place) -> Tree:
    try:
        if len(steps) == 1:
            return change(tree, steps[0], entry)
        if isinstance(tree, dict):
            return {**tree, steps[0]: _walk(tree[steps[0]], steps[1:], entry, change, place)}
        held = tree if isinstance(tree, list) else []
        index = int(steps[0])
        return [*held[:index], _walk(held[index], steps[1:], entry, change, place), *held[index + 1 :]]
    except (LookupError, ValueError) as error:
        raise PatchError(f"the path of an operation leads to nothing at {steps[0]!r}", place) from error


def _add(tree: Tree | None, step: str, entry: Tree | None) -> Tree:
    if entry is None:
        raise LookupError
    if isinstance(tree, dict):
        return {**tree, step: entry}
    if isinstance(tree, list):
        index = len(tree) if step == "-" else int(step)
        return [*tree[:index], entry, *tree[index:]]
    raise LookupError


def _replace(tree: Tree | None, step: str, entry: Tree | None) -> Tree:
    if entry is None:
        raise LookupError
    if isinstance(tree, dict):
        tree[step]
        return {**tree, step: entry}
    if isinstance(tree, list):
        tree[int(step)]
        return [*tree[: int(step)], entry, *tree[int(step) + 1 :]]
    raise LookupError


def _remove(tree: Tree | None, step: str, _: Tree | None) -> Tree:
    if isinstance(tree, dict):
        tree[step]
        return {key: entry for key, entry in tree.items() if key != step}
    if isinstance(tree, list):
        tree[int(step)]
        return [*tree[: int(step)], *tree[int(step) + 1 :]]
    raise LookupError


_OPERATIONS: dict[str, _Change] = {"add": _add, "replace": _replace, "remove": _remove}
