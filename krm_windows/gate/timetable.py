"""The compiled policy as it travels to the cluster: a timetable, read from its JSON form."""

import json
import re
from collections.abc import Callable, Iterable
from datetime import datetime, time, timedelta
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.zones import Zone, ZoneRules, zone

TIMEOUT = 10.0  # seconds for a request: to connect, to ask and to be answered, all in all
FORMAT_VERSION = 1  # of timetable.json: by another one nothing is opened
# What targets of one kind share, and must have to be closed.
_SHARED = {"group", "resource", "kind", "objects"}
_SALVAGED = {*_SHARED, "version", "field"}
_OF_TARGETS = ("targets", "released")
_OF_TIME = ("begins", "ends", "closesEarly", "adoptUntil")
T = TypeVar("T")
# A naive datetime is the policy's wall clock, an aware one an instant.
Begin: TypeAlias = Recurrence | datetime | None  # None: since always
# A `time` is the next such time after the beginning; a `timedelta` is wall-clock time, after an
# instant real time.
End: TypeAlias = Recurrence | datetime | time | timedelta
# What fields of the policy may hold, as they are written there.
Openness: TypeAlias = Literal["Open", "Closed"]
State: TypeAlias = Literal["Scheduled", "Open", "Closed"]
FirstApply: TypeAlias = Literal["Allow", "Wait", ""]  # none where only targets were salvaged


class Kind(StrEnum):
    """What a rule is, by the field of the spec that holds it."""

    WINDOW = "windows"
    FREEZE = "freezes"
    OVERRIDE = "overrides"


class Rule(NamedTuple):
    """A window, freeze or override, with its `key` in the spec, such as `working-week`.

    `state`: overrides only.
    """

    kind: Kind
    key: str
    begins: Begin
    ends: End
    reason: str = ""
    state: Openness | None = None

    @property
    def name(self) -> str:
        """Its path in the spec, such as `windows.working-week`."""
        return f"{self.kind}.{self.key}"


class Target(NamedTuple):
    """What is closed by writing true at `field`.

    That any of the status fields `applied` is filled says that it was applied.
    """

    group: str
    resource: str
    kind: str
    namespace: str
    name: str
    version: str | None = None
    field: tuple[str, ...] = ("spec", "suspend")
    applied: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Name it as `Kustomization flux-system/apps`."""
        return f"{self.kind} {self.namespace}/{self.name}"


class Timetable(NamedTuple):
    """One policy, compiled for one cluster; `policy` and `former_names` are `namespace/name`.

    Only what names targets to close, and decides nothing, has no `zone_rules`. `image_zones` is
    never written: in it the gate notes how the zone data of its image differs.
    """

    policy: str
    time_zone: str
    zone_rules: ZoneRules | None = None
    cluster: str | None = None
    outside_windows: Openness = "Closed"
    state: State = "Scheduled"
    closes_early: timedelta = timedelta(0)
    first_apply: FirstApply = "Allow"
    adopt_until: datetime | None = None
    former_names: tuple[str, ...] = ()
    windows: tuple[Rule, ...] = ()
    freezes: tuple[Rule, ...] = ()
    overrides: tuple[Rule, ...] = ()
    targets: tuple[Target, ...] = ()
    released: tuple[Target, ...] = ()
    image_zones: str = ""

    @property
    def own_names(self) -> tuple[str, ...]:
        """The names under which its gate has closed targets."""
        return (self.policy, *self.former_names)

    @property
    def zone(self) -> Zone:
        """Its time zone.

        Raises `LookupError` where it has no rules, `ValueError` where they cannot be read.
        """
        if self.zone_rules is None:
            raise LookupError(f'no rules for the time zone "{self.time_zone}"')
        return zone(self.time_zone, self.zone_rules)


def run_seconds(targets: int, timeout: float = TIMEOUT) -> float:
    """Say for how long a run over so many targets may ask the API server.

    As long as twelve requests that hang, or an eightieth of one for each target.
    """
    return timeout * max(12, targets / 80)


def load(text: str) -> Timetable:
    """Read the JSON form; raise `ValueError`, `TypeError` or `LookupError` for any other text."""
    try:
        timetable = json.loads(text, object_hook=_revive)
    except (ValueError, TypeError, LookupError):
        _check_version(json.loads(text))  # says more than what stumbled over another version
        raise
    if not isinstance(timetable, Timetable):
        raise ValueError("no timetable")  # noqa: TRY004 - the text is wrong
    return timetable


def salvage(text: str) -> Timetable:
    """Read what can still be named where `load` or a decision failed, in order to close it."""
    data = json.loads(text)
    targets = []
    for kind in data["targets"]:
        if not isinstance(kind, dict) or not kind.keys() >= _SHARED:
            continue
        known = kind.keys() & _SALVAGED
        targets.append({key: kind[key] for key in known})
    policy = {
        "formatVersion": FORMAT_VERSION,
        "policy": str(data.get("policy")),
        "timeZone": "",
        "firstApply": "",  # neither: what was never applied is closed, too
        "targets": targets,
    }
    return load(json.dumps(policy))


def _check_version(data: dict[str, object]) -> None:
    version = data["formatVersion"]
    if version != FORMAT_VERSION:
        raise ValueError(f"has formatVersion {version!r}, expected {FORMAT_VERSION}")


def _revive(data: dict[str, object]) -> object:
    """Make of a JSON object what its keys are those of; `json` gives the innermost ones first."""
    # Each has a key that no other one has, but for recurrences, all of whose keys may be left out.
    if "objects" in data:
        return _targets(data)
    if "policy" in data:
        return _timetable(data)
    if "begins" in data:
        return _rule(data)
    if "transitions" in data:
        return _made(ZoneRules, data)
    return _recurrence(data)


def _timetable(data: dict[str, object]) -> Timetable:
    _check_version(data)
    fields = dict(data)
    del fields["formatVersion"]
    return _made(Timetable, fields)


def _rule(data: dict[str, object]) -> Rule:
    """Make a rule, which the JSON form names by its path, such as `windows.working-week`."""
    fields = dict(data)
    kind, key = str(fields.pop("name")).split(".", 1)  # a key may have dots of its own
    return _made(Rule, {"kind": Kind(kind), "key": key, **fields})


def _made(kind: Callable[..., T], data: dict[str, object]) -> T:
    """Make what has the keys of a JSON object as attributes."""
    return kind(**{_attribute(key): _read(key, value) for key, value in data.items()})


@lru_cache  # they are a few dozen, in thousands of rules and targets
def _attribute(key: str) -> str:
    """Turn `closesEarly` into `closes_early`."""
    return re.sub("[A-Z]", r"_\g<0>", key).lower()


def _read(key: str, value: object) -> object:
    """Read what is at a key: text is a time at some of them, and a list a tuple."""
    if key in _OF_TARGETS:
        return _every(value)
    if isinstance(value, str) and key in _OF_TIME:
        return _moment(value)
    if isinstance(value, list):
        return tuple(value)
    return value


def _recurrence(data: dict[str, object]) -> Recurrence:
    fields: dict[str, object] = {}
    for key, value in data.items():
        fields[key] = value  # of `either`, `nth` and `shift`
        if isinstance(value, list):  # the hours 8 and 20, in any order
            fields[key] = frozenset(value)
    make: Callable[..., Recurrence] = Recurrence
    return make(**fields)


def _targets(data: dict[str, object]) -> list[Target]:
    """Make the targets of one kind: `objects` are lists of a namespace and the names in it."""
    shared = {key: _read(key, value) for key, value in data.items()}
    objects = shared.pop("objects")
    if not isinstance(objects, tuple) or not _are_lists(objects):
        raise ValueError(f"objects are {objects!r}")
    make: Callable[..., Target] = Target
    found = []
    for namespace, *names in objects:  # ["flux-system", "apps", "infra"] are two targets
        found += [make(**shared, namespace=namespace, name=name) for name in names]
    return found


def _every(kinds: object) -> tuple[Target, ...]:
    """Give the targets of all kinds."""
    if not isinstance(kinds, list) or not _are_lists(kinds):
        raise ValueError(f"targets are {kinds!r}")
    return tuple(chain.from_iterable(kinds))


def _are_lists(things: Iterable[object]) -> bool:
    return all(isinstance(each, list) for each in things)


def _moment(text: str) -> datetime | time | timedelta:
    """Read `PT5400S`, `2026-11-20T09:00` or `09:00`, as ISO 8601 has them."""
    if text[0] == "P":
        # However long, it is written in seconds.
        seconds = text.removeprefix("PT").removesuffix("S")
        return timedelta(seconds=int(seconds))
    if "T" in text:
        return datetime.fromisoformat(text)
    return time.fromisoformat(text)
