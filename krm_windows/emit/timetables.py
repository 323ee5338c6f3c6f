"""The timetable of a gate's ConfigMap, read back from what was emitted."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from krm_windows.emit import configmap
from krm_windows.gate import timetable
from krm_windows.gate.annotations import UNREADABLE
from krm_windows.gate.timetable import Target, Timetable
from krm_windows.gate.zones import ZoneRules
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
    try:
        found = timetable.load(text)
    except UNREADABLE:
        # Of another release, or edited by hand.
        return None
    # Whoever may write the object chose what is in it: names that are no texts are no names.
    if not _is_sound(found):
        return None
    return found


def _is_sound(found: Timetable) -> bool:
    """Whether what is asked of a timetable that was read back has the types that it declares.

    The windows are not asked for: nobody decides by what is read here.
    """
    texts = (found.policy, found.time_zone, found.state, found.first_apply)
    return (
        _are_texts(texts)
        and _are_texts(found.former_names)
        and _is_text_or_none(found.cluster)
        and _are_targets(found.targets)
        and _are_targets(found.released)
        and _are_rules(found.zone_rules)
    )


def _are_targets(values: object) -> bool:
    return isinstance(values, tuple) and all(map(_is_target, values))


def _is_target(value: object) -> bool:
    if not isinstance(value, Target):
        return False
    texts = (value.group, value.resource, value.kind, value.namespace, value.name)
    if not _are_texts(texts) or not _is_text_or_none(value.version):
        return False
    return _are_texts(value.field) and _are_texts(value.applied)


def _are_rules(value: object) -> bool:
    if value is None:
        return True
    if not isinstance(value, ZoneRules):
        return False
    return _are_texts((value.release, value.before, value.rule)) and _are_texts(value.transitions)


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
