"""Two builders with different zone data.

Whether a change of the time zone's rules lies between what is there and now. A release of the zone
data mostly changes nothing for a policy's zone. Then the recorded release is kept, so that no file
changes; else the rules differ, and whoever reviews the diff should know why.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from krm_windows import rules
from krm_windows.emit import configmap, timetables
from krm_windows.krm import KubeObject, mentioning
from krm_windows.plan.model import Plan
from krm_windows.plan.timetable import clocks
from krm_windows.results import Result

_ZONE = "spec.timeZone"


class Recorded(NamedTuple):
    """What a timetable among manifests was made with: a release, and the `clocks` by it."""

    release: str
    clocks: tuple[str, ...]


def recorded(items: Iterable[KubeObject], plan: Plan) -> Recorded | None:
    """Return what the policy's timetable among manifests was made with.

    None where there is none to read.
    """
    for item in mentioning(items, configmap.TIMETABLE):
        timetable = timetables.read(item)
        # A policy that was renamed is known by its former names.
        if timetable is None or timetable.policy not in plan.own_names:
            continue
        release = item.annotations.get(configmap.ZONE_DATA)
        if release and timetable.time_zone == plan.timetable.time_zone:
            return Recorded(release, timetable.clocks)
    return None


def kept(plan: Plan, found: Recorded | None) -> Plan:
    """Return the plan with the recorded release, where its clocks are those of this build."""
    if found is None or found.clocks != clocks(plan.timetable.time_zone):
        return plan
    return plan._replace(zone_release=found.release)


def differing(plan: Plan, found: Recorded | None) -> Iterator[Result]:
    """Yield what the rules that are recorded and those of this build have to do with each other."""
    zone = plan.timetable.time_zone
    if found is None or found.clocks == clocks(zone):
        return
    # Releases are a year and a letter, such as 2026b, so texts are in their order.
    if found.release > plan.zone_release:
        message = (
            f"was built with zone data release {found.release}, which has other rules for "
            f"{zone} than release {plan.zone_release} here: upgrade the package tzdata, or this "
            "build would bring back old rules"
        )
        yield rules.ZONE_RULES_OLDER.result(message, path=_ZONE, current=zone)
    else:
        message = (
            f"has other rules in zone data release {plan.zone_release} than in {found.release}, "
            "which it was built with: `krm-windows diff` shows the hours that move"
        )
        yield rules.ZONE_RULES_CHANGED.result(message, path=_ZONE, current=zone)
