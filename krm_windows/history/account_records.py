"""What `history` says to programs, as JSON."""

from krm_windows.history.account import Account, Opening, Override, Stretch
from krm_windows.history.revisions import Revision
from krm_windows.preview.clock import stamp
from krm_windows.preview.records import Record
from krm_windows.schedule import zones


def account(of: Account) -> Record:
    """Return the account; intervals are half open and clipped to its time."""
    return {
        "policy": of.policy,
        "cluster": of.cluster,
        "file": of.path,
        "head": of.head,
        "timeZone": of.zone.key,
        # With other rules of the zone the same policy may have been open at other times.
        "zoneRelease": zones.release(),
        "from": stamp(of.begins, of.zone),
        "until": stamp(of.ends, of.zone),
        # As seconds, since a program adds them up.
        "openSeconds": int(of.open_for.total_seconds()),
        "withoutPolicySeconds": int(of.without.total_seconds()),
        "versions": [_version(each, of) for each in of.revisions],
        "inForce": [_stretch(each, of) for each in of.stretches],
        "open": [_opening(each, of) for each in of.openings],
        "overrides": [_override(each, of) for each in of.overrides],
    }


def _version(each: Revision, of: Account) -> Record:
    return {
        **_commit(each, of),
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


def _commit(each: Revision, of: Account) -> Record:
    return {
        "commit": each.commit.name,
        "author": each.commit.author,
        "at": stamp(each.at, of.zone),
    }


def _stretch(each: Stretch, of: Account) -> Record:
    # Null where there was no policy.
    commit = None
    if each.revision is not None:
        commit = each.revision.commit.name
    return {
        "from": stamp(each.begins, of.zone),
        "until": stamp(each.ends, of.zone),
        "commit": commit,
    }


def _opening(each: Opening, of: Account) -> Record:
    return {
        "opens": stamp(each.begins, of.zone),
        "closes": stamp(each.ends, of.zone),
        "rules": list(each.rules),
        "commit": each.revision.commit.name,
    }


def _override(each: Override, of: Account) -> Record:
    # Null while it is still there at the end of the time.
    ended = None
    if each.ended is not None:
        ended = _commit(each.ended, of)
    return {
        "name": each.rule.key,
        "state": each.rule.state,
        "reason": each.rule.reason,
        # Null where the override does not say it.
        "requestedBy": each.request.requested_by,
        "ticket": each.request.ticket,
        "made": _commit(each.made, of),
        "ended": ended,
        "inForce": [
            {
                "from": stamp(begins, of.zone),
                "until": stamp(ends, of.zone),
            }
            for begins, ends in each.spans
        ],
    }
