"""The ConfigMap: the gate program, verbatim, and the timetable it follows, or that alone."""

import json
from functools import cache
from pathlib import Path

from krm_windows import escape, gate
from krm_windows.emit import hooks, names
from krm_windows.emit.labels import metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan
from krm_windows.plan.timetable import dump
from krm_windows.schedule.timetable import Rule, Timetable

TIMETABLE = "timetable.json"
HOOKS = "hooks.json"
ENTRY = "__main__.py"
ZONE_DATA = "krm-windows.dev/zone-data"
"""The annotation with the release of the zone data that the table was made with."""
DIGEST = "digest"
"""The key of a digest of the content: a Job sees whether it has the content that it is for."""

# Where in the volume the modules lie, by the beginning of their keys: a key takes no slash.
_FOLDERS = {
    "package": "krm_windows",
    "gate": "krm_windows/gate",
}

_SOURCES = Path(gate.__path__[0])

_FIRST = {
    ENTRY: "from krm_windows.gate.__main__ import main\n\nraise SystemExit(main())\n",
    # An empty package, not a namespace: a namespace would lose to any installed krm_windows, as in
    # an image of our own.
    "package.__init__.py": "",
}
# What is shipped beside the core only where the policy uses it.
_PARTS = {
    "events": ("events",),
    "hooks": ("hooks", "jobs", "notes"),
    "pending": ("pending", "revisions"),
    "verification": ("verification", "revisions"),
}


def config_map(plan: Plan) -> Manifest:
    """Return the ConfigMap that the gate's Pods mount."""
    data = {**shipped(plan), **tables(plan)}
    # With letters before it, no digest looks like a number, which YAML would want in quotes.
    digest = f"sha256-{names.digest(json.dumps(data, sort_keys=True))}"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(
            plan, names.config_map(plan), plan.namespace, {ZONE_DATA: plan.zone_release}
        ),
        "data": {**data, DIGEST: digest},
    }


def items(plan: Plan) -> list[dict[str, str]]:
    """Return which key lies at which path of the volume, so that `python3 -I` finds the package."""
    # The names alone: every Job asks for them, and the tables are as long as the policy.
    keys = [*shipped(plan), TIMETABLE, DIGEST]
    if plan.hooks:
        keys.append(HOOKS)
    return [{"key": key, "path": _path(key)} for key in keys]


def shipped(plan: Plan) -> dict[str, str]:
    """Return the program that a plan's ConfigMap has, by key; none where its image has it."""
    return program(parts(plan)) if plan.ships_program else {}


def parts(plan: Plan) -> frozenset[str]:
    """Return what a plan needs beside the core of the gate: `events`, `hooks` and more."""
    found: set[str] = set()
    if plan.events:
        found.add("events")
    if plan.hooks:
        found.add("hooks")
        if plan.hooks.only_if == "Pending":
            found.add("pending")
        if plan.hooks.after_apply:
            found.add("verification")
    return frozenset(found)


@cache
def program(parts: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return the source of each module of the gate and its `parts` by key, the entry first."""
    left_out: set[str] = set()
    for modules in _PARTS.values():
        left_out.update(modules)
    for part in parts:
        left_out.difference_update(_PARTS[part])  # two parts may need the same module
    found = dict(_FIRST)
    # Sorted: the order of a directory is the file system's.
    for path in sorted(_SOURCES.glob("*.py")):
        if path.stem not in left_out:
            found[f"gate.{path.name}"] = path.read_text(encoding="utf-8")
    return found


@cache
def _path(key: str) -> str:
    folder, _, name = key.partition(".")
    if folder not in _FOLDERS:
        # `gate.decide.py` is `krm_windows/gate/decide.py`.
        return key
    return f"{_FOLDERS[folder]}/{name}"


def tables(plan: Plan) -> dict[str, str]:
    """Return the JSON that the program follows, by key."""
    found = {TIMETABLE: _timetable(plan)}
    if plan.hooks:
        found[HOOKS] = _json(hooks.dump(plan, plan.hooks))
    return found


def _timetable(plan: Plan) -> str:
    form = dump(_harmless(plan.timetable))
    needed = sorted(parts(plan))
    return _json(form | {"parts": needed} if needed else form)


def _json(value: object) -> str:
    """Return JSON with a line for each item, for readable diffs; an eighth would be indentation."""
    return f"{escape.json_text(json.dumps(value, indent=0, ensure_ascii=False))}\n"


def _harmless(timetable: Timetable) -> Timetable:
    """Return a timetable whose reasons may be shown as they are.

    The gate puts them into Events, annotations and its log.
    """
    return timetable._replace(
        freezes=tuple(map(_shown, timetable.freezes)),
        overrides=tuple(map(_shown, timetable.overrides)),
    )


def _shown(rule: Rule) -> Rule:
    return rule._replace(reason=escape.line(rule.reason))
