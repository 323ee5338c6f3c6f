"""A report as `-o json` says it: values of plain types, with instants as RFC 3339 writes them."""

from datetime import datetime, tzinfo

from krm_windows.preview import records
from krm_windows.preview.clock import stamp
from krm_windows.preview.records import Record
from krm_windows.status.report import Report, Row
from krm_windows.status.trouble import Trouble


def status(report: Report, at: datetime) -> Record:
    """Return what holds at an instant, the last look (None: none yet), and every target."""
    timetable, look = report.timetable, report.look
    tz = timetable.zone
    return {
        "policy": timetable.policy,
        "cluster": timetable.cluster,
        "timeZone": tz.key,
        "at": stamp(at, tz),
        "wanted": records.state(report.decision, tz),
        "lastLook": {"at": stamp(look.at, tz), "succeeded": look.succeeded, "by": look.name}
        if look
        else None,
        "asWanted": report.as_wanted,
        "stopped": report.stopped,
        "zoneData": report.zone_data or None,
        "trouble": _trouble(report.trouble, tz) if report.trouble else None,
        "targets": [_target(row, tz) for row in report.rows],
    }


def _trouble(trouble: Trouble, tz: tzinfo) -> Record:
    return {
        "at": stamp(trouble.at, tz),
        "cause": trouble.cause,
        "by": trouble.by,
        "message": trouble.words,
    }


def _target(row: Row, tz: tzinfo) -> Record:
    target, by = row.target, row.suspension
    return {
        "group": target.group,
        "kind": target.kind,
        "namespace": target.namespace,
        "name": target.name,
        "state": row.state,
        "wanted": row.wanted,
        "asWanted": row.as_wanted,
        "suspendedBy": by.by if by else None,
        "since": stamp(by.since, tz) if by and by.since else None,
        "until": stamp(by.until, tz) if by and by.until else None,
    }
