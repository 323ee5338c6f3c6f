"""Whose clock: a policy's time zone on a cluster, and the day that it is there.

Nothing else asks a policy for its zone before it is compiled, and nothing else makes a day of an
instant of now (docs/decisions/0046-now-is-an-instant.md).
"""

from dataclasses import dataclass
from datetime import date, datetime, tzinfo

from krm_windows.gate.zones import Zone
from krm_windows.krm import KubeObject
from krm_windows.plan.zone_rules import zone_of
from krm_windows.schedule import zones


@dataclass(frozen=True, slots=True)
class Today:
    """The day that an instant is in, which is another one in Auckland than in Chicago."""

    at: datetime

    def on(self, zone: tzinfo) -> date:
        """Return the day that clocks of a zone show."""
        return self.at.astimezone(zone).date()


Day = date | Today
"""A date wherever it is asked for, or the day that it is there."""


def day_on(day: Day, zone: tzinfo) -> date:
    """Return the date that is meant on the clocks of a zone."""
    if isinstance(day, Today):
        return day.on(zone)
    return day


def zone(policy: KubeObject, cluster: str | None = None) -> Zone:
    """Return the time zone of a policy on a cluster, or of the policy itself, by its text.

    UTC where it is wrong: whoever loads the policy reports it.
    """
    name = policy.get("spec", "timeZone")
    if cluster is not None:
        name = policy.get("spec", "clusters", cluster, "timeZone") or name
    if isinstance(name, str) and name in zones.names():
        return zone_of(name)
    return zone_of("Etc/UTC")


def of_clusters(policy: KubeObject) -> set[Zone]:
    """Return the time zones of a policy's clusters; its own where it names none."""
    clusters = policy.get("spec", "clusters")
    if not isinstance(clusters, dict) or not clusters:
        return {zone(policy)}
    return {zone(policy, cluster) for cluster in clusters}
