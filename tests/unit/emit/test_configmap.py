"""What the gate is given, it may repeat: in Events, in annotations, in its log."""

import json
from pathlib import Path

import pytest
import yaml
from calls import emitted, spec
from hostile import BUNDLES, raw

from krm_windows import gate
from krm_windows.emit import timetables
from krm_windows.krm import KubeObject

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.parametrize("name", BUNDLES)
def test_reasons_are_harmless_in_the_cluster(name: str) -> None:
    reason = json.dumps(BUNDLES[name])
    if any(ord(sign) > 0xFFFF for sign in BUNDLES[name]):
        reason = yaml.dump(
            BUNDLES[name], Dumper=yaml.CSafeDumper, default_style='"', width=10**9
        ).strip()
    freeze = f"{{starts: 2026-12-24, ends: 2026-12-26, reason: {reason}}}"
    [config_map] = emitted(spec(freezes=f"{{audit: {freeze}}}"), "ConfigMap")
    data = config_map["data"]
    assert not raw(data["timetable.json"])
    reason = json.loads(data["timetable.json"])["reasons"]["freezes.audit"]
    assert "\n" not in reason
    assert not raw(reason)


def test_the_program_is_ascii() -> None:
    """A ConfigMap shows it as it is, and the writer needs no table of characters for it."""
    for module in Path(gate.__file__).parent.glob("*.py"):
        assert module.read_text("utf-8").isascii(), module.name


def test_the_timetable_of_an_earlier_format_is_read() -> None:
    earlier = FIXTURES / "rendered-7a38b35a/rendered/configmap_earlier-gate.yaml"
    found = timetables.read(KubeObject.parse(earlier.read_bytes()))
    assert found is not None
    assert (found.policy, [each.name for each in found.targets]) == (
        "flux-system/earlier",
        ["apps"],
    )
