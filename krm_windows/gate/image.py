"""The program in an image: every part is there, and runs where the timetable asks for it.

`python3 -I -m krm_windows.gate.image` is what Jobs run with `actuator.program: Image`; a ConfigMap
with a program has a first file of its own instead.
"""

from collections.abc import Callable
from functools import partial

from krm_windows.gate import events, hooks, pending, verification
from krm_windows.gate.__main__ import main
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.run import Gate

_PARTS = {"events", "hooks", "pending", "verification"}


def run(gate: Gate, cluster: Cluster, *, allow_missing: bool) -> bool:
    """Run as the gate does, with the parts around it that its timetable asks for.

    Raises `ValueError` for one that this image does not have, so that nothing is opened.
    """
    parts = set(gate.timetable.parts)
    unknown = sorted(parts - _PARTS)
    if unknown:
        raise ValueError(f"this image lacks {', '.join(unknown)}")
    inner = _with_hooks(parts)
    if "events" in parts:
        inner = partial(events.run, around=inner)
    return inner(gate, cluster, allow_missing=allow_missing)


def _with_hooks(parts: set[str]) -> Callable[..., bool]:
    if "hooks" not in parts:
        return Gate.run
    kind: Callable[..., hooks.Hooks] = hooks.Hooks
    if "verification" in parts:
        kind = verification.VerifiedHooks
    if "pending" in parts:
        kind = partial(kind, pending=pending)
    return partial(hooks.run, kind=kind)


if __name__ == "__main__":
    raise SystemExit(main(run))
