"""The timetable that the gate follows: made of a policy's rules, and written as JSON."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from functools import lru_cache

from krm_windows.gate import timetable as gate
from krm_windows.gate.timetable import FORMAT_VERSION, Target
from krm_windows.schedule import table, wallclock, zones
from krm_windows.schedule.table import Made, TooLargeError
from krm_windows.schedule.timetable import Timetable

# The years that a table covers: from 400 days before the year of the release, so that what is
# under way when a cluster is upgraded has its beginning, to the end of the tenth year after it.
RELEASED = 2026
_FIRST = date(RELEASED, 1, 1).toordinal() - 400
FIRST_DAY = date.fromordinal(_FIRST).replace(day=1)
LAST_DAY = date(RELEASED + 10, 12, 31)
# Characters of a table's dates as they ship, with the reasons of its rules.
_MOST_DATED = 64_000
# Names of rules in a table that is being made: one with more is not worked out to its end.
_MOST_NAMED = 200_000
COVERED = range(FIRST_DAY.toordinal(), LAST_DAY.toordinal() + 1)


def ends_soon(at: datetime) -> str:
    """Say within two years of the table's end that it ends; empty before."""
    if at.date() < LAST_DAY.replace(year=LAST_DAY.year - 2):
        return ""
    return f"worked out up to {LAST_DAY}, and nothing opens then: render it with a newer release"


def shipped(timetable: Timetable) -> gate.Timetable:
    """Return what the gate follows; raise `LookupError` for an unknown zone."""
    zone = zones.zone(timetable.time_zone)
    until = timetable.adopt_until
    return gate.Timetable(
        policy=timetable.policy,
        time_zone=timetable.time_zone,
        clocks=clocks(timetable.time_zone),
        table=covered(timetable).table,
        reasons=timetable.reasons,
        cluster=timetable.cluster,
        state=timetable.state,
        first_apply=timetable.first_apply,
        adopt_until=until and wallclock.utc(until, zone),
        former_names=timetable.former_names,
        targets=timetable.targets,
        released=timetable.released,
    )


def covered(timetable: Timetable) -> Made:
    """Return the table of the years that this release covers.

    Raises `LookupError` for an unknown zone, and `TooLargeError` for more than it can ship.
    """
    return _covered(table.rules_of(timetable))


# A fleet has some hundred policies that differ in their hours, and asks for each cluster's in turn:
# one more than are kept, and none would be found again. Each takes some 70 kB.
@lru_cache(maxsize=512)
def _covered(rules: Timetable) -> Made:
    made = table.make(rules, zones.zone(rules.time_zone), COVERED, _MOST_NAMED)
    if made.table == made.usual:
        return made
    if len(json.dumps([table.rows(made)["dates"], rules.reasons])) > _MOST_DATED:
        raise TooLargeError(
            f"dates and reasons would take more than {_MOST_DATED:,} characters of the table of "
            "days, the most that ships: remove freezes, overrides and dated windows that are over "
            "or years ahead, or shorten the reasons"
        )
    return made


def dump(timetable: Timetable) -> dict[str, object]:
    """Return the JSON form of what `shipped` gives, defaults left out.

    Only the order of targets may be another one: those of one kind come back together.
    """
    made = shipped(timetable)
    form = {
        "formatVersion": FORMAT_VERSION,
        "policy": made.policy,
        "cluster": made.cluster,
        "state": made.state,
        "firstApply": made.first_apply,
        "adoptUntil": made.adopt_until and _instant(made.adopt_until),
        "formerNames": list(made.former_names),
        "timeZone": made.time_zone,
        "clocks": list(made.clocks),
        "reasons": made.reasons,
        **table.rows(covered(timetable)),
        "targets": _kinds(made.targets),
        "released": _kinds(made.released),
    }
    usual = {"state": "Scheduled", "firstApply": "Allow"}
    return {key: value for key, value in form.items() if value and value != usual.get(key)}


@lru_cache(maxsize=64)
def clocks(time_zone: str) -> tuple[str, ...]:
    """Return since when the clocks of a zone show what, in the years of the table."""
    zone = zones.zone(time_zone)
    begins = datetime.fromordinal(COVERED.start).replace(tzinfo=UTC)
    found = []
    for since in (begins, *map(wallclock.at, wallclock.changes(zone, COVERED))):
        shown = since.astimezone(zone)
        found.append(f"{_instant(since)} {shown.isoformat()[-6:]} {shown.tzname()}")
    return tuple(found)


def _instant(at: datetime) -> str:
    # Python writes +00:00, Kubernetes Z.
    return at.isoformat(timespec="minutes").replace("+00:00", "Z")


def _kinds(targets: Iterable[Target]) -> list[dict[str, object]]:
    """Return targets by their kinds, and the names in each namespace.

    An object has 1 MiB, and a name 253 characters. `objects` are lists of a namespace and the
    names in it.
    """
    found: dict[Target, dict[str, list[str]]] = {}
    for target in targets:
        kind = target._replace(namespace="", name="")
        namespaces = found.setdefault(kind, {})
        namespaces.setdefault(target.namespace, []).append(target.name)
    return [_kind(kind, names) for kind, names in found.items()]


def _kind(kind: Target, names: Mapping[str, list[str]]) -> dict[str, object]:
    form: dict[str, object] = {"group": kind.group, "resource": kind.resource, "kind": kind.kind}
    if kind.version:
        form["version"] = kind.version
    if kind.field != ("spec", "suspend"):
        form["field"] = list(kind.field)
    if kind.applied:
        form["applied"] = list(kind.applied)
    objects = [[namespace, *names[namespace]] for namespace in names]
    return {**form, "objects": objects}
