"""The ConfigMap: the gate program, verbatim, and the timetable it follows."""

import json
from functools import cache
from pathlib import Path, PurePosixPath

from krm_windows import gate
from krm_windows.emit import names
from krm_windows.emit.labels import metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan
from krm_windows.plan.timetable import dump

TIMETABLE = "timetable.json"
ENTRY = "__main__.py"

_FOLDERS = {"package": PurePosixPath("krm_windows"), "gate": PurePosixPath("krm_windows/gate")}

# An empty package, not a namespace: a namespace would lose to any installed krm_windows, as in an image of our own.
_EMPTY = {"package.__init__.py": ""}
_ENTRY = "from krm_windows.gate.__main__ import main\nraise SystemExit(main())\n"


def config_map(plan: Plan) -> Manifest:
    """Return the ConfigMap that the gate's Pods mount."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(plan, names.gate(plan), plan.namespace),
        "data": {**program(), TIMETABLE: _timetable(plan)},
    }


def items() -> list[dict[str, str]]:
    """Return which key lies at which path of the volume, so that `python3 -I` finds the package."""
    return [{"key": key, "path": _path(key)} for key in (*program(), TIMETABLE)]


@cache
def program() -> dict[str, str]:
    """Return the source of each module of the gate by its key, the entry first."""
    modules = sorted(Path(gate.__file__).parent.glob("*.py"))
    return {ENTRY: _ENTRY, **_EMPTY, **{f"gate.{file.name}": file.read_text("utf-8") for file in modules}}


def _path(key: str) -> str:
    folder, _, name = key.partition(".")
    return str(_FOLDERS[folder] / name) if folder in _FOLDERS else key


def _timetable(plan: Plan) -> str:
    """Return the timetable as JSON, a line for each rule and target, so that a diff shows what changed."""
    lines = [f"  {json.dumps(key)}: {_lines(value)}" for key, value in dump(plan.timetable).items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: object) -> str:
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return "[\n" + ",\n".join(f"    {json.dumps(item, ensure_ascii=False)}" for item in value) + "\n  ]"
