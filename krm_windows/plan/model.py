"""The plan: what is emitted for one policy and one cluster, before it becomes objects."""

from datetime import timedelta
from typing import NamedTuple

from krm_windows.plan.triggers import Trigger
from krm_windows.policy.hooks import Hooks
from krm_windows.policy.model import Actuator
from krm_windows.policy.network import ApiServer
from krm_windows.schedule.timetable import Timetable


class Grant(NamedTuple):
    """Verbs on named objects of one resource.

    Without names on all of them, for verbs that know no name beforehand.
    """

    group: str
    resource: str
    names: tuple[str, ...]
    verbs: tuple[str, ...] = ("get", "patch")


class Rights(NamedTuple):
    """What the gate may touch in one namespace."""

    namespace: str
    grants: tuple[Grant, ...]


class Plan(NamedTuple):
    """One policy, compiled for one cluster.

    `patience`: with `Kubectl`, how long a Job may take to start, and then again to end. `interval`
    lies between two runs, `extras` are named as in the policy. `admission`: whether
    admission policies hold its account. `api_servers`: where its Pods may connect to, with the
    extra `NetworkPolicy`; none means any address at the usual ports. `zone_release`: of the zone
    data that its table was made with, such as `2026f`.
    """

    name: str
    namespace: str
    timetable: Timetable
    triggers: tuple[Trigger, ...]
    rights: tuple[Rights, ...]
    actuator: Actuator
    patience: timedelta = timedelta()
    interval: timedelta = timedelta(minutes=15)
    extras: frozenset[str] = frozenset()
    hooks: Hooks | None = None
    events: bool = False
    admission: bool = True
    api_servers: tuple[ApiServer, ...] = ()
    zone_release: str = ""

    @property
    def runs_gate(self) -> bool:
        """Whether its Jobs run the gate, which works out what should hold.

        Else they act at the edges (`Kubectl`).
        """
        return self.actuator.type == "Gate"

    @property
    def ships_program(self) -> bool:
        """Whether its ConfigMap has the program, which its image has otherwise."""
        return self.actuator.program == "ConfigMap"

    @property
    def policy(self) -> str:
        """The policy as annotations name it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def own_names(self) -> tuple[str, ...]:
        """The policy's name and those it had before: what they left behind is ours."""
        return self.timetable.own_names
