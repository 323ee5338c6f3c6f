"""A report as `-o json` says it: values of plain types, with instants as RFC 3339 writes them."""

from datetime import datetime, tzinfo

from krm_windows.preview import records
from krm_windows.preview.clock import stamp, stamp_or_none
from krm_windows.preview.records import Record
from krm_windows.status.report import Report, Row, Suspension


def status(report: Report, at: datetime, asked: datetime | None = None) -> Record:
    """Return what holds at an instant, the last run (None: none yet), and every target.

    `asked` is when the cluster was asked, None for objects from a file.
    """
    tz = report.timetable.zone
    run, failure = report.last_run, report.failure
    return {
        **records.judged(report.timetable, report.decision, at),
        # `by` is the Job, for `kubectl logs`.
        "lastRun": run and {"at": stamp(run.at, tz), "succeeded": run.succeeded, "by": run.name},
        "asDesired": report.as_desired,
        # Whether the cluster has the windows of this file; null where that is not known.
        "delivered": report.delivery.current,
        "askedAt": stamp_or_none(asked, tz),
        "stopped": report.stopped,
        # Null once a run has succeeded again.
        "failure": failure
        and {
            "at": stamp(failure.at, tz),
            "cause": failure.cause,
            "by": failure.by,
            "message": failure.words,
        },
        "targets": [_target(row, tz) for row in report.rows],
    }


def _target(row: Row, tz: tzinfo) -> Record:
    target, suspension = row.target, row.suspension
    return {
        "group": target.group,
        "kind": target.kind,
        "namespace": target.namespace,
        "name": target.name,
        "state": row.state,
        "desired": row.desired,
        "asDesired": row.as_desired,
        # Nobody, since and until no instant, keeps closed what is open.
        "suspendedBy": suspender(suspension),
        "since": stamp_or_none(suspension.since if suspension else None, tz),
        "until": stamp_or_none(suspension.until if suspension else None, tz),
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
