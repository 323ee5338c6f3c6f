"""The timetable of a gate's ConfigMap, read back from what was emitted."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import TypeAlias

from pydantic import ConfigDict, TypeAdapter

from krm_windows.emit import configmap
from krm_windows.gate import timetable
from krm_windows.gate.annotations import UNREADABLE
from krm_windows.gate.timetable import FORMAT_VERSION, Target, Timetable
from krm_windows.krm import KubeObject


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
        # What is of another release, or edited by hand, is passed over.
        with suppress(*UNREADABLE):
            return _sound(load(text))
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


def _sound(found: Timetable) -> Timetable:
    """Return a timetable whose names are what it declares; raises `ValidationError`.

    Whoever may write the object chose what is in it.
    """
    names = (found.policy, found.time_zone, found.state, found.first_apply, found.cluster)
    lists = (found.former_names, found.clocks, found.targets, found.released)
    _NAMES.validate_python((*names, *lists), strict=True)
    return found


_Texts: TypeAlias = tuple[str, ...]
_Targets: TypeAlias = tuple[Target, ...]
# Most calls find no timetable, and so have no need of it.
_NAMES: TypeAdapter[object] = TypeAdapter(
    tuple[str, str, str, str, str | None, _Texts, _Texts, _Targets, _Targets],
    config=ConfigDict(defer_build=True),
)


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
