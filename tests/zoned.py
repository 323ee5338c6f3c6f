"""Timetables made by hand: with the rules of their time zone, as the compiler fills them in."""

from krm_windows.gate.timetable import Timetable
from krm_windows.gate.zones import Zone
from krm_windows.plan import zone_rules

# The laws hold for clock changes that are past, too: there are more kinds of them than are to come.
SINCE = 2001


def timetable(policy: str = "a/b", time_zone: str = "UTC", **fields: object) -> Timetable:
    """Make a timetable whose zone has the rules of the tzdata package."""
    return Timetable(
        policy=policy, time_zone=time_zone, zone_rules=zone_rules.make(time_zone, SINCE), **fields
    )


def moved(held: Timetable, time_zone: str) -> Timetable:
    """Give the same timetable in another time zone."""
    return held._replace(time_zone=time_zone, zone_rules=zone_rules.make(time_zone, SINCE))


def zone(name: str) -> Zone:
    """Give a zone by such rules."""
    return zone_rules.zone_of(name, SINCE)
