"""What the gate follows: when its policy is open, as a table of days, and the targets it gates."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from krm_windows.gate.annotations import UNREADABLE, Cause
from krm_windows.gate.objects import Json
from krm_windows.gate.table import Table

NO_DAYS = Table(0, ())
TIMEOUT = 10.0  # seconds for a request
FORMAT_VERSION = 2  # of timetable.json and hooks.json: by another one nothing is opened
_ATTRIBUTES = {
    "timeZone": "time_zone",
    "firstApply": "first_apply",
    "adoptUntil": "adopt_until",
    "formerNames": "former_names",
}


class Target(NamedTuple):
    """What is closed by writing true at `field`; status fields `applied` say if it was applied."""

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


_KEYS = {"objects", *Target._fields}  # of a kind of targets


@dataclass(frozen=True)
class Decision:
    """What holds at an instant, and by which rules, or by what `cause`.

    `since` and `until` are UTC, None if they are 400 days away or more.
    """

    open: bool
    rules: tuple[str, ...] = ()
    reason: str = ""
    since: datetime | None = None
    until: datetime | None = None
    cause: Cause | None = None


@dataclass(frozen=True)
class Timetable:
    """One policy for one cluster; `policy` and `former_names` are `namespace/name`.

    `time_zone` and `clocks` are for words alone, `parts` are modules beside the core.
    """

    policy: str
    time_zone: str = "UTC"
    clocks: tuple[str, ...] = ()
    table: Table = NO_DAYS
    reasons: Mapping[str, str] = field(default_factory=dict)
    cluster: str | None = None
    state: str = "Scheduled"  # or "Open" or "Closed"
    first_apply: str = "Allow"  # or "Wait"
    adopt_until: datetime | None = None  # an instant
    former_names: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    released: tuple[Target, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def own_names(self) -> tuple[str, ...]:
        """The names under which its gate has closed targets."""
        return (self.policy, *self.former_names)

    def decide(self, at: datetime) -> Decision:
        """Say whether it is open at an aware instant; raise `LookupError` outside its table."""
        if self.state != "Scheduled":
            return Decision(self.state == "Open", ("state",), "state")
        span, since, until = self.table.at(at)
        named = [": ".join(filter(None, (rule, self.reasons.get(rule)))) for rule in span.rules]
        reason = "; ".join(named) or "no window is open"
        return Decision(span.open, span.rules, reason, since, until)


def run_seconds(targets: int, timeout: float = TIMEOUT) -> float:
    """Say for how long a run may take: an eightieth of a request for a target."""
    return timeout * max(12, targets / 80)


def load(text: str) -> Timetable:
    """Read the JSON form; raise one of `UNREADABLE` for any other text."""
    data: Json = dict(json.loads(text))
    version = data.pop("formatVersion")
    if version != FORMAT_VERSION:
        raise ValueError(f"has formatVersion {version!r}, expected {FORMAT_VERSION}")
    table = Table.parse(data.pop("patterns"), data.pop("days"), data.pop("dates", {}))
    fields = {_ATTRIBUTES.get(key, key): _read(key, value) for key, value in data.items()}
    return Timetable(table=table, **fields)


def salvage(text: str) -> Timetable:
    """Read what can be named, in order to close it."""
    data = json.loads(text)
    targets: list[Target] = []
    for kind in data["targets"]:
        with suppress(*UNREADABLE):
            targets += _targets([{key: kind[key] for key in _KEYS.intersection(kind)}])
    # Without `firstApply`, so that what was never applied is closed, too.
    return Timetable(str(data.get("policy")), first_apply="", targets=tuple(targets))


def _read(key: str, value: Any) -> Any:  # noqa: ANN401 - as JSON has it
    if key in ("targets", "released"):
        return tuple(_targets(value))
    if key == "adoptUntil":
        return datetime.fromisoformat(value)
    return tuple(value) if isinstance(value, list) else value


def _targets(kinds: list[Json]) -> Iterator[Target]:
    for kind in kinds:
        shared = {key: _read(key, value) for key, value in kind.items()}
        for objects in shared.pop("objects"):
            if not isinstance(objects, list):
                raise TypeError(f"{objects!r} is no list of a namespace and names")
            namespace, *names = objects
            for name in names:  # ["flux-system", "apps", "infra"] are two targets
                yield Target(**shared, namespace=namespace, name=name)
