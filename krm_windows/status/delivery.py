"""Whether a cluster has the windows of a policy as they are here.

What is written and rendered here may not have been pushed, or not applied.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from krm_windows.emit import configmap, names
from krm_windows.gate import timetable
from krm_windows.gate.annotations import UNREADABLE
from krm_windows.gate.objects import dig
from krm_windows.gate.timetable import Timetable
from krm_windows.plan.model import Plan
from krm_windows.preview.clock import shown
from krm_windows.status.objects import LiveObject, entries, instant, is_of_gate


@dataclass(frozen=True, slots=True)
class Delivery:
    """The windows that a cluster has, compared with a policy.

    `current` is whether they are the policy's, None where nobody could say. `changed` is when they
    were last changed in the cluster (UTC), None where it has none or where that is not known.
    """

    current: bool | None = None
    changed: datetime | None = None
    exists: bool = False

    def words(self, zone: tzinfo) -> str:
        """Say it to a person."""
        if self.current is None:
            return "unknown which windows it has, as nobody has read its ConfigMaps"
        if not self.exists:
            return "no windows of this policy: they have not been applied"
        windows = "the same windows" if self.current else "other windows"
        if self.changed:
            windows += f", since {shown(self.changed, zone)}"
        return windows


UNKNOWN = Delivery()


def compare(plan: Plan, objects: Sequence[LiveObject], *, has_asked: bool) -> Delivery:
    """Compare the windows among the objects of a cluster with a plan.

    `has_asked`: whether they would be among the objects if the cluster had them.
    """
    label = names.label(plan.policy)
    own = [each for each in objects if is_of_gate(each, label)]
    if plan.runs_gate:
        own = [each for each in own if _timetable(each) is not None]
        current = _has_timetable(plan, own)
    else:
        own = [each for each in own if each.get("kind") == "CronJob"]
        current = _has_schedules(plan, own)
    if not own:
        return Delivery(current=False if has_asked else None)
    changed = max(filter(None, map(_changed, own)), default=None)
    return Delivery(current, changed, exists=True)


def _timetable(live: LiveObject) -> str | None:
    """Return the text of the timetable in a gate's ConfigMap."""
    text = dig(live, "data", configmap.TIMETABLE) if live.get("kind") == "ConfigMap" else None
    return text if isinstance(text, str) else None


def _has_timetable(plan: Plan, own: Iterable[LiveObject]) -> bool:
    """Compare what is decided by, and not the program: another release may have rendered it."""
    wanted = _read(configmap.tables(plan)[configmap.TIMETABLE])
    return all(_read(str(_timetable(each))) == wanted for each in own)


def _read(text: str) -> Timetable | None:
    try:
        return timetable.load(text)
    except UNREADABLE:
        return None


def _has_schedules(plan: Plan, own: Iterable[LiveObject]) -> bool:
    """Compare the CronJobs of the actuator `Kubectl`, which has no timetable."""
    wanted = {names.cron_job(plan, each): (each.schedule, each.time_zone) for each in plan.triggers}
    return wanted == {
        dig(each, "metadata", "name"): (
            dig(each, "spec", "schedule"),
            dig(each, "spec", "timeZone"),
        )
        for each in own
    }


def _changed(live: LiveObject) -> datetime | None:
    """Return when somebody last changed an object, as its managed fields say."""
    times = [
        instant(dig(each, "time"))
        for each in entries(live, "metadata", "managedFields")
        # The status of a CronJob changes with each run.
        if isinstance(each, Mapping) and not each.get("subresource")
    ]
    return max(filter(None, times), default=instant(dig(live, "metadata", "creationTimestamp")))
