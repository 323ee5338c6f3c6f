"""What `history` and `simulate` say to programs: plain values, instants as RFC 3339 writes them."""

from datetime import datetime, timedelta, tzinfo

from krm_windows.history.account import Account, Override, Stretch
from krm_windows.history.revisions import Revision
from krm_windows.history.simulation import Simulation, Wait
from krm_windows.preview.clock import stamp, stamp_or_none
from krm_windows.preview.records import Record
from krm_windows.schedule import zones


def account(of: Account) -> Record:
    """Return the account; intervals are half open and clipped to its time."""
    zone = of.zone
    return {
        "policy": of.last.policy,
        "cluster": of.last.cluster,
        "file": of.path,
        "head": of.head,
        "timeZone": zone.key,
        # With other rules of the zone the same policy may have been open at other times.
        "zoneRelease": zones.release(),
        **_interval(of.begins, of.ends, zone),
        # As seconds, since a program adds them up.
        "openSeconds": _seconds(of.open_for),
        "withoutPolicySeconds": _seconds(of.without),
        "versions": [_version(each, zone) for each in of.revisions],
        "inForce": [_stretch(each, zone) for each in of.stretches],
        "open": [
            {
                "opens": stamp(each.begins, zone),
                "closes": stamp(each.ends, zone),
                "rules": list(each.rules),
                "commit": each.revision.commit.name,
            }
            for each in of.openings
        ],
        "overrides": [_override(each, zone) for each in of.overrides],
    }


def _interval(begins: datetime, ends: datetime, zone: tzinfo) -> Record:
    return {"from": stamp(begins, zone), "until": stamp(ends, zone)}


def _version(each: Revision, zone: tzinfo) -> Record:
    return {
        **_commit(each, zone),
        "subject": each.commit.subject,
        "file": each.path,
        # `InForce`, `Unreadable`, `Gone` or `OtherCluster`.
        "state": each.state.value,
        "clockBehind": each.behind,
        "problems": list(each.problems),
        # The object that Git has, and what any other tool can compute of the file.
        "blob": each.blob,
        "sha256": each.digest,
    }


def _commit(each: Revision, zone: tzinfo) -> Record:
    return {
        "commit": each.commit.name,
        "author": each.commit.author,
        "at": stamp(each.at, zone),
    }


def _stretch(each: Stretch, zone: tzinfo) -> Record:
    # Null where there was no policy.
    commit = None if each.revision is None else each.revision.commit.name
    return {**_interval(each.begins, each.ends, zone), "commit": commit}


def _override(each: Override, zone: tzinfo) -> Record:
    return {
        "name": each.rule.key,
        # Null where it is no cluster's alone.
        "cluster": each.cluster,
        "state": each.rule.state,
        "reason": each.rule.reason,
        # Null where the override does not say it.
        "requestedBy": each.request.requested_by,
        "ticket": each.request.ticket,
        "made": _commit(each.made, zone),
        # Null while it is still there at the end of the time.
        "ended": None if each.ended is None else _commit(each.ended, zone),
        "inForce": [_interval(*span, zone) for span in each.spans],
    }


def simulation(of: Simulation) -> Record:
    """Return a simulation with every change that waited."""
    # Null where there is none, and not an object of nulls.
    largest = None
    if of.openings:
        opens, number = of.openings[0]
        largest = {"opens": stamp(opens, of.zone), "changes": number}
    return {
        "policy": of.timetable.policy,
        "cluster": of.timetable.cluster,
        "timeZone": of.timetable.time_zone,
        **_interval(of.begins, of.ends, of.zone),
        "changes": len(of.changes),
        "atOnce": len(of.changes) - len(of.waits),
        "waited": len(of.waits),
        # Those that never came in are among the pending ones.
        "pending": of.pending,
        "withoutOpening": of.never,
        # Of those that waited and came in: to the next opening, also one after the period.
        "waitSeconds": {
            "median": _seconds(of.median),
            "percentile95": _seconds(of.percentile(95)),
            "longest": _seconds(of.percentile(100)),
            "total": _seconds(sum(of.lengths, timedelta())),
        },
        "openings": len(of.openings),
        "largestOpening": largest,
        "months": [
            {
                "month": each.title,
                "changes": each.changes,
                "waited": each.waited,
                "totalSeconds": _seconds(each.total),
            }
            for each in of.months
        ],
        "waits": [_wait(wait, of.zone) for wait in of.waits],
    }


def _wait(wait: Wait, zone: tzinfo) -> Record:
    change = wait.change
    return {
        "commit": change.commit,
        "subject": change.subject,
        "author": change.author,
        "offered": stamp(change.at, zone),
        "opens": stamp_or_none(wait.opens, zone),
        "seconds": _seconds(wait.length),
    }


# Null is what never came, or what nothing can be said of.
def _seconds(length: timedelta | None) -> int | None:
    return None if length is None else int(length.total_seconds())
