"""Reports as text, as JSON, and as the commands by which GitHub annotates a change."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain

from krm_windows import escape, results
from krm_windows.checks.report import Report
from krm_windows.escape import actions
from krm_windows.results import Result, Severity

Reports = Sequence[Report]
# The commands of GitHub Actions: `::error`, `::warning` and `::notice`.
_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "notice",
}


def text(reports: Reports) -> str:
    """Return a line for each finding, and one that counts them."""
    lines: list[str] = []
    # Escaped: a policy from elsewhere may have control characters in its texts.
    for report in reports:
        lines.extend(escape.line(report.written(result)) for result in _joined(report.results))
        lines.append(escape.line(f"{report.heading}: {results.tally(report.results)}"))
    if len(reports) > 1:
        every = chain.from_iterable(report.results for report in reports)
        lines.append(f"total: {results.tally(every)}")
    return "".join(f"{line}\n" for line in lines)


def _joined(every: Iterable[Result]) -> Iterable[Result]:
    """Join what differs by the name of its cluster alone, also in its file: a person reads it once.

    The first stands for all, with the clusters of all.
    """
    joined: dict[str, Result] = {}
    for result in every:
        line = str(result)
        for name in result.clusters:
            line = line.replace(name, "\0")
        first = joined.setdefault(line, result)
        clusters = dict.fromkeys((*first.clusters, *result.clusters))
        joined[line] = first._replace(clusters=tuple(clusters))
    return joined.values()


def as_json(reports: Reports, *, every: bool) -> str:
    """Return what was audited, with the results as the functions specification has them.

    For `every` cluster a list.
    """
    records = [report.record() for report in reports]
    return escape.json_page(records if every else records[0])


def github(reports: Reports) -> str:
    """Return a workflow command of GitHub Actions for each finding."""
    commands = (map(partial(_command, report), report.results) for report in reports)
    return actions.commands(chain.from_iterable(commands))


def _command(report: Report, result: Result) -> str:
    properties = {"title": f"{report.scope(result)}: {result.tags['rule']}"}
    # Without a file the annotation is on the run as a whole.
    if result.file:
        line, column = result.place or (1, 1)
        where = {"file": result.file.path, "line": str(line), "col": str(column)}
        properties = {**where, **properties}
    message = result.message
    # GitHub shows title and message, and no field.
    if result.field:
        message = f"{result.path}: {message}"
    return actions.command(_LEVELS[result.severity], properties, message)


FORMATS: dict[str, Callable[[Reports], str]] = {
    "text": text,
    "json": partial(as_json, every=False),
    "github": github,
}
FORMATS_OF_EVERY: dict[str, Callable[[Reports], str]] = {
    **FORMATS,
    "json": partial(as_json, every=True),
}
