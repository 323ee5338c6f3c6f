"""What waits, as JSON: plain types, whole revisions, instants as RFC 3339 writes them."""

from datetime import datetime, tzinfo

from krm_windows.pending.between import Between
from krm_windows.pending.offers import Waits
from krm_windows.pending.report import Pending, WaitingTarget
from krm_windows.pending.revisions import Revision
from krm_windows.preview import records
from krm_windows.preview.clock import stamp_or_none
from krm_windows.preview.records import Record
from krm_windows.status.records import suspender
from krm_windows.system.git_objects import Commit

# Null is what is not known.
_WAITS = {
    Waits.YES: True,
    Waits.NO: False,
    Waits.UNKNOWN: None,
}


def pending(of: Pending, at: datetime) -> Record:
    """Return what waits at an instant."""
    return {**records.judged(of.timetable, of.decision, at), "targets": targets(of)}


def targets(of: Pending) -> list[Record]:
    """Return what waits for each target."""
    return [_target(entry, of.timetable.zone) for entry in of.entries]


def _target(entry: WaitingTarget, tz: tzinfo) -> Record:
    target, offer, opening = entry.target, entry.offer, entry.opening
    return {
        "group": target.group,
        "kind": target.kind,
        "namespace": target.namespace,
        "name": target.name,
        "pending": _WAITS[offer.waits],
        "open": opening.is_open,
        "opens": stamp_or_none(opening.at, tz),
        "keptBy": suspender(opening.kept_by),
        # Empty texts are null to a program: what is not there, and not what is called "".
        "source": offer.source or None,
        "applied": _revision(offer.applied, tz),
        "offered": _revision(offer.offered, tz),
        # All of it null where no repository is at hand, or has the revisions.
        **_between(entry.between),
        "notes": [*offer.notes, *(entry.between.gaps if entry.between else ())],
    }


def _between(of: Between | None) -> Record:
    if of is None:
        return {"commits": None, "reverted": None, "objects": None}
    return {
        "commits": None if of.commits is None else [commit(each) for each in of.commits],
        "reverted": [commit(each) for each in of.reverted],
        "objects": [
            {"change": each.kind.name.lower(), "object": each.object} for each in of.objects
        ],
    }


def _revision(of: Revision | None, tz: tzinfo) -> Record | None:
    if of is None:
        return None
    return {
        "revision": of.text,
        "origin": of.origin or None,
        "commit": of.commit or None,
        "since": stamp_or_none(of.since, tz),
    }


def commit(of: Commit) -> Record:
    """Return who made a commit, and when."""
    return {
        "commit": of.name,
        # Seconds since 1970, as Git has it: a commit may have a time that no date has.
        "committed": of.committed,
        "author": of.author,
        "subject": of.subject,
    }
