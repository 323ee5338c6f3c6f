"""What `history` says to programs: as JSON, and as a statement that can be signed.

The statement is one of in-toto (in-toto/attestation, spec/v1/statement.md): its subjects are the
contents of the policy's file, by digest, and what it says of them is the account.
"""

from collections.abc import Iterable, Sequence

from krm_windows.history.account import Account, Opening, Override, Stretch
from krm_windows.history.revisions import Revision
from krm_windows.preview.clock import stamp
from krm_windows.preview.records import Record
from krm_windows.schedule import zones

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://krm-windows.dev/attestations/open-hours/v1"
"""The type of what the statement says; another form of it has another number."""
FLEET_PREDICATE = "https://krm-windows.dev/attestations/open-hours-of-clusters/v1"
"""The same of several clusters: `clusters` is a list of what the other one says of one."""


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


def statement(of: Account) -> Record:
    """Return the statement about the contents of the versions, to be signed by whoever likes."""
    return _statement([of], PREDICATE, account(of))


def fleet_statement(every: Sequence[Account]) -> Record:
    """Return one statement about several clusters, whose accounts are in a list."""
    return _statement(every, FLEET_PREDICATE, {"clusters": [account(of) for of in every]})


def _statement(every: Iterable[Account], kind: str, predicate: Record) -> Record:
    # Two versions of one content are one subject, by the first of them.
    subjects: dict[str, Record] = {}
    for of in every:
        for each in of.revisions:
            if each.blob is None or each.digest is None:
                continue
            # Names of algorithms as in-toto has them (spec/v1/digest_set.md).
            digest = {"sha256": each.digest, "gitBlob": each.blob}
            name = f"{each.path}@{each.commit.name}"
            subjects.setdefault(each.blob, {"name": name, "digest": digest})
    return {
        "_type": STATEMENT,
        "subject": list(subjects.values()),
        "predicateType": kind,
        "predicate": predicate,
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
