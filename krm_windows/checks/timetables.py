"""The timetable of a gate's ConfigMap, read back from what was emitted."""

from krm_windows.emit import configmap
from krm_windows.gate import timetable
from krm_windows.gate.timetable import Timetable
from krm_windows.krm import KubeObject


def read(manifest: KubeObject) -> Timetable | None:
    """Return the timetable of a manifest; None where there is none, or none that this release can read."""
    # Most ConfigMaps of a stream are others: those are not read for it, whatever stands in them.
    if manifest.kind != "ConfigMap" or not manifest.mentions(configmap.TIMETABLE):
        return None
    text = manifest.get("data", configmap.TIMETABLE)
    try:
        return timetable.load(text) if isinstance(text, str) else None
    except (ValueError, TypeError, LookupError):
        return None
