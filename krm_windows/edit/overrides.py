"""Overrides in a policy's own text: made for so long, listed with what they are now, taken out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from krm_windows.checks.facts import end_of
from krm_windows.edit.patches import AbsentError, check_cluster
from krm_windows.krm import InputError, KubeObject, Value
from krm_windows.plan import clocks
from krm_windows.plan.clocks import Today
from krm_windows.policy import moments
from krm_windows.policy.findings import RefusedError
from krm_windows.policy.moments import Role
from krm_windows.preview.clock import stamp
from krm_windows.preview.versions import Source
from krm_windows.results import Result, fails
from krm_windows.schedule import wallclock
from krm_windows.schedule.timetable import Rule, Timetable

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
    holds on all. It is refused where it would hold for more than `longest`.
    """

    state: str
    reason: str
    length: timedelta | None = None
    until: str | None = None
    ticket: str | None = None
    requested_by: str | None = None
    name: str | None = None
    cluster: str | None = None
    longest: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """An override as the file has it; `cluster` is None for one of all clusters.

    `begins` is None for one that has always held. Both instants are UTC. Written without an offset,
    they differ between the zones of clusters: then `begins` is the first, `ends` the last, and
    `zone` None.
    """

    name: str
    cluster: str | None
    state: str
    begins: datetime | None
    ends: datetime
    phase: Phase
    reason: str
    zone: ZoneInfo | None

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


def spoken_end(policy: KubeObject, wanted: Wanted) -> str:
    """Say in which zone an end without an offset was read, where clusters have several."""
    text = wanted.until
    ends = policy.get(*_path(wanted.name or "", wanted.cluster), "ends")
    # Several zones, and an end that is not as it was typed.
    if wanted.cluster or text in (None, ends) or len(clocks.of_clusters(policy)) == 1:
        return ""
    zone = clocks.zone(policy)
    return (
        f"{text} in the policy's time zone, {zone.key}: {ends} on every cluster, whatever its own "
        "zone; for another instant give --until with an offset\n"
    )


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

    Raises InputError where its name is taken, it would last too long, or the policy has no such
    cluster.
    """
    zone = zone_of_ends(config, wanted.cluster)
    starts, ends = _bounds(wanted, at, zone)
    if wanted.longest is not None:
        _check_length(ends, until(at, wanted.longest), zone)
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


def _bounds(wanted: Wanted, now: datetime, zone: ZoneInfo) -> tuple[str, str]:
    """Return beginning and end as the policy is to have them: instants, the same everywhere.

    Now is no time on a wall clock: clusters in other zones would begin hours later.
    """
    # Cron has no seconds: an override begins at a full minute.
    begins = minute(now)
    if wanted.length is not None:
        return _written(begins, zone), _written(until(now, wanted.length), zone)
    return _written(begins, zone), end(wanted.until or "", begins, zone)


def _check_length(ends: str, last: datetime, zone: ZoneInfo) -> None:
    """Refuse an end that is later than an instant."""
    try:
        found = moments.parse(ends, Role.ONCE_END).value
    except RefusedError:
        # A policy with it is refused, in the words of whoever reads it.
        return
    if isinstance(found, datetime) and wallclock.utc(found, zone) > last:
        raise InputError(
            f"an override must end by {_written(last, zone)}, got {ends!r}; for longer, change "
            "the windows"
        )


def end(text: str, begins: datetime, zone: ZoneInfo) -> str:
    """Return the instant at which what begins at another one ends, with an offset.

    A time of day, a date, or a time without an offset is one on the clocks of a zone. What is none
    of them is returned as it is: a policy with it is refused, which says what must be there.
    """
    try:
        found = moments.parse(text, Role.ONCE_END).value
    except RefusedError:
        return text
    if isinstance(found, time):
        return _written(_next(found, begins, zone), zone)
    # What has an offset stays as it was typed; recurrences are refused above.
    if isinstance(found, datetime) and found.tzinfo is None:
        return _written(_shown_at(found, begins, zone), zone)
    return text


def _next(clock: time, begins: datetime, zone: ZoneInfo) -> datetime:
    """Return the first instant after another one at which clocks of a zone show a time of day."""
    today = Today(begins).on(zone)
    # A time may be left out today, and the second of two times may be the first to come.
    days = (today + timedelta(days=number) for number in range(3))
    found = (_shown_at(datetime.combine(day, clock), begins, zone) for day in days)
    return next(at for at in found if at > begins)


def _shown_at(moment: datetime, begins: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant at which clocks of a zone show a moment.

    Of a moment that they show twice it is the second one where the first is over.
    """
    first = wallclock.instant(moment, zone)
    again = moment.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if first <= begins < again and again.astimezone(zone).replace(tzinfo=None) == moment:
        return again
    return first


def _written(at: datetime, zone: ZoneInfo) -> str:
    """Write a full minute with the offset of a zone, so that a reader there sees their clock."""
    return at.astimezone(zone).isoformat(timespec="minutes")


def zone_of_ends(policy: KubeObject, cluster: str | None) -> ZoneInfo:
    """Return the time zone that `18:00` is meant in.

    That of the cluster, or of all; where clusters have several, that of the policy.
    """
    if cluster is not None:
        return clocks.zone(policy, cluster)
    found = clocks.of_clusters(policy)
    if len(found) == 1:
        return found.pop()
    return clocks.zone(policy)


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


def listed(config: KubeObject, at: datetime, cluster: str | None = None) -> list[Listed]:
    """Return the overrides of a policy, those of all clusters first, as they are at an instant.

    With a cluster, those that hold there, with its instants.
    Raises PolicyError where the policy is wrong: when an override ends is not known then.
    """
    source = Source(config, [])
    loaded = source.load()
    # None is the policy without what it changes for one cluster.
    places: list[str | None] = [None, *loaded.clusters]
    asked = places if cluster is None else [cluster]
    versions, results = source.compile((name, *loaded.for_cluster(name)) for name in asked)
    errors = [result for result in results if fails([result])]
    if errors:
        raise PolicyError(errors)
    own = {place: set(_names(config, place)) for place in asked}
    rules: dict[tuple[str | None, str], list[_Dated]] = {}
    for name, version in zip(asked, versions, strict=True):
        timetable = version.timetable
        for rule in timetable.overrides:
            # A cluster has those of all clusters as well, on its own clock.
            place = name if rule.key in own[name] else None
            rules.setdefault((place, rule.key), []).append(_dated(rule, timetable))
    # Those of all clusters first, then by cluster, as the file has them.
    every = sorted(rules.items(), key=lambda each: places.index(each[0][0]))
    return [_listed(key, place, dated, at) for (place, key), dated in every]


@dataclass(frozen=True, slots=True)
class _Dated:
    """A rule of a timetable and the instants at which it begins and ends there."""

    rule: Rule
    begins: datetime | None
    ends: datetime
    zone: ZoneInfo

    def is_active(self, at: datetime) -> bool:
        return at < self.ends and (self.begins is None or self.begins <= at)


def _dated(rule: Rule, timetable: Timetable) -> _Dated:
    begins = None
    # Without a beginning it has always held.
    if isinstance(rule.begins, datetime):
        begins = wallclock.utc(rule.begins, timetable.zone)
    return _Dated(rule, begins, end_of(timetable, rule), timetable.zone)


def _listed(name: str, cluster: str | None, dated: list[_Dated], at: datetime) -> Listed:
    """Return an override by what it is wherever it holds: it is over when it is over everywhere."""
    first = dated[0]
    begins = first.begins
    if begins is not None:
        begins = min(each.begins for each in dated if each.begins is not None)
    ends = max(each.ends for each in dated)
    phase = Phase.COMING
    if ends <= at:
        phase = Phase.OVER
    elif any(each.is_active(at) for each in dated):
        phase = Phase.ACTIVE
    zone: ZoneInfo | None = first.zone
    if len({(each.begins, each.ends) for each in dated}) > 1:
        zone = None
    return Listed(
        name, cluster, first.rule.state or "", begins, ends, phase, first.rule.reason, zone
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
