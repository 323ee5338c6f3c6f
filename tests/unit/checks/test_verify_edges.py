"""`verify` on edges that act: each has to be in the output, and to write what the policy says."""

import pytest
from calls import APPS, POLICY, call, wire

from krm_windows.function import window_policy
from krm_windows.krm import KubeObject, ResourceList

CONFIG = POLICY + "  actuator: {type: Kubectl}\n"


def verified(change: tuple[str, str] = ("", "")) -> list[str]:
    built = call(wire(APPS, config=CONFIG)).out.decode()
    assert change[0] in built
    items = ResourceList.read(built.replace(*change).encode()).items
    found = window_policy.verify(KubeObject.parse(CONFIG.encode()), items)
    return [result.tags["rule"] for result in found if result.tags["rule"] != "kubectl-resumes-all"]


def test_what_was_built_is_in_order() -> None:
    assert verified() == []


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        (("0 17 * * 4", "0 18 * * 4"), ["emitted-missing"]),
        (
            ('"{\\"spec\\":{\\"suspend\\":true}}"', '"{\\"spec\\":{\\"suspend\\":false}}"'),
            ["emitted-missing"],
        ),
        (
            ('- apps\n              - "-n"\n', '- infra\n              - "-n"\n'),
            ["emitted-missing"] * 2,
        ),
        (
            (
                "    suspend: false\n    concurrencyPolicy",
                "    suspend: true\n    concurrencyPolicy",
            ),
            ["emitted-missing"] * 2,
        ),
        (("serviceAccountName: week-gate", "serviceAccountName: other"), ["reference-broken"] * 2),
    ],
    ids=["schedule", "value", "target", "suspended", "account"],
)
def test_a_change_in_a_layer_above_is_found(change: tuple[str, str], rules: list[str]) -> None:
    assert verified(change) == rules
