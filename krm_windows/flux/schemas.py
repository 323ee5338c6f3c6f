"""Builds that need no schema of Kubernetes' own kinds are given an empty one.

kustomize takes 40 ms of processor to read it, twice what the rest of a small build takes, and reads
its built-in OpenAPI document as soon as it merges a patch, to know by which key each list of the
object is merged. An empty document says as much where every patch is one of these:
- One of Flux' objects, as Flux Kustomizations that patch their children have them. The schema has
  nothing about custom resources, which are merged without any (kyaml, openapi).
- One without any list, such as `spec: {replicas: 3}`. Maps and scalars are merged alike by every
  schema (kyaml, yaml/merge2), and lists that only the object has stay as they are.
"""

from collections.abc import Iterable, Iterator
from posixpath import dirname

from krm_windows.flux.closure import Closure, joined
from krm_windows.flux.objects import parsed
from krm_windows.krm import InputError, KubeObject, Value
from krm_windows.krm.nodes import value

FIELD = "openapi"
# A document of OpenAPI without any definition.
EMPTY = b'{"swagger":"2.0","info":{"title":"none","version":"1"},"paths":{},"definitions":{}}'
# A name that no file of a repository has.
_NAME = "krm-windows-no-schema.json"
_PATCHES = ("patches", "patchesStrategicMerge")
# Whatever else may ask for a schema, or have a schema of its own.
_SCHEMATIC = frozenset(
    {
        FIELD,
        "crds",
        "configurations",
        "generators",
        "transformers",
        "validators",
        "replacements",
        "vars",
    }
)
_GROUP = "toolkit.fluxcd.io/"
# Flux' kinds, none of which Kubernetes has too: whatever a target of this kind selects is Flux'.
_KINDS = frozenset(
    {
        "Bucket",
        "GitRepository",
        "HelmChart",
        "HelmRelease",
        "HelmRepository",
        "OCIRepository",
    }
)
# kustomize has one of its own kind of that name; the group distinguishes them.
_ALL_KINDS = frozenset({*_KINDS, "Kustomization"})


def empty_document(closure: Closure) -> str | None:
    """Return the path of an empty document where that is enough of a schema.

    That is so for a build that merges patches of Flux' objects only; else it is None.
    """
    patches: list[tuple[str, Value]] = []
    for file, fields in closure.kustomizations.items():
        # Any of these reads the schema, or changes it.
        if any(fields.get(name) for name in _SCHEMATIC):
            return None
        place = dirname(file) or "."
        patches += ((place, patch) for patch in _patches(fields))
    # Without patches kustomize does not read the schema anyhow.
    if not patches:
        return None
    if not all(_is_known(closure, place, patch) for place, patch in patches):
        return None
    return joined(closure.directory, _NAME)


def _patches(fields: dict[str, Value]) -> Iterator[Value]:
    for name in _PATCHES:
        entries = fields.get(name)
        if isinstance(entries, list):
            yield from entries


def _is_known(closure: Closure, place: str, patch: Value) -> bool:
    """Whether a patch needs no schema.

    A JSON patch needs none, nor one without lists, nor one of Flux' objects that selects only such.
    """
    target = None
    if isinstance(patch, dict):
        target = patch.get("target")
    content = _content(closure, place, patch)
    if content is None:
        return False
    # A list of operations (RFC 6902), in YAML or JSON, merges nothing.
    if target is not None and content.lstrip().startswith((b"-", b"[")):
        return True
    try:
        items = parsed(content)
    except InputError:
        return False
    if all(_is_listless(value(item.node)) for item in items):
        return True
    return _is_for_flux(target, items)


def _is_for_flux(target: Value, items: Iterable[KubeObject]) -> bool:
    """Whether a patch selects objects of Flux only."""
    # Without a kind it may select any of Kubernetes' own.
    if isinstance(target, dict) and target.get("kind") not in _ALL_KINDS:
        return False
    return all(_GROUP in item.api_version and item.kind in _ALL_KINDS for item in items)


def _is_listless(part: Value) -> bool:
    """Whether a part of a patch has maps and scalars only, and nothing but what is to be there.

    A null may take a list away, and `$patch` or `$retainKeys` say how to merge one.
    """
    if isinstance(part, dict):
        return all(not key.startswith("$") and _is_listless(part[key]) for key in part)
    return part is not None and not isinstance(part, list)


def _content(
    closure: Closure,
    place: str,
    patch: Value,
) -> bytes | None:
    """Return what a patch says, from its file or right there; None where that is not known here."""
    text: Value = patch
    if isinstance(patch, dict):
        text = patch.get("patch") or patch.get("path")
    if not isinstance(text, str):
        return None
    if "\n" in text:
        return text.encode()
    return closure.files.get(joined(place, text))
