"""The plan: everything that is emitted for one policy and one cluster, before it becomes objects."""

from dataclasses import dataclass

from krm_windows.gate.timetable import Timetable
from krm_windows.plan.wakeups import WakeUp


@dataclass(frozen=True, slots=True)
class Grant:
    """Get and patch on named objects of one resource."""

    group: str
    resource: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rights:
    """What the gate may touch in one namespace."""

    namespace: str
    grants: tuple[Grant, ...]


@dataclass(frozen=True, slots=True)
class Runtime:
    """The image the gate runs on, and how it is pulled."""

    image: str
    pull_policy: str
    pull_secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """One policy, compiled for one cluster."""

    name: str
    namespace: str
    timetable: Timetable
    wake_ups: tuple[WakeUp, ...]
    rights: tuple[Rights, ...]
    runtime: Runtime

    @property
    def policy(self) -> str:
        """The policy as annotations name it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def own_names(self) -> tuple[str, ...]:
        """The policy's name and those it had before: what they left behind is ours."""
        return self.policy, *self.timetable.former_names
