"""Whether a cluster has the windows of a policy as they are here.

What is written and rendered here may not have been pushed, or not applied.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from krm_windows.emit import configmap, names
from krm_windows.gate import timetable
from krm_windows.gate.annotations import UNREADABLE
from krm_windows.gate.objects import dig
from krm_windows.gate.timetable import Timetable
from krm_windows.plan.model import Plan
from krm_windows.status.objects import LiveObject, is_of_gate


@dataclass(frozen=True, slots=True)
class Delivery:
    """The windows that a cluster has, compared with a policy.

    `current` is whether they are the policy's, None where nobody could say.
    """

    current: bool | None = None
    exists: bool = False

    @property
    def words(self) -> str:
        """Say it to a person."""
        if self.current is None:
            return "unknown which windows it has, as nobody has read its ConfigMaps"
        if not self.exists:
            return "no windows of this policy: they have not been applied"
        return "the same windows" if self.current else "other windows"


UNKNOWN = Delivery()


def compare(plan: Plan, objects: Sequence[LiveObject], *, has_asked: bool) -> Delivery:
    """Compare the windows among the objects of a cluster with a plan.

    `has_asked`: whether they would be among the objects if the cluster had them.
    """
    own = [each for each in objects if is_of_gate(each, names.label(plan.policy))]
    if plan.runs_gate:
        # What is decided by, and not the program: another release may have rendered it.
        tables = [dig(each, "data", configmap.TIMETABLE) for each in own]
        own = [each for each, text in zip(own, tables, strict=True) if isinstance(text, str)]
        wanted = _read(configmap.tables(plan)[configmap.TIMETABLE])
        current = all(_read(text) == wanted for text in tables if isinstance(text, str))
    else:
        own = [each for each in own if each.get("kind") == "CronJob"]
        current = _schedules(own) == {
            names.cron_job(plan, each): (each.schedule, each.time_zone) for each in plan.triggers
        }
    if not own:
        return Delivery(current=False if has_asked else None)
    return Delivery(current, exists=True)


def _read(text: str) -> Timetable | None:
    try:
        return timetable.load(text)
    except UNREADABLE:
        return None


def _schedules(cron_jobs: Iterable[LiveObject]) -> dict[object, tuple[object, object]]:
    return {
        dig(each, "metadata", "name"): (
            dig(each, "spec", "schedule"),
            dig(each, "spec", "timeZone"),
        )
        for each in cron_jobs
    }
