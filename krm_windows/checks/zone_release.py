"""Two builders with different zone data.

Whether a change of the time zone's rules lies between what is there and now. A release of the zone
data mostly changes nothing for a policy's zone. Then the recorded release is kept, so that no file
changes; else the rules differ, and whoever reviews the diff should know why.
"""

from collections.abc import Iterable, Iterator

from krm_windows import rules
from krm_windows.emit import configmap, timetables
from krm_windows.gate.zones import ZoneRules
from krm_windows.krm import KubeObject, mentioning
from krm_windows.plan.model import Plan
from krm_windows.results import Result

_ZONE = "spec.timeZone"


def recorded(items: Iterable[KubeObject], plan: Plan) -> ZoneRules | None:
    """Return the rules that a timetable of the policy carries among manifests.

    None where there is none to read.
    """
    for item in mentioning(items, configmap.TIMETABLE):
        timetable = timetables.read(item)
        # A policy that was renamed is known by its former names.
        if timetable is None or timetable.policy not in plan.own_names:
            continue
        if timetable.time_zone == plan.timetable.time_zone:
            return timetable.zone_rules
    return None


def kept(plan: Plan, found: ZoneRules | None) -> Plan:
    """Return the plan with the recorded release, where its rules are those of this build."""
    if found is None or not _agree(found, plan.timetable.zone_rules):
        return plan
    timetable = plan.timetable._replace(zone_rules=found)
    return plan._replace(timetable=timetable)


def check(plan: Plan, found: ZoneRules | None) -> Iterator[Result]:
    """Yield what the rules that are recorded and those of this build have to do with each other."""
    ours = plan.timetable.zone_rules
    zone = plan.timetable.time_zone
    if found is None or ours is None or found.release == ours.release:
        return
    # Releases are a year and a letter, such as 2026b, so texts are in their order.
    if _agree(found, ours):
        message = (
            f"was built with zone data release {found.release}, and {ours.release} has the same "
            f"rules for {zone}: nothing changes"
        )
        yield rules.ZONE_RELEASE.result(message, path=_ZONE, current=zone)
    elif found.release > ours.release:
        message = (
            f"was built with zone data release {found.release}, which has other rules for "
            f"{zone} than release {ours.release} here: upgrade the package tzdata, or this "
            "build would bring back old rules"
        )
        yield rules.ZONE_RULES_OLDER.result(message, path=_ZONE, current=zone)
    else:
        message = (
            f"has other rules in zone data release {ours.release} than in {found.release}, "
            f"which it was built with: {_first_difference(found, ours)}"
        )
        yield rules.ZONE_RULES_CHANGED.result(message, path=_ZONE, current=zone)


def _agree(one: ZoneRules, other: ZoneRules | None) -> bool:
    if other is None:
        return False
    # Equal in everything but the release that says so.
    return one._replace(release=other.release) == other


def _first_difference(old: ZoneRules, new: ZoneRules) -> str:
    """Name the earliest transition that only one of two has."""
    gone = set(old.transitions) - set(new.transitions)
    come = set(new.transitions) - set(old.transitions)
    if not gone and not come:
        return f"{old.rule} became {new.rule}"
    # A transition is written with its time first, so the least text is the earliest.
    first = min(gone | come)
    if first in gone:
        return f"no longer {first}"
    return f"now {first}"
