"""A report as a table, in the manner of kubectl."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from krm_windows import escape
from krm_windows.plan.timetable import ends_soon
from krm_windows.preview import sentences
from krm_windows.preview.clock import shown
from krm_windows.preview.text import span
from krm_windows.preview.wrapping import broken
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
    return "".join(f"{line}\n" for line, _ in lines(report, at, where, width))


def lines(report: Report, at: datetime, where: Where, width: int = 0) -> Iterator[tuple[str, bool]]:
    """Yield every line, and whether it is about a target that is not as it should be."""
    said = sentences.state(report.timetable, report.decision, where.policy).splitlines()
    for sentence in broken(said, width):
        yield sentence, False
    delivery = report.delivery
    delivered = escape.line(f"{where.cluster}: {delivery.words(report.timetable.zone)}")
    for sentence in broken([delivered], width):
        yield sentence, delivery.current is False
    # The lines that alarm are in colour on a terminal (`color`).
    yield "", False
    yield from _table(report, at, width)
    for words in report.stopped:
        yield escape.line(words), True
    for apart in report.undelivered:
        yield escape.line(apart.words), True
    for each in report.leftovers:
        yield escape.line(each.words), True
    ends = ends_soon(at)
    if ends:
        yield f"the policy is {ends}", False
    if report.failure:
        by = report.failure.by
        words = report.failure.words
        yield escape.line(f"since the last successful run: {by}: {words}"), True


def missing(report: Report) -> Iterator[str]:
    """Yield what of the policy the cluster does not have yet; nothing where all is there."""
    zone = report.timetable.zone
    delivery = report.delivery
    if delivery.current is None:
        yield f"in the cluster: {delivery.words(zone)}"
    elif not delivery.exists:
        yield "the cluster has no windows of this policy yet"
    elif not delivery.current:
        since = ""
        if delivery.changed:
            since = f", those of {shown(delivery.changed, zone)} {zone.key}"
        yield f"the cluster still has other windows{since}"
    yield from report.stopped
    # Of alerts nobody has to wait for the definition.
    yield from (each.words for each in report.undelivered if each.targets)
    if not report.rows:
        yield _NO_TARGETS
    for row in report.rows:
        if not row.as_desired:
            yield f"{row.target} is {row.state}, and should be {row.desired}"


def _table(report: Report, at: datetime, width: int) -> Iterator[tuple[str, bool]]:
    if not report.rows:
        yield _NO_TARGETS, False
        return
    table: list[tuple[str, ...]] = [_HEAD]
    alarming = [False]
    for row in report.rows:
        table.append(_cells(report, row, at))
        alarming.append(not row.as_desired)
    # As wide as the longest cell: names are of any length, and are never cut.
    columns = zip(*table, strict=True)
    widths = [max(map(len, column)) + _GAP for column in columns]
    # A terminal would break a line anywhere, in a name or an instant.
    if width and sum(widths) - _GAP > width:
        for cells, is_alarming in zip(table[1:], alarming[1:], strict=True):
            for line in _block(cells):
                yield line, is_alarming
        return
    for cells, is_alarming in zip(table, alarming, strict=True):
        padded = (f"{cell:<{size}}" for cell, size in zip(cells, widths, strict=True))
        yield "".join(padded).rstrip(), is_alarming


def _block(cells: tuple[str, ...]) -> Iterator[str]:
    """Yield a target, and below it what is known of it, each under the name of its column."""
    yield cells[0]
    size = max(map(len, _HEAD)) + _GAP
    for name, cell in zip(_HEAD[1:], cells[1:], strict=True):
        if cell:
            yield f"  {name:<{size}}{cell}"


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
    cause = ""
    # That it failed is said anyhow.
    if failure and failure.cause != FAILED:
        cause = f": {failure.cause}"
    # Jobs of CronJobs are kept for a while only: one may have run before.
    if not run:
        return f"{'never' if report.has_jobs else 'unknown'}{cause}"
    # The cluster's clock may be ahead of ours.
    ago = span(max(at - run.at, timedelta()))
    if run.succeeded:
        return f"{ago} ago, succeeded"
    return f"{ago} ago, failed{cause}"
