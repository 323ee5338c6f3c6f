"""What `-o json` says: values of plain types, with instants as RFC 3339 writes them."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from krm_windows.gate.timetable import Decision
from krm_windows.preview.calendar import Calendar
from krm_windows.preview.clock import stamp, stamp_or_none
from krm_windows.preview.difference import ChangedPeriod, Difference
from krm_windows.preview.exceptions import RuleInForce, spans
from krm_windows.schedule import zones
from krm_windows.schedule.timetable import Timetable

Record = dict[str, object]


def calendar(of: Calendar) -> Record:
    """Return a calendar; intervals are half open.

    Null is where one begins or ends that is open before the range, or after it.
    """
    before, after = of.is_open_before, of.is_open_after
    return {
        "policy": of.timetable.policy,
        "cluster": of.timetable.cluster,
        # The name in the IANA database, and the release by which it was read: `Europe/Berlin`,
        # `2026b`.
        "timeZone": of.zone.key,
        "zoneRelease": zones.release(),
        # With the offset of the policy's zone, so that a reader sees its wall clock:
        # `2026-12-14T08:00:00+01:00`.
        "from": stamp(of.begins, of.zone),
        "until": stamp(of.ends, of.zone),
        "intervals": [
            {
                "opens": None
                if before and each.begins == of.begins
                else stamp(each.begins, of.zone),
                "closes": None if after and each.ends == of.ends else stamp(each.ends, of.zone),
                "rules": list(each.rules),
            }
            for each in of.intervals
        ],
        # Whatever wins: an override may open what a freeze closes.
        "exceptions": [
            _exception(each, of.zone) for each in spans(of.timetable, of.begins, of.ends)
        ],
    }


def judged(timetable: Timetable, decision: Decision, at: datetime) -> Record:
    """Return which policy is judged, for which instant, and the desired state then."""
    tz = timetable.zone
    return {
        "policy": timetable.policy,
        "cluster": timetable.cluster,
        "timeZone": tz.key,
        "at": stamp(at, tz),
        "desired": state(decision, tz),
    }


def calendars(every: Sequence[Calendar]) -> list[Record]:
    """Return several calendars."""
    return [calendar(one) for one in every]


def difference(of: Difference) -> Record:
    """Return what a change opens and closes, with the rules that decided before and now."""
    return {
        "policy": of.policy,
        "cluster": of.cluster,
        "timeZone": of.zone.key,
        "from": stamp(of.begins, of.zone),
        "until": stamp(of.ends, of.zone),
        "opens": [_change(change, of.zone) for change in of.changes if change.opens],
        "closes": [_change(change, of.zone) for change in of.changes if not change.opens],
    }


def state(decision: Decision, zone: tzinfo) -> Record:
    """Return what holds at an instant.

    `since` and `until` are None where they are more than 400 days away.
    """
    return {
        "open": decision.open,
        # Several rules may decide together, as windows that overlap do.
        "rule": ", ".join(decision.rules) or None,
        "reason": decision.reason,
        "since": stamp_or_none(decision.since, zone),
        "until": stamp_or_none(decision.until, zone),
    }


def _exception(each: RuleInForce, zone: tzinfo) -> Record:
    return {
        "rule": each.rule.name,
        "kind": each.kind,
        "reason": each.rule.reason or None,
        "from": stamp(each.begins, zone),
        "until": stamp(each.ends, zone),
    }


def _change(change: ChangedPeriod, zone: tzinfo) -> Record:
    return {
        "from": stamp(change.begins, zone),
        # Null where it goes on after the range.
        "until": None if change.goes_on else stamp(change.ends, zone),
        # `rules` are those of the new policy, `instead` those of the old.
        "rules": list(change.now),
        "instead": list(change.was),
    }
