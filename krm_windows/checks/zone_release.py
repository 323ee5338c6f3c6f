"""Two builders with different zone data: whether a change of the time zone's rules lies between what is there and now.

A release of the zone data mostly changes nothing for a policy's zone. Then the recorded release is kept, so that no
file changes; else the rules differ, and whoever reviews the diff should know why.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from krm_windows import rules
from krm_windows.checks import timetables
from krm_windows.gate.zones import ZoneRules
from krm_windows.krm import KubeObject
from krm_windows.plan.model import Plan
from krm_windows.results import Result

_ZONE = "spec.timeZone"


def recorded(items: Iterable[KubeObject], plan: Plan) -> ZoneRules | None:
    """Return the rules that a timetable of the policy carries among manifests; None where there is none to read."""
    for item in items:
        timetable = timetables.read(item)
        if (
            timetable
            and timetable.policy in plan.own_names
            and timetable.time_zone == plan.timetable.time_zone
        ):
            return timetable.zone_rules
    return None


def kept(plan: Plan, found: ZoneRules | None) -> Plan:
    """Return the plan with the release that is recorded, where its rules are those of this build."""
    if found is None or not _agree(found, plan.timetable.zone_rules):
        return plan
    return replace(plan, timetable=replace(plan.timetable, zone_rules=found))


def check(plan: Plan, found: ZoneRules | None) -> Iterator[Result]:
    """Yield what the rules that are recorded and those of this build have to do with each other."""
    ours, zone = plan.timetable.zone_rules, plan.timetable.time_zone
    if found is None or ours is None or found.release == ours.release:
        return
    if _agree(found, ours):
        message = (
            f"was built with release {found.release} of the zone data, and {ours.release} says the same of {zone}: "
            "nothing changes"
        )
        yield rules.ZONE_RELEASE.result(message, path=_ZONE, current=zone)
    elif found.release > ours.release:
        message = (
            f"was built with release {found.release} of the zone data, which says other things of {zone} than "
            f"{ours.release} of this builder: renew its package tzdata, or old rules would come back"
        )
        yield rules.ZONE_RULES_OLDER.result(message, path=_ZONE, current=zone)
    else:
        message = (
            f"has other rules in release {ours.release} of the zone data than in {found.release}, with which it was "
            f"built: {_first_difference(found, ours)}"
        )
        yield rules.ZONE_RULES_CHANGED.result(message, path=_ZONE, current=zone)


def _agree(one: ZoneRules, other: ZoneRules | None) -> bool:
    return other is not None and replace(one, release=other.release) == other


def _first_difference(old: ZoneRules, new: ZoneRules) -> str:
    """Name the earliest transition that only one of two has."""
    gone, come = (
        set(old.transitions) - set(new.transitions),
        set(new.transitions) - set(old.transitions),
    )
    differing = sorted(gone | come)
    if not differing:
        return f"{old.rule} became {new.rule}"
    return f"{'no longer' if differing[0] in gone else 'now'} {differing[0]}"
