"""The timetable's JSON form, written; `gate.timetable` reads it.

Not in the gate, for the cluster never writes one.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, time, timedelta
from functools import cache
from typing import TypeAlias

from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import FORMAT_VERSION, Rule, Target, Timetable
from krm_windows.gate.zones import ZoneRules

_Part: TypeAlias = Recurrence | Rule | Target | Timetable | ZoneRules


def dump(timetable: Timetable) -> dict[str, object]:
    """Return the JSON form, defaults left out: `load(json.dumps(dump(timetable)))` is equal.

    Only the order of targets may be another one: those of one kind come back together.
    """
    return {"formatVersion": FORMAT_VERSION, **_record(timetable)}


def _kinds(targets: Iterable[Target]) -> list[dict[str, object]]:
    """Return targets by their kinds, and the names in each namespace.

    An object has 1 MiB, and a name 253 characters. `objects` are lists of a namespace and the
    names in it. A map could not be distinguished from the rest of the JSON form.
    """
    found: dict[Target, dict[str, list[str]]] = {}
    for target in targets:
        kind = target._replace(namespace="", name="")
        namespaces = found.setdefault(kind, {})
        namespaces.setdefault(target.namespace, []).append(target.name)
    return [_kind(kind, names) for kind, names in found.items()]


def _kind(kind: Target, names: Mapping[str, list[str]]) -> dict[str, object]:
    said = _record(kind)
    # Both are said in `objects`, for all targets of the kind.
    said.pop("namespace", None)
    said.pop("name", None)
    objects = [[namespace, *names[namespace]] for namespace in names]
    return {**said, "objects": objects}


def _record(item: _Part) -> dict[str, object]:
    record: dict[str, object] = {}
    defaults = item._field_defaults
    for name, value in zip(item._fields, item, strict=True):
        # Defaults are left out, as what is read back without a field has its default again.
        if name not in defaults or value != defaults[name]:
            record[_camel_case(name)] = _plain(value)
    # Named by its path, as it is everywhere else that people read.
    if isinstance(item, Rule):
        del record["kind"]
        del record["key"]
        return {"name": item.name, **record}
    return record


def _plain(value: object) -> object:
    match value:
        # Before tuples, as these are tuples with names.
        case Recurrence() | Rule() | ZoneRules():
            return _record(value)
        case datetime() | time():
            # Python writes +00:00, Kubernetes Z.
            return value.isoformat(timespec="minutes").replace("+00:00", "Z")
        case timedelta():
            return f"PT{value // timedelta(seconds=1)}S"
        case frozenset():
            # A set has no order, and the same policy has to give the same bytes.
            return sorted(value)
        case tuple():
            return _list(value)
    return value


def _list(items: tuple[object, ...]) -> list[object]:
    targets = [item for item in items if isinstance(item, Target)]
    # One by one, they would be most of the form.
    if targets:
        return [*_kinds(targets)]
    return [_plain(item) for item in items]


@cache
def _camel_case(name: str) -> str:
    return re.sub("_(.)", lambda letter: letter[1].upper(), name)
