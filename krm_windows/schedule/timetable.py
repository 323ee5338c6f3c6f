"""The rules of a policy, compiled for one cluster: when it is open, and what it gates."""

from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from krm_windows.gate.timetable import Target
from krm_windows.schedule import zones
from krm_windows.schedule.recurrence import Recurrence

Openness: TypeAlias = Literal["Open", "Closed"]  # as the policy has it
# A naive datetime is the policy's wall clock, an aware one an instant.
Begin: TypeAlias = Recurrence | datetime | None  # None: since always
# A `time` is the next such time after the beginning; a `timedelta` is wall-clock time, after an
# instant real time.
End: TypeAlias = Recurrence | datetime | time | timedelta


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

    @property
    def is_weekly(self) -> bool:
        """Whether it is the same every week, clock changes aside."""
        if not isinstance(self.begins, Recurrence) or not self.begins.is_weekly:
            return False
        # An end by duration or time of day follows its beginning, so it is as weekly as that.
        return not isinstance(self.ends, Recurrence) or self.ends.is_weekly


class Timetable(NamedTuple):
    """One policy, compiled for one cluster; `policy` and `former_names` are `namespace/name`."""

    policy: str
    time_zone: str
    cluster: str | None = None
    outside_windows: Openness = "Closed"
    state: Literal["Scheduled", "Open", "Closed"] = "Scheduled"
    closes_early: timedelta = timedelta(0)
    first_apply: Literal["Allow", "Wait"] = "Allow"
    adopt_until: datetime | None = None
    former_names: tuple[str, ...] = ()
    windows: tuple[Rule, ...] = ()
    freezes: tuple[Rule, ...] = ()
    overrides: tuple[Rule, ...] = ()
    targets: tuple[Target, ...] = ()
    released: tuple[Target, ...] = ()

    @property
    def own_names(self) -> tuple[str, ...]:
        """The names under which its gate has closed targets."""
        return (self.policy, *self.former_names)

    @property
    def reasons(self) -> dict[str, str]:
        """What the policy says of rules, by their names."""
        rules = (*self.overrides, *self.freezes, *self.windows)
        return {rule.name: rule.reason for rule in rules if rule.reason}

    @property
    def zone(self) -> ZoneInfo:
        """Its time zone; raises `LookupError` for an unknown one."""
        return zones.zone(self.time_zone)
