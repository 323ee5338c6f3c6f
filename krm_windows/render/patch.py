"""The difference of two objects as a strategic merge patch, as kustomize applies it.

Small, and read like an object. Maps merge and null removes. Lists replace, but for those that
Kubernetes merges by a key: where one of them differs, the map around it is replaced (`$patch:
replace`), unless only the containers' own fields do.
"""

from collections.abc import Mapping
from typing import TypeAlias

Object: TypeAlias = Mapping[str, object]

DIRECTIVE = "$patch"
# The lists among what we emit that Kubernetes merges by a key (k8s.io/api, patchMergeKey).
_KEYED = frozenset(
    {
        "containers",
        "imagePullSecrets",
        "matchConditions",
        "variables",
        "volumeMounts",
        "volumes",
    }
)


def difference(base: Object, wanted: Object) -> dict[str, object]:
    """Return the patch that makes `wanted` of `base`, empty where they are equal."""
    patch: dict[str, object] = {}
    for key, value in wanted.items():
        if key in base and base[key] == value:
            continue
        change = _change(key, base.get(key), value)
        if change is _REPLACED:
            return {DIRECTIVE: "replace", **wanted}
        patch[key] = change
    # Null removes what the wanted object lacks (RFC 7386, and strategic merge as well).
    gone = [key for key in base if key not in wanted]
    patch.update(dict.fromkeys(gone))
    return patch


# What says that no patch of a list makes another of it, so that the map around it is replaced.
_REPLACED = object()


def _change(key: str, before: object, wanted: object) -> object:
    """Return the patch of one field, or `_REPLACED`."""
    if isinstance(wanted, Mapping) and isinstance(before, Mapping):
        return difference(before, wanted)
    # A list that no key merges is replaced as a whole, as a number or a text is.
    if key not in _KEYED or before is None:
        return wanted
    if key == "containers" and isinstance(before, list) and isinstance(wanted, list):
        return _containers(before, wanted)
    return _REPLACED


def _containers(before: list[Mapping[str, object]], wanted: list[Mapping[str, object]]) -> object:
    """Return the patches of containers whose names stay as they are.

    It is `_REPLACED` where that is not all that is to do.
    """
    # Containers merge by name, and what a patch does not name stays: none can be taken out.
    names_before = [each["name"] for each in before]
    if names_before != [each["name"] for each in wanted]:
        return _REPLACED
    patches = []
    for old, new in zip(before, wanted, strict=True):
        patch = difference(old, new)
        # A directive within a list would replace the container as a whole.
        if DIRECTIVE in patch:
            return _REPLACED
        if patch:
            patches.append({"name": new["name"], **patch})
    return patches
