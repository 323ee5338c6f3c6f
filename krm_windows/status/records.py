"""A report as `-o json` says it: values of plain types, with instants as RFC 3339 writes them."""

from datetime import datetime, tzinfo

from krm_windows.preview import records
from krm_windows.preview.clock import stamp
from krm_windows.preview.records import Record
from krm_windows.status.looks import Look
from krm_windows.status.report import Report, Row, Suspension
from krm_windows.status.trouble import Trouble


def status(report: Report, at: datetime) -> Record:
    """Return what holds at an instant, the last look (None: none yet), and every target."""
    timetable = report.timetable
    tz = timetable.zone
    return {
        "policy": timetable.policy,
        "cluster": timetable.cluster,
        "timeZone": tz.key,
        "at": stamp(at, tz),
        "wanted": records.state(report.decision, tz),
        "lastLook": _look(report.look, tz),
        "asWanted": report.as_wanted,
        "stopped": report.stopped,
        "zoneData": report.zone_data or None,
        "trouble": _trouble(report.trouble, tz),
        "targets": [_target(row, tz) for row in report.rows],
    }


def _look(look: Look | None, tz: tzinfo) -> Record | None:
    if look is None:
        return None
    return {
        "at": stamp(look.at, tz),
        "succeeded": look.succeeded,
        "by": look.name,
    }


def _trouble(trouble: Trouble | None, tz: tzinfo) -> Record | None:
    if trouble is None:
        return None
    return {
        "at": stamp(trouble.at, tz),
        "cause": trouble.cause,
        "by": trouble.by,
        "message": trouble.words,
    }


def _target(row: Row, tz: tzinfo) -> Record:
    target = row.target
    # Nobody, since and until no instant, keeps shut what is open.
    by = row.suspension or Suspension("")
    return {
        "group": target.group,
        "kind": target.kind,
        "namespace": target.namespace,
        "name": target.name,
        "state": row.state,
        "wanted": row.wanted,
        "asWanted": row.as_wanted,
        "suspendedBy": by.by or None,
        "since": _instant(by.since, tz),
        "until": _instant(by.until, tz),
    }


def _instant(at: datetime | None, tz: tzinfo) -> str | None:
    return stamp(at, tz) if at else None
