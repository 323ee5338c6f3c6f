"""`verify` on the gate program: what reaches the cluster is this release's, to the letter."""

from calls import APPS, POLICY, call, wire

from krm_windows.function import window_policy
from krm_windows.krm import KubeObject, ResourceList


def verified(old: str, new: str) -> list[str]:
    built = call(wire(APPS, config=POLICY)).out.decode()
    assert old in built
    items = ResourceList.read(built.replace(old, new).encode()).items
    return [
        str(result) for result in window_policy.verify(KubeObject.parse(POLICY.encode()), items)
    ]


def test_an_edited_program_is_stale() -> None:
    [line] = verified("def decide(", "def decided(")
    assert (
        "contains the gate of another release (gate.timetable.py differ): run the function again"
    ) in line
    assert line.endswith("(stale)")
