"""The timetable of a gate's ConfigMap, read back from what was emitted."""

import json
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from krm_windows.emit import configmap
from krm_windows.gate import timetable
from krm_windows.gate.annotations import UNREADABLE
from krm_windows.gate.timetable import FORMAT_VERSION, Target, Timetable
from krm_windows.krm import KubeObject

Versions: TypeAlias = tuple[Timetable | None, Timetable | None]
"""A timetable that was there, and the one that takes its place; None where there is none."""


def read(manifest: KubeObject) -> Timetable | None:
    """Return the timetable of a manifest.

    None where there is none, or none that this release can read.
    """
    # Most ConfigMaps of a stream are others: those are not read for it, whatever is in them.
    if manifest.kind != "ConfigMap" or not manifest.mentions(configmap.TIMETABLE):
        return None
    text = manifest.get("data", configmap.TIMETABLE)
    if not isinstance(text, str):
        return None
    for load in (timetable.load, _earlier):
        try:
            found = load(text)
        except (*UNREADABLE, AttributeError):
            # Of another release, or edited by hand.
            continue
        # Whoever may write the object chose what is in it: names that are no texts are no names.
        if _is_sound(found):
            return found
    return None


def _earlier(text: str) -> Timetable:
    """Read what the format 1, of rules instead of days, has beside time; nothing decides by it."""
    data = json.loads(text)
    if data["formatVersion"] != 1:
        raise ValueError("is of another format")
    known = {key: data[key] for key in _BESIDE_TIME if key in data}
    no_days = {"patterns": {".": []}, "days": {"0001-01-01": ".", "0001-01-02": ""}}
    return timetable.load(json.dumps({"formatVersion": FORMAT_VERSION, **known, **no_days}))


_BESIDE_TIME = (
    "policy",
    "cluster",
    "timeZone",
    "state",
    "firstApply",
    "formerNames",
    "targets",
    "released",
)


def _is_sound(found: Timetable) -> bool:
    """Whether what is asked of a timetable that was read back has the types that it declares."""
    texts = (found.policy, found.time_zone, found.state, found.first_apply)
    return (
        _are_texts(texts)
        and _are_texts(found.former_names)
        and _are_texts(found.clocks)
        and _is_text_or_none(found.cluster)
        and all(map(_is_target, (*found.targets, *found.released)))
    )


def _is_target(value: Target) -> bool:
    texts = (value.group, value.resource, value.kind, value.namespace, value.name)
    if not _are_texts(texts) or not _is_text_or_none(value.version):
        return False
    return _are_texts(value.field) and _are_texts(value.applied)


def _is_text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _are_texts(values: object) -> bool:
    return isinstance(values, tuple) and all(isinstance(each, str) for each in values)


def manifests(content: bytes) -> Iterator[bytes]:
    """Yield the manifests that may hold a timetable, of what is in a file.

    An object, or a kustomization's patches. Raises InputError for what is no YAML.
    """
    if configmap.TIMETABLE.encode() not in content:
        # To look for the name of its key is quicker than to read the whole file.
        return
    patches = KubeObject.parse(content).get("patches")
    if not isinstance(patches, list):
        yield content
        return
    for entry in patches:
        if not isinstance(entry, dict):
            continue
        # A patch in line is a text, and a manifest of its own.
        text = entry.get("patch")
        if isinstance(text, str) and configmap.TIMETABLE in text:
            yield text.encode()


def versions(older: Iterable[bytes], newer: Iterable[bytes]) -> Iterator[Versions]:
    """Yield what became of each timetable in files; a policy is known by its former names, too.

    Raises InputError for what is no YAML.
    """
    before = {(each.cluster, each.policy): each for each in _all(older)}
    for new in _all(newer):
        found = [before.pop((new.cluster, name), None) for name in new.own_names]
        yield next(filter(None, found), None), new
    yield from ((old, None) for old in before.values())


def _all(files: Iterable[bytes]) -> Iterator[Timetable]:
    for content in files:
        for manifest in manifests(content):
            found = read(KubeObject.parse(manifest))
            if found is not None:
                yield found
