"""The compiled policy as it travels to the cluster: a timetable, and its JSON form."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime, time, timedelta
from typing import TypeVar

from krm_windows.gate.recurrence import Recurrence

FORMAT_VERSION = 1
Begin = Recurrence | datetime | None
End = Recurrence | datetime | time | timedelta
_T = TypeVar("_T")


class TimetableError(ValueError):
    """The text is no timetable that this program can read."""


@dataclass(frozen=True)
class Rule:
    """A window, freeze or override, `name`d by its path in the spec, such as `windows.working-week`.

    A naive datetime is the policy's wall clock, an aware one an instant. `begins` None: since always. A `time` is the
    next such time after the beginning; a `timedelta` is wall-clock time, after an instant real time. `state` ("Open",
    "Closed"): overrides only.
    """

    name: str
    begins: Begin
    ends: End
    reason: str = ""
    state: str | None = None


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is closed by writing true at `field`; any of the status fields `applied` filled says that it was applied."""

    group: str
    resource: str
    kind: str
    namespace: str
    name: str
    version: str | None = None
    field: tuple[str, ...] = ("spec", "suspend")
    applied: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Name the target in logs: `Kustomization flux-system/apps`."""
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class Timetable:
    """One policy, compiled for one cluster; `policy` and `former_names` are `namespace/name`."""

    policy: str
    time_zone: str
    cluster: str | None = None
    outside_windows: str = "Closed"
    state: str = "Scheduled"
    closes_early: timedelta = timedelta(0)
    first_apply: str = "Allow"
    adopt_until: datetime | None = None
    former_names: tuple[str, ...] = ()
    windows: tuple[Rule, ...] = ()
    freezes: tuple[Rule, ...] = ()
    overrides: tuple[Rule, ...] = ()
    targets: tuple[Target, ...] = ()
    released: tuple[Target, ...] = ()


def dump(timetable: Timetable) -> dict[str, object]:
    """Give the JSON form, defaults left out; `load` reads it back."""
    return {"formatVersion": FORMAT_VERSION, **_fields(timetable)}


def load(text: str) -> Timetable:
    """Read the JSON form; raise `TimetableError` for anything that `dump` did not write."""
    try:
        data = dict(json.loads(text))
        version = data.pop("formatVersion", None)
        timetable: Timetable | None = _record(Timetable, data) if version == FORMAT_VERSION else None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise TimetableError(f"unreadable timetable: {error!r}") from error
    if timetable is None:
        raise TimetableError(f"formatVersion {version!r} is unknown to this program, which reads {FORMAT_VERSION}")
    return timetable


def salvage(text: str) -> Timetable:
    """Read what can still be named, to be closed, where `load` or a decision failed: the policy and its targets."""
    data = json.loads(text)
    known = {field.name for field in fields(Target)}
    targets = []
    for item in data["targets"]:
        with suppress(AttributeError, TypeError):
            targets.append(_record(Target, {key: value for key, value in item.items() if key in known}))
    return Timetable(policy=str(data.get("policy")), time_zone="", first_apply="", targets=tuple(targets))


def _fields(item: Recurrence | Rule | Target | Timetable) -> dict[str, object]:
    values = {field: getattr(item, field.name) for field in fields(item)}
    changed = {field.name: _plain(value) for field, value in values.items() if value != field.default}
    return {re.sub("_(.)", lambda letter: letter[1].upper(), name): value for name, value in changed.items()}


def _plain(value: object) -> object:
    match value:
        case datetime() | time():
            return value.isoformat(timespec="minutes").replace("+00:00", "Z")
        case timedelta():
            return (
                f"PT{value // timedelta(seconds=1)}S" if value.seconds % 60 else f"PT{value // timedelta(minutes=1)}M"
            )
        case frozenset():
            return sorted(value)
        case tuple():
            return [_plain(item) for item in value]
        case Recurrence() | Rule() | Target():
            return _fields(value)
        case _:
            return value


def _record(make: Callable[..., _T], data: Mapping[str, object]) -> _T:
    read = {key: _VALUES[key](value) if key in _VALUES else value for key, value in data.items()}
    return make(
        **{re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), key): value for key, value in read.items()}
    )


def _moment(value: object) -> Begin | End:
    if value is None or isinstance(value, dict):
        return value if value is None else _record(Recurrence, value)
    text = str(value)
    if text.startswith("PT"):
        return timedelta(**{{"M": "minutes", "S": "seconds"}[text[-1]]: int(text[2:-1])})
    return datetime.fromisoformat(text) if "T" in text else time.fromisoformat(text)


def _records(make: Callable[..., _T]) -> Callable[[list[dict[str, object]]], tuple[_T, ...]]:
    return lambda items: tuple(_record(make, item) for item in items)


_VALUES: dict[str, Callable[..., object]] = {
    **dict.fromkeys(("minutes", "hours", "days", "months", "weekdays"), frozenset),
    **dict.fromkeys(("begins", "ends", "closesEarly", "adoptUntil"), _moment),
    **dict.fromkeys(("field", "applied", "formerNames"), tuple),
    **dict.fromkeys(("windows", "freezes", "overrides"), _records(Rule)),
    **dict.fromkeys(("targets", "released"), _records(Target)),
}
