"""A report as a table, in the manner of kubectl."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from krm_windows import escape
from krm_windows.plan.timetable import ends_soon
from krm_windows.preview import sentences
from krm_windows.preview.clock import shown, span
from krm_windows.preview.wrapping import wrapped
from krm_windows.status.failures import FAILED
from krm_windows.status.report import Report, Row

_HEAD = ("TARGET", "STATE", "DESIRED", "SUSPENDED BY", "SINCE", "UNTIL", "NEXT CHANGE", "LAST RUN")
# Spaces between two columns, as kubectl has them.
_GAP = 3
_NO_TARGETS = "no targets: no object that was read matches the policy's `matchLabels`"


class Where(NamedTuple):
    """What is known from where: the policy's state (`in Git`), and that of the cluster."""

    policy: str
    cluster: str


def render(report: Report, at: datetime, where: Where, width: int = 0) -> str:
    """Return what should hold, which windows the cluster has, and a line for each target.

    `at` is the instant that the last run is measured from. Where a table is wider than `width`
    columns (0: as wide as it likes), each target has a line for each of its cells.
    """
    said = sentences.state(report.timetable, report.decision, where.policy).splitlines()
    delivery = f"{where.cluster}: {report.delivery.words}"
    head = wrapped("\n".join([*said, escape.line(delivery)]), width)
    lines = [head, "", *_table(report, at, width)]
    lines += map(escape.line, report.stopped)
    if ends := ends_soon(at):
        lines.append(f"the policy is {ends}")
    if failure := report.failure:
        words = f"since the last successful run: {failure.by}: {failure.words}"
        lines.append(escape.line(words))
    return "".join(f"{line}\n" for line in lines)


def missing(report: Report) -> Iterator[str]:
    """Yield what of the policy the cluster does not have yet; nothing where all is there."""
    if not report.delivery.current:
        yield f"in the cluster: {report.delivery.words}"
    yield from report.stopped
    if not report.rows:
        yield _NO_TARGETS
    for row in report.rows:
        if not row.as_desired:
            yield f"{row.target} is {row.state}, and should be {row.desired}"


def _table(report: Report, at: datetime, width: int) -> Iterator[str]:
    if not report.rows:
        yield _NO_TARGETS
        return
    table = [_HEAD, *(_cells(report, row, at) for row in report.rows)]
    # As wide as the longest cell: names are of any length, and are never cut.
    widths = [max(map(len, column)) + _GAP for column in zip(*table, strict=True)]
    # A terminal would break a line anywhere, in a name or an instant: there a target is a block.
    if width and sum(widths) - _GAP > width:
        size = max(map(len, _HEAD)) + _GAP
        for target, *cells in table[1:]:
            yield target
            for name, cell in zip(_HEAD[1:], cells, strict=True):
                if cell:
                    yield f"  {name:<{size}}{cell}"
        return
    for row in table:
        yield "".join(map(str.ljust, row, widths)).rstrip()


def _cells(report: Report, row: Row, at: datetime) -> tuple[str, ...]:
    tz = report.timetable.zone
    decision = report.decision
    # Nobody notes when a target was opened: it was with the policy.
    who, since, until = "", decision.since if decision.open else None, None
    if row.suspension:
        # A person may have written a reason over several lines.
        who = " ".join(row.suspension.words.split())
        since, until = row.suspension.since, row.suspension.until
    change = ""
    # Nothing within the 400 days that the evaluator looks ahead is empty.
    if decision.until:
        change = f"{'closes' if decision.open else 'opens'} {shown(decision.until, tz)}"
    cells = (
        str(row.target),
        row.state,
        row.desired,
        who,
        shown(since, tz) if since else "",
        shown(until, tz) if until else "",
        change,
        _last_run(report, at),
    )
    return tuple(map(escape.line, cells))


def _last_run(report: Report, at: datetime) -> str:
    run = report.last_run
    failure = report.failure
    # That it failed is said anyhow.
    cause = f": {failure.cause}" if failure and failure.cause != FAILED else ""
    # Jobs of CronJobs are kept for a while only: one may have run before.
    if not run:
        return f"{'never' if report.has_jobs else 'unknown'}{cause}"
    # The cluster's clock may be ahead of ours.
    ago = span(max(at - run.at, timedelta()))
    return f"{ago} ago, succeeded" if run.succeeded else f"{ago} ago, failed{cause}"
