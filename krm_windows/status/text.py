"""A report as a table, in the manner of kubectl."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from krm_windows import escape
from krm_windows.preview import sentences
from krm_windows.preview.clock import shown
from krm_windows.preview.text import span
from krm_windows.status.report import Report, Row
from krm_windows.status.trouble import FAILED

_HEAD = ("TARGET", "STATE", "WANTED", "SUSPENDED BY", "SINCE", "UNTIL", "NEXT CHANGE", "LAST LOOK")
_GAP = 3


def render(report: Report, at: datetime) -> str:
    """Return what holds, and a line for each target; `at` is the instant that the last look is measured from."""
    return "".join(f"{line}\n" for line, _ in lines(report, at))


def lines(report: Report, at: datetime) -> Iterator[tuple[str, bool]]:
    """Yield every line, and whether it is about a target that is not as it should be."""
    for sentence in sentences.state(report.timetable, report.decision).splitlines():
        yield sentence, False
    yield "", False
    yield from _table(report, at)
    for words in report.stopped:
        yield escape.line(words), True
    if report.zone_data:
        yield escape.line(report.zone_data), False
    trouble = report.trouble
    if trouble:
        yield (
            escape.line(f"since the last look that succeeded: {trouble.by}: {trouble.words}"),
            True,
        )


def _table(report: Report, at: datetime) -> Iterator[tuple[str, bool]]:
    if not report.rows:
        yield "no targets: nothing has the labels that they are selected by", False
        return
    rows = [_HEAD, *(_cells(report, row, at) for row in report.rows)]
    widths = [max(len(row[i]) for row in rows) + _GAP for i in range(len(_HEAD))]
    shut = [False, *(not row.as_wanted for row in report.rows)]
    for row, alarming in zip(rows, shut, strict=True):
        yield (
            "".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip(),
            alarming,
        )


def _cells(report: Report, row: Row, at: datetime) -> tuple[str, ...]:
    tz = report.timetable.zone
    by = row.suspension
    edges = (
        (by.since, by.until)
        if by
        else (report.decision.since if report.decision.open else None, None)
    )
    since, until = (shown(edge, tz) if edge else "" for edge in edges)
    decision = report.decision
    verb = "closes" if decision.open else "opens"
    change = f"{verb} {shown(decision.until, tz)}" if decision.until else ""
    who = " ".join(by.by.split()) if by else ""  # a person may have written it over several lines
    cells = (str(row.target), row.state, row.wanted, who, since, until, change, _look(report, at))
    return tuple(map(escape.line, cells))


def _look(report: Report, at: datetime) -> str:
    look = report.look
    trouble = report.trouble
    cause = f": {trouble.cause}" if trouble and trouble.cause != FAILED else ""
    if not look:
        return f"never{cause}"
    ago = max(at - look.at, timedelta())  # the cluster's clock may be ahead of ours
    return f"{span(ago)} ago, " + ("succeeded" if look.succeeded else f"failed{cause}")
