"""Overrides in a policy's own text: made for so long, listed with what they are now, taken out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum

from krm_windows.checks.facts import end_of
from krm_windows.edit.patches import AbsentError, check_cluster
from krm_windows.gate import wallclock
from krm_windows.gate.timetable import Timetable
from krm_windows.gate.zones import Zone
from krm_windows.krm import InputError, KubeObject, Value
from krm_windows.preview.clock import stamp
from krm_windows.preview.versions import Source
from krm_windows.results import Result, fails
from krm_windows.schedule import zones

STATES = {"open": "Open", "closed": "Closed"}
"""As a person says them, and as the field `state` of a policy does."""
_MINUTE = timedelta(minutes=1)
_FIELD = "overrides"


class Phase(StrEnum):
    """Where an override is at an instant."""

    COMING = "coming"
    ACTIVE = "active"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Wanted:
    """An override as it is asked for: for so long (`length`), or until a moment, never both.

    `state` is one of STATES; without a name it gets one of state and time; without a cluster it
    holds on all.
    """

    state: str
    reason: str
    length: timedelta | None = None
    until: str | None = None
    ticket: str | None = None
    requested_by: str | None = None
    name: str | None = None
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """An override as the file has it; `cluster` is None for one of all clusters.

    `begins` is None for one that has always held. Both instants are UTC; `zone` is that of the
    policy, or of its cluster.
    """

    name: str
    cluster: str | None
    state: str
    begins: datetime | None
    ends: datetime
    phase: Phase
    reason: str
    zone: Zone

    @property
    def path(self) -> tuple[str, ...]:
        """Where the file has it."""
        return _path(self.name, self.cluster)

    def record(self) -> dict[str, object]:
        """Return it as JSON says it, instants in UTC."""
        begins = None
        if self.begins is not None:
            begins = stamp(self.begins, UTC)
        return {
            "name": self.name,
            "cluster": self.cluster,
            "state": self.state,
            "begins": begins,
            "ends": stamp(self.ends, UTC),
            "phase": self.phase,
            "reason": self.reason,
        }


class PolicyError(InputError):
    """The policy itself is wrong; `results` say in what."""

    def __init__(self, results: Sequence[Result]) -> None:
        super().__init__("; ".join(map(str, results)))
        self.results = results


def minute(at: datetime) -> datetime:
    """Return the full minute that an instant is in: overrides have no seconds."""
    return at.replace(second=0, microsecond=0)


def until(at: datetime, length: timedelta) -> datetime:
    """Return the full minute at which so much time has passed since an instant, none cut off."""
    begun = minute(at)
    # Rounded up, so that it lasts at least as long as was asked for.
    if begun < at:
        begun += _MINUTE
    return begun + length


def default_name(state: str, at: datetime) -> str:
    """Return the name of an override that was given none: `open-20261123-0221`, in UTC."""
    return f"{state.lower()}-{at:%Y%m%d-%H%M}"


def made(config: KubeObject, wanted: Wanted, at: datetime) -> KubeObject:
    """Return a policy with the override that is asked for at an instant.

    Raises InputError where its name is taken, or the policy has no such cluster.
    """
    starts, ends = _bounds(wanted, at, _zone(config))
    entry: dict[str, Value] = {
        "state": STATES[wanted.state],
        "starts": starts,
        "ends": ends,
        "reason": wanted.reason,
    }
    if wanted.requested_by:
        entry["requestedBy"] = wanted.requested_by
    if wanted.ticket:
        entry["ticket"] = wanted.ticket
    name = wanted.name or default_name(wanted.state, at)
    return added(config, name, wanted.cluster, entry)


def _bounds(wanted: Wanted, now: datetime, zone: tzinfo) -> tuple[str, str]:
    """Return beginning and end as the policy is to have them.

    What ends at an instant begins at one; what ends on the wall clock (`18:00`, a date) begins
    there, too, as a time of day counts from the beginning.
    """
    # Cron has no seconds: an override begins at a full minute.
    begins = minute(now).astimezone(zone)
    if wanted.length is not None:
        ends = until(now, wanted.length).astimezone(zone)
        return _written(begins), _written(ends)
    ends_at = wanted.until or ""
    # An offset such as `+01:00` says which instant it is, so it can stand in the policy as it is.
    if _is_instant(ends_at):
        return _written(begins), ends_at
    # Without an offset, as in `2026-12-24T20:00`: the policy's zone says which instant that is.
    return _written(begins.replace(tzinfo=None)), ends_at


def _is_instant(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _written(at: datetime) -> str:
    """Write a full minute: with an offset, the reader's own, where it is an instant."""
    return at.isoformat(timespec="minutes")


def _zone(policy: KubeObject) -> tzinfo:
    """Return the policy's time zone; UTC where it is wrong, which is found when it is audited."""
    name = policy.get("spec", "timeZone")
    if isinstance(name, str) and name in zones.names():
        return zones.zone(name)
    return zones.zone("Etc/UTC")


def added(
    config: KubeObject,
    name: str,
    cluster: str | None,
    entry: dict[str, Value],
) -> KubeObject:
    """Return a policy with one override more; raises InputError where its name is taken."""
    check_cluster(config, cluster)
    path = _path(name, cluster)
    if config.get(*path) is not None:
        raise InputError(f"override {name!r} already exists: use another --name, or --end it")
    changed = config.as_read()
    changed.set(entry, *path)
    return changed


def ended(
    config: KubeObject,
    name: str,
    cluster: str | None,
) -> KubeObject:
    """Return a policy without an override; raises AbsentError where there is none of that name."""
    check_cluster(config, cluster)
    path = _path(name, cluster)
    if config.get(*path) is None:
        known = ", ".join(_names(config, cluster)) or "the policy has none"
        elsewhere = "".join(f"; cluster {each} has it" for each in _having(config, name, cluster))
        raise AbsentError(f"override {name!r} not found: {known}{elsewhere}")
    return _without(config, [path])


def pruned(config: KubeObject, at: datetime) -> KubeObject:
    """Return a policy without the overrides that are over at an instant."""
    overrides = listed(config, at)
    over = [each.path for each in overrides if each.phase is Phase.OVER]
    return _without(config, over)


def listed(config: KubeObject, at: datetime) -> list[Listed]:
    """Return the overrides of a policy, those of all clusters first, as they are at an instant.

    Raises PolicyError where the policy is wrong: when an override ends is not known then.
    """
    source = Source(config, [])
    loaded = source.load()
    # None is the policy without what it changes for one cluster.
    places: list[str | None] = [None, *loaded.clusters]
    versions, results = source.compile((name, *loaded.for_cluster(name)) for name in places)
    errors = [result for result in results if fails([result])]
    if errors:
        raise PolicyError(errors)
    found: list[Listed] = []
    for cluster, version in zip(places, versions, strict=True):
        names = set(_names(config, cluster))
        found += _listed(version.timetable, cluster, names, at)
    return found


def _listed(
    timetable: Timetable,
    cluster: str | None,
    names: set[str],
    at: datetime,
) -> Iterator[Listed]:
    """Yield those overrides of a timetable that the policy's text has at one place."""
    for rule in timetable.overrides:
        # A cluster has those of all clusters as well, which are listed there.
        if rule.key not in names:
            continue
        begins = None
        # Without a beginning it has always held.
        if isinstance(rule.begins, datetime):
            begins = wallclock.utc(rule.begins, timetable.zone)
        ends = end_of(timetable, rule)
        phase = Phase.ACTIVE
        if ends <= at:
            phase = Phase.OVER
        elif begins is not None and at < begins:
            phase = Phase.COMING
        yield Listed(
            rule.key,
            cluster,
            rule.state or "",
            begins,
            ends,
            phase,
            rule.reason,
            timetable.zone,
        )


def _having(config: KubeObject, name: str, cluster: str | None) -> list[str]:
    """Return the clusters, but for one, that have an override of their own of that name."""
    clusters = config.get("spec", "clusters")
    if not isinstance(clusters, dict):
        return []
    return [each for each in clusters if each != cluster and name in _names(config, each)]


def _without(config: KubeObject, paths: list[tuple[str, ...]]) -> KubeObject:
    """Return a policy without some overrides, and without the field where none is left."""
    changed = config.as_read()
    for path in paths:
        changed.remove(*path)
        # `overrides: {}` would be left behind.
        field = path[:-1]
        if changed.get(*field) == {}:
            changed.remove(*field)
    return changed


def _path(name: str, cluster: str | None) -> tuple[str, ...]:
    return (*_place(cluster), name)


def _place(cluster: str | None) -> tuple[str, ...]:
    if cluster is None:
        return ("spec", _FIELD)
    return ("spec", "clusters", cluster, _FIELD)


def _names(config: KubeObject, cluster: str | None) -> list[str]:
    """Return the names of the overrides at one place, without those that are taken out by null."""
    entries = config.get(*_place(cluster))
    if not isinstance(entries, dict):
        return []
    return [name for name, entry in entries.items() if entry is not None]
