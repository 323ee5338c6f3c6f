"""Overrides in a policy's own text: made for so long, listed with what they are now, taken out."""

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum
from zoneinfo import ZoneInfo

from krm_windows.checks.facts import end_of
from krm_windows.edit.entries import free
from krm_windows.edit.patches import AbsentError, check_cluster, clusters_of, rules_on
from krm_windows.krm import InputError, KubeObject, Value
from krm_windows.plan import clocks
from krm_windows.plan.clocks import Today
from krm_windows.plurals import some
from krm_windows.policy import moments, schedules
from krm_windows.policy.findings import RefusedError
from krm_windows.policy.model import Override, WindowPolicy
from krm_windows.policy.moments import Role
from krm_windows.preview.clock import shown, stamp
from krm_windows.preview.versions import PolicySource
from krm_windows.results import fails
from krm_windows.schedule import wallclock
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Rule, Timetable

STATES = {"open": "Open", "closed": "Closed"}
"""As a person says them, and as the field `state` of a policy does."""
_PREPOSITION = re.compile("(?i)(?:for|until) ")
_UNIT = re.compile(r"(\d) ?([dhm])(?:ay|r|our|in|inute)?s?\b ?")
_PAST = re.compile(r"(last )?([a-z]+day|mon|tue|wed|thu|fri|sat|sun)(?: ([0-9:]+))?")
_CLOCK = re.compile(r"\d?\d:\d\d")
# As this program writes them, and with a blank in place of T.
_SHOWN = re.compile(r"(?:(\w{3}) )?(\d{4}-\d\d-\d\d) (\d.*)")
_DAYS = {"today": timedelta(), "tomorrow": timedelta(days=1)}
_EXAMPLES = "18:00, tomorrow 06:00, Monday 06:00 or 2026-12-24"


class MomentError(InputError):
    """What is no end of an override; `field` is the one of a request that says it."""

    field = "until"


class BeginningError(MomentError):
    """What is no beginning of one."""

    field = "from"


class Phase(StrEnum):
    """Where an override is at an instant."""

    ACTIVE = "active"
    COMING = "coming"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class OverrideRequest:
    """An override as it is asked for: for so long (`length`), or until a moment, never both.

    `state` is one of STATES; without `starts` it begins at once; without a name it gets one of
    state and time; without a cluster it holds on all. It is refused where it would end later than
    `longest` from now.
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
    starts: str | None = None


@dataclass(frozen=True, slots=True)
class ListedOverride:
    """An override as the file has it; `cluster` is None for one of all clusters.

    `begins` is None for one that has always held. Both instants are UTC. Written without an offset,
    it `differs` between the zones of clusters: then `begins` is the first, and `ends` the last.
    One of all clusters is another one, or none, on those of `elsewhere`.
    """

    name: str
    cluster: str | None
    state: str
    begins: datetime | None
    ends: datetime
    phase: Phase
    reason: str
    requested_by: str | None
    ticket: str | None
    zone: ZoneInfo
    differs: bool
    elsewhere: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where it is, in words."""
        if self.cluster is not None or not self.elsewhere:
            return self.cluster or "all clusters"
        return f"all clusters except {some(self.elsewhere, 3)}"

    def record(self) -> dict[str, object]:
        """Return it as JSON says it, instants in UTC."""
        return {
            "name": self.name,
            "cluster": self.cluster,
            "exceptClusters": [*self.elsewhere],
            "state": self.state,
            "begins": self.begins and stamp(self.begins, UTC),
            "ends": stamp(self.ends, UTC),
            "phase": self.phase,
            "reason": self.reason,
            "requestedBy": self.requested_by,
            "ticket": self.ticket,
        }


def minute(at: datetime) -> datetime:
    """Return the full minute that an instant is in: overrides have no seconds."""
    return at.replace(second=0, microsecond=0)


def until(at: datetime, length: timedelta) -> datetime:
    """Return the minute so long after that of an instant: `for 1h` at 04:52:40 is until 05:52."""
    # Its beginning is that minute, too: from one to the other it is what was asked for.
    return minute(at) + length


def free_name(config: KubeObject, entry: dict[str, Value]) -> str:
    """Return a name for an override of a policy that has none: `open-20261123-0321`.

    It is of its state and the beginning as it is written, and nowhere in the policy.
    """
    begins = datetime.fromisoformat(str(entry["starts"]))
    return free(f"{entry['state']}-{begins:%Y%m%d-%H%M}".lower(), dict(named(config)))


def meant(name: str | None, old: KubeObject, new: KubeObject) -> str | None:
    """Return the name of an override; where that is empty, of the one that a change adds."""
    had = dict(named(old))
    return next((each for each, _ in named(new) if each not in had), None) if name == "" else name


def made(config: KubeObject, request: OverrideRequest, at: datetime) -> KubeObject:
    """Return a policy with the override that is asked for at an instant.

    Raises InputError where its name is taken there, or on all clusters or any of them, where the
    two would become one; where it would last too long, or the policy has no such cluster.
    """
    check_cluster(config, request.cluster)
    try:
        found = entry(config, request, at)
    except MomentError as error:
        raise InputError(f"{error.field}: {error}") from None
    name = request.name or free_name(config, found)
    check_name(config, name, request.cluster)
    changed = config.as_read()
    changed.set(found, *_place(request.cluster), name)
    return changed


def check_name(config: KubeObject, name: str, cluster: str | None) -> None:
    """Refuse a name that another override has there; raises InputError."""
    for place in holders(config, name):
        if cluster is None or place in (None, cluster):
            where = place or "all clusters"
            raise InputError(
                f"override {name!r} already exists on {where}: give another name, or end it"
            )


def entry(config: KubeObject, request: OverrideRequest, at: datetime) -> dict[str, Value]:
    """Return what a policy says of an override that is asked for at an instant.

    Raises InputError where it would last too long, and MomentError where it would begin before
    that instant, or end before it begins, or where one of them is no moment.
    """
    zone = zone_of_ends(config, request.cluster)
    # Cron has no seconds, and now is no time on a wall clock: clusters in other zones would begin
    # hours later. So both are instants.
    begins = minute(at)
    if request.starts is not None:
        begins = bound(request.starts, at, at, zone, Role.BEGIN)
    first = max(at, begins)
    ends = until(first, request.length or timedelta())
    if request.until is not None:
        ends = bound(request.until, first, at, zone)
    if request.longest and ends > until(at, request.longest):
        last = _written(until(at, request.longest), zone)
        raise InputError(
            f"an override must end by {last}, got {_written(ends, zone)!r}; for longer, change the "
            "windows"
        )
    found: dict[str, Value] = {
        "state": STATES[request.state],
        "starts": _written(begins, zone),
        "ends": _written(ends, zone),
        "reason": request.reason,
    }
    if request.requested_by:
        found["requestedBy"] = request.requested_by
    if request.ticket:
        found["ticket"] = request.ticket
    return found


def bound(
    text: str, begins: datetime, now: datetime, zone: ZoneInfo, role: Role = Role.END
) -> datetime:
    """Return when an override ends, or begins, as `moment` does.

    Raises MomentError for no moment, one that clocks skip, or a past one.
    """
    wrong, kind = MomentError, "end: give one such as 2h (at most 366 days),"
    if not role.ends:
        wrong, kind = BeginningError, "beginning: give one such as"
    try:
        found = moment(text, begins, zone, role, now)
    except RefusedError:
        raise wrong(f"{text!r} is no {kind} {_EXAMPLES}") from None
    except InputError as error:
        raise wrong(str(error)) from None
    if found < minute(begins) or (role.ends and found <= begins):
        said, there = f"it begins {shown(begins, zone)}", f"is {shown(found, zone)}"
        if found <= now:
            said, there = f"it is now {shown(now, zone)}", f"is over: that was {shown(found, zone)}"
        raise wrong(f"{text!r} {there}, and {said} ({zone.key})")
    return found


def moment(
    text: str,
    at: datetime,
    zone: tzinfo,
    role: Role = Role.END,
    today: datetime | None = None,
) -> datetime:
    """Return the instant of an end, or a beginning, as a person says it at another one.

    `2h`, `for 2 hours`, `until 18:00`, `Monday 06:00`, `tomorrow 06:00`, a date, or a moment with
    an offset or on the clocks of a zone, also as `preview.clock.shown` writes it. A day in words
    begins so, and is no end. `at` is when it begins, and the person says it `today`.
    Raises RefusedError for what is none of them, and InputError for a time that clocks skip.
    """
    words = _PREPOSITION.sub("", " ".join(text.split()))
    if role.ends:
        with suppress(RefusedError):
            # `2 hours`, and `1 h 30 min`.
            return until(at, moments.duration(_UNIT.sub(r"\1\2", words.lower())))
    if _CLOCK.fullmatch(words):
        # The next one, also as a beginning.
        role = Role.END
    if role is Role.BEGIN and words.isalpha():
        words += " 00:00"
    day, _, clock = words.lower().partition(" ")
    if day in _DAYS:
        words = f"{Today(today or at).on(zone) + _DAYS[day]}T{clock}"
    words = _dated(words)
    # `Monday 06:00` is the next one, but nobody means the next match of a schedule.
    found = moments.parse(words, Role.ONCE if schedules.looks_like_one(words) else role).value
    if isinstance(found, Recurrence):
        # There always is one: no other recurrence is written without a schedule.
        found = found.after(wallclock.wall(at, zone)) or at
    if isinstance(found, time):
        found = _next(found, at, zone)
    if found.tzinfo:
        return found
    first = _shown_at(found, at, zone)
    # A day begins at midnight, whatever clocks show then.
    if found.time() != time() and first.astimezone(zone).replace(tzinfo=None) != found:
        raise InputError(f"{text!r} is a time that clocks in {zone} skip")
    return first


def _dated(words: str) -> str:
    """Return `Mon 2026-12-07 06:00` as the moment that it is, and other words as they are."""
    found = _SHOWN.fullmatch(words)
    # With another weekday nobody knows which day is meant.
    if found and found[1] in (None, f"{moments.parse(found[2], Role.ONCE).value:%a}"):
        return f"{found[2]}T{found[3]}".replace(" ", "")
    return words


def past(words: str, now: datetime, zone: ZoneInfo) -> datetime:
    """Return the newest instant that a day and perhaps a time are said of: `Tuesday 14:00`.

    `last Monday` is never today. Raises InputError, or RefusedError, where they name no day.
    """
    found = _PAST.fullmatch(words.lower())
    if found is None:
        raise InputError(f"{words!r} is no day such as Tuesday or yesterday")
    since = now.astimezone(zone)
    last, day, clock = found.groups()
    if day == "yesterday":
        day, since = "today", since - timedelta(days=1)
    elif day != "today":
        since -= timedelta(weeks=1)
    if last:
        since = datetime.combine(since, time(), zone) - timedelta(minutes=1)
    return moment(f"{day} {clock or '00:00'}", since, zone, Role.BEGIN)


def _next(clock: time, begins: datetime, zone: tzinfo) -> datetime:
    """Return the moment at which clocks of a zone first show a time of day after an instant."""
    today = Today(begins).on(zone)
    # A time may be left out today, and the second of two times may be the first to come.
    days = (today + timedelta(days=number) for number in range(3))
    found = (datetime.combine(day, clock) for day in days)
    return next(each for each in found if _shown_at(each, begins, zone) > begins)


def _shown_at(moment: datetime, begins: datetime, zone: tzinfo) -> datetime:
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


def named(config: KubeObject) -> Iterator[tuple[str, str | None]]:
    """Yield the names of a policy's overrides, each with where it is: None is on all clusters."""
    for place in (None, *clusters_of(config)):
        for name in _names(config, place):
            yield name, place


def holders(config: KubeObject, name: str) -> list[str | None]:
    """Return where a policy has an override of a name: None is on all clusters."""
    return [place for found, place in named(config) if found == name]


def ended(config: KubeObject, name: str, places: Collection[str | None]) -> KubeObject:
    """Return a policy without an override at some places; None is the one of all clusters.

    A cluster can be left out of one that goes on elsewhere. Raises AbsentError where one of them
    has none of that name.
    """
    for cluster in places:
        check_cluster(config, cluster)
        names = rules_on(config, "overrides", cluster)
        if name not in names:
            known = f"the policy has {', '.join(names) or 'none'}"
            others = [each for each in holders(config, name) if each]
            if cluster is None and others:
                known = f"it is only on {some(others, 3)}"
            raise AbsentError(f"override {name!r} not found: {known}")
    return _without(config, [(name, cluster) for cluster in places])


def pruned(config: KubeObject, at: datetime) -> KubeObject:
    """Return a policy without the overrides that are over at an instant."""
    over = [each for each in listed(config, at) if each.phase is Phase.OVER]
    return _without(config, [(each.name, each.cluster) for each in over])


def listed(config: KubeObject, at: datetime, cluster: str | None = None) -> list[ListedOverride]:
    """Return the overrides of a policy, those of all clusters first, as they are at an instant.

    With a cluster, those that hold there, with its instants.
    Raises InputError where the policy is wrong: when an override ends is not known then.
    """
    source = PolicySource(config)
    loaded = source.load()
    # None is the policy without what it changes for one cluster.
    places: list[str | None] = [None, *loaded.clusters] if cluster is None else [cluster]
    read = [(name, *loaded.for_cluster(name)) for name in places]
    # No override closes early, so the targets need not be known.
    versions, results = source.compile((name, _at_once(each), found) for name, each, found in read)
    if fails(results):
        raise InputError("; ".join(str(each) for each in results if fails([each])))
    found: dict[tuple[str | None, str], list[tuple[Rule, Timetable]]] = {}
    asked: dict[tuple[str | None, str], Override] = {}
    for (name, policy, _), version in zip(read, versions, strict=True):
        own = _names(config, name)
        for rule in version.timetable.overrides:
            # A cluster has those of all clusters as well, on its own clock.
            key = (name if rule.key in own else None, rule.key)
            found.setdefault(key, []).append((rule, version.timetable))
            if policy is not None:
                asked[key] = policy.spec.overrides[rule.key]
    entries = {each: _entries(config, each) for each in clusters_of(config)}
    every = []
    for (place, name), rules in found.items():
        elsewhere = () if place else tuple(each for each, known in entries.items() if name in known)
        each = as_listed(place, name, asked[place, name], rules, at)
        every.append(replace(each, elsewhere=elsewhere))
    return sorted(every, key=lambda each: each.cluster is not None)


def _at_once(policy: WindowPolicy | None) -> WindowPolicy | None:
    if policy is None:
        return None
    spec = policy.spec.model_copy(update={"closes_early": timedelta()})
    return policy.model_copy(update={"spec": spec})


def as_listed(
    cluster: str | None,
    name: str,
    asked: Override,
    rules: list[tuple[Rule, Timetable]],
    at: datetime,
) -> ListedOverride:
    """Return an override by what it is wherever it holds: it is over when it is over everywhere."""
    rule, timetable = rules[0]
    # Without a beginning it has always held.
    begins = min(
        (
            wallclock.utc(each.begins, there.zone)
            for each, there in rules
            if isinstance(each.begins, datetime)
        ),
        default=None,
    )
    every = {end_of(there, each) for each, there in rules}
    ends = max(every)
    phase = Phase.ACTIVE
    if ends <= at:
        phase = Phase.OVER
    elif begins is not None and at < begins:
        phase = Phase.COMING
    return ListedOverride(
        name,
        cluster,
        rule.state or "",
        begins,
        ends,
        phase,
        rule.reason,
        asked.requested_by,
        asked.ticket,
        timetable.zone,
        differs=len(every) > 1,
    )


def _without(config: KubeObject, overrides: list[tuple[str, str | None]]) -> KubeObject:
    """Return a policy without some overrides, and without the field where none is left."""
    changed = config.as_read()
    everywhere = {name for name, cluster in overrides if cluster is None}
    removed = dict.fromkeys(overrides)
    for place in clusters_of(config):
        for name, entry in _entries(config, place).items():
            if name in everywhere and _rests_on_all(entry):
                removed[name, place] = None
    for name, cluster in removed:
        field = _place(cluster)
        if cluster is not None and name in _entries(config, None) and name not in everywhere:
            # Without an entry of its own, it would be under that of all clusters again.
            changed.set(None, *field, name)
            continue
        changed.remove(*field, name)
        # `overrides: {}` would be left behind.
        if changed.get(*field) == {}:
            changed.remove(*field)
    return changed


def _rests_on_all(entry: Value) -> bool:
    """Whether what a cluster has of an override only changes that of all, or leaves it out."""
    return not isinstance(entry, dict) or not {"state", "ends", "reason"} <= entry.keys()


def _place(cluster: str | None) -> tuple[str, ...]:
    if cluster is None:
        return ("spec", "overrides")
    return ("spec", "clusters", cluster, "overrides")


def _entries(config: KubeObject, cluster: str | None) -> dict[str, Value]:
    """Return the overrides as the file has them at one place; null leaves out one of all."""
    entries = config.get(*_place(cluster))
    return entries if isinstance(entries, dict) else {}


def _names(config: KubeObject, cluster: str | None) -> list[str]:
    return [name for name, entry in _entries(config, cluster).items() if entry is not None]
