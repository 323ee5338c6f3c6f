"""The timetable's JSON form, written; `gate.timetable` reads it. Not in the gate, for the cluster never writes one."""

import re
from dataclasses import fields
from datetime import datetime, time, timedelta
from functools import cache

from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import FORMAT_VERSION, Rule, Target, Timetable
from krm_windows.gate.zones import ZoneRules


def dump(timetable: Timetable) -> dict[str, object]:
    """Return the JSON form, defaults left out: `load(json.dumps(dump(timetable))) == timetable`."""
    return {"formatVersion": FORMAT_VERSION, **_record(timetable)}


def _record(item: Recurrence | Rule | Target | Timetable | ZoneRules) -> dict[str, object]:
    values = {field: getattr(item, field.name) for field in fields(item)}
    return {_camel_case(field.name): _plain(value) for field, value in values.items() if value != field.default}


def _plain(value: object) -> object:
    match value:
        case datetime() | time():
            return value.isoformat(timespec="minutes").replace("+00:00", "Z")
        case timedelta():
            return f"PT{value // timedelta(seconds=1)}S"
        case frozenset():
            return sorted(value)
        case tuple():
            return [_plain(item) for item in value]
        case Recurrence() | Rule() | Target() | ZoneRules():
            return _record(value)
    return value


@cache
def _camel_case(name: str) -> str:
    return re.sub("_(.)", lambda letter: letter[1].upper(), name)
