"""What of a policy a caller may change: its hours, or whatever else it says."""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import TypeAlias

from krm_windows.edit.patches import clusters_of
from krm_windows.krm import KubeObject, Value
from krm_windows.krm.merge_patch import merge
from krm_windows.plurals import counted
from krm_windows.service.access import Caller, Scope
from krm_windows.service.problems import Problem

Hours: TypeAlias = "Mapping[str, Hours | None]"
HOURS: Hours = {
    **dict.fromkeys(("timeZone", "outsideWindows", "state", "closesEarly")),
    "windows": {"*": dict.fromkeys(("opens", "closes", "duration", "description"))},
    "freezes": {"*": dict.fromkeys(("starts", "ends", "duration", "reason"))},
    "overrides": {
        "*": dict.fromkeys(("state", "starts", "ends", "reason", "requestedBy", "ticket"))
    },
}
"""The fields of `spec`, and of a cluster's patch, that say when the policy is open; `*` is any
name. Whatever is not listed may be code or rights in a cluster, and takes the scope `admin`.
"""
_NOTHING: Hours = {}
_SHOWN = 3

_Path: TypeAlias = tuple[str, ...]


def check(caller: Caller, old: KubeObject | None, new: KubeObject | None) -> None:
    """Refuse a change of more than hours to whoever has not the scope `admin`.

    None is a policy that is not there. What the change does counts, and not how it was asked for.
    Raises Problem, and InputError for what cannot be read.
    """
    if caller.may(Scope.ADMIN):
        return
    was, now = _beyond_hours(old), _beyond_hours(new)
    changed = [path for path in {**was, **now} if was.get(path) != now.get(path)]
    if not changed:
        return
    shown = ", ".join(".".join(path) for path in changed[:_SHOWN])
    if len(changed) > _SHOWN:
        shown += f" and {counted(len(changed) - _SHOWN, 'other field')}"
    raise Problem(
        HTTPStatus.FORBIDDEN,
        f"{caller.name} has no scope {Scope.ADMIN.value!r}, which a change of {shown} needs: "
        "without it only hours may be changed",
    )


def _beyond_hours(policy: KubeObject | None) -> dict[_Path, str]:
    """Return what a policy says beside hours, by path, in the file and on each cluster."""
    if policy is None:
        return {}
    found = dict(_rest(policy.get(), {"spec": {**HOURS, "clusters": {"*": HOURS}}}))
    spec = policy.get("spec")
    for name, patch in clusters_of(policy).items():
        # A null in the patch takes what the policy has for all: with a window, its `cronJobs`.
        # And a cluster more or less is never hours: each has targets.
        merged = merge(spec, patch or {})
        found |= _rest(merged, {**HOURS, "clusters": None}, (f"cluster {name}", "spec"))
    return found


def _rest(tree: Value, hours: Hours, path: _Path = ()) -> Iterator[tuple[_Path, str]]:
    """Yield what of a tree is not hours, each leaf as JSON: there `1`, `true` and `"1"` differ."""
    if not isinstance(tree, dict):
        yield path, json.dumps(tree)
        return
    for name, part in tree.items():
        below = hours.get(name, hours.get("*", _NOTHING))
        if below is None:
            continue
        if part:
            yield from _rest(part, below, (*path, name))
        # An empty map of windows says nothing else, either.
        elif not below:
            yield (*path, name), json.dumps(part)
