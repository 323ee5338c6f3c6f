"""The timetable of a gate's ConfigMap, read back from what was emitted."""

from collections.abc import Iterator

from krm_windows.emit import configmap
from krm_windows.gate import timetable
from krm_windows.gate.timetable import Timetable
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
    try:
        return timetable.load(text)
    except (ValueError, TypeError, LookupError):
        # Of another release, or edited by hand.
        return None


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
