"""A report as `-o json` says it: values of plain types, with instants as RFC 3339 writes them."""

from datetime import datetime, tzinfo

from krm_windows.preview import records
from krm_windows.preview.clock import stamp, stamp_or_none
from krm_windows.preview.records import Record
from krm_windows.status.failures import Failure
from krm_windows.status.leftovers import Leftovers
from krm_windows.status.report import Report, Row, Suspension
from krm_windows.status.runs import Run
from krm_windows.status.undelivered import Undelivered


def status(report: Report, at: datetime, asked: datetime | None = None) -> Record:
    """Return what holds at an instant, the last run (None: none yet), and every target.

    `asked` is when the cluster was asked, None for objects from a file.
    """
    tz = report.timetable.zone
    return {
        **records.judged(report.timetable, report.decision, at),
        "lastRun": _run(report.last_run, tz),
        "asDesired": report.as_desired,
        # Whether the cluster has the windows of this file; null where that is not known.
        "delivered": report.delivery.current,
        "deliveredAt": stamp_or_none(report.delivery.changed, tz),
        "askedAt": stamp_or_none(asked, tz),
        "stopped": report.stopped,
        # Null once a run has succeeded again.
        "failure": _failure(report.failure, tz),
        "undelivered": [_undelivered(each) for each in report.undelivered],
        "leftovers": [_leftovers(each) for each in report.leftovers],
        "targets": [_target(row, tz) for row in report.rows],
    }


def _run(run: Run | None, tz: tzinfo) -> Record | None:
    if run is None:
        return None
    return {
        "at": stamp(run.at, tz),
        "succeeded": run.succeeded,
        # The Job, for `kubectl logs`.
        "by": run.name,
    }


def _failure(failure: Failure | None, tz: tzinfo) -> Record | None:
    if failure is None:
        return None
    return {
        "at": stamp(failure.at, tz),
        "cause": failure.cause,
        "by": failure.by,
        "message": failure.words,
    }


def _undelivered(found: Undelivered) -> Record:
    return {
        "by": found.by,
        "reason": found.reason,
        "targets": [str(target) for target in found.targets],
    }


def _leftovers(found: Leftovers) -> Record:
    return {
        "target": str(found.target),
        # Null where nobody asked the cluster.
        "objects": found.objects,
        "complete": found.complete,
        "command": found.command,
    }


def _target(row: Row, tz: tzinfo) -> Record:
    target = row.target
    # Nobody, since and until no instant, keeps closed what is open.
    since = until = None
    if row.suspension:
        since = row.suspension.since
        until = row.suspension.until
    return {
        "group": target.group,
        "kind": target.kind,
        "namespace": target.namespace,
        "name": target.name,
        "state": row.state,
        "desired": row.desired,
        "asDesired": row.as_desired,
        "suspendedBy": suspender(row.suspension),
        "since": stamp_or_none(since, tz),
        "until": stamp_or_none(until, tz),
    }


def suspender(suspension: Suspension | None) -> Record | None:
    """Return who keeps a target closed, without the keys that say nothing of it."""
    if suspension is None:
        return None
    said = {
        "policy": suspension.policy,
        "reason": suspension.reason,
        "cause": suspension.cause,
        "adopted": suspension.adopted,
    }
    return {"kind": suspension.kind} | {key: value for key, value in said.items() if value}
