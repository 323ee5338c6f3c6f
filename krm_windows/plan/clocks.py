"""Whose clock: a policy's time zone on a cluster, and the day that it is there.

Nothing else asks a policy for its zone before it is compiled, and nothing else makes a day of an
instant of now.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from krm_windows.krm import KubeObject
from krm_windows.schedule import zones
from krm_windows.schedule.zones import zone as zone_of


@dataclass(frozen=True, slots=True)
class Today:
    """The day that an instant is in, which is another one in Auckland than in Chicago."""

    at: datetime

    def on(self, zone: tzinfo) -> date:
        """Return the day that clocks of a zone show."""
        return self.at.astimezone(zone).date()

    def years(self) -> range:
        """Return the year that clocks show anywhere: two, for a day at the turn of the year."""
        # No clock is further from UTC (Etc/GMT+12, Pacific/Kiritimati).
        first, last = self.at - timedelta(hours=12), self.at + timedelta(hours=14)
        return range(first.year, last.year + 1)


Day = date | Today
"""A date wherever it is asked for, or the day that it is there."""


def day_on(day: Day, zone: tzinfo) -> date:
    """Return the date that is meant on the clocks of a zone."""
    if isinstance(day, Today):
        return day.on(zone)
    return day


def zone(policy: KubeObject, cluster: str | None = None) -> ZoneInfo:
    """Return the time zone of a policy on a cluster, or of the policy itself, by its text."""
    name = policy.get("spec", "timeZone")
    if cluster is not None:
        name = policy.get("spec", "clusters", cluster, "timeZone") or name
    return named(name)


def named(name: object) -> ZoneInfo:
    """Return the time zone of a name; UTC where it is wrong: whoever loads it reports it."""
    if isinstance(name, str) and name in zones.names():
        return zone_of(name)
    return zone_of("Etc/UTC")


def of_clusters(policy: KubeObject) -> set[ZoneInfo]:
    """Return the time zones of a policy's clusters; its own where it names none."""
    clusters = policy.get("spec", "clusters")
    if not isinstance(clusters, dict) or not clusters:
        return {zone(policy)}
    return {zone(policy, cluster) for cluster in clusters}
