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
    {"containers", "imagePullSecrets", "matchConditions", "variables", "volumeMounts", "volumes"}
)


def difference(base: Object, wanted: Object) -> dict[str, object]:
    """Return the patch that makes `wanted` of `base`, empty where they are equal."""
    changed = {key: value for key, value in wanted.items() if key not in base or base[key] != value}
    patch: dict[str, object] = {}
    for key, value in changed.items():
        before = base.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            patch[key] = difference(before, value)
        elif key in _KEYED and before is not None:
            containers = _containers(before, value) if key == "containers" else None
            if containers is None:
                return {DIRECTIVE: "replace", **wanted}
            patch[key] = containers
        else:
            patch[key] = value
    return {**patch, **{key: None for key in base if key not in wanted}}


def _containers(before: object, wanted: object) -> list[object] | None:
    """Return the patches of containers whose names stay as they are.

    None where that is not all that is to do.
    """
    if not isinstance(before, list) or not isinstance(wanted, list):
        return None
    names = [container["name"] for container in wanted]
    if names != [container["name"] for container in before]:
        return None
    patches = [difference(*pair) for pair in zip(before, wanted, strict=True)]
    if any(DIRECTIVE in patch for patch in patches):
        return None
    return [{"name": name, **patch} for name, patch in zip(names, patches, strict=True) if patch]
