"""Reports as text for a person, as JSON for a program, and as the commands by which GitHub annotates a change."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from krm_windows.checks import sarif
from krm_windows.checks.sarif import Findings
from krm_windows.results import Result, Severity

Reports = Sequence[Findings]
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def text(reports: Reports) -> str:
    """Return a line for each finding, and one that counts them."""
    return "".join(f"{line}\n" for report in reports for line in (*map(report.written, report.results), _count(report)))


def _count(report: Findings) -> str:
    count = Counter(result.severity for result in report.results)
    counted = ", ".join(f"{count[each]} {each}{'' if count[each] == 1 else 's'}" for each in Severity if count[each])
    return f"{report.heading}: {counted or 'nothing to say'}"


def as_json(reports: Reports, *, every: bool) -> str:
    """Return what was audited, with the results as the functions specification has them; for `every` cluster a list."""
    records = [report.record() for report in reports]
    return f"{json.dumps(records if every else records[0], indent=2, ensure_ascii=False)}\n"


def as_sarif(reports: Reports) -> str:
    """Return a log of SARIF 2.1.0."""
    return f"{json.dumps(sarif.log(reports), indent=2, ensure_ascii=False)}\n"


def github(reports: Reports) -> str:
    """Return a workflow command of GitHub Actions for each finding."""
    return "".join(f"{_command(report, result)}\n" for report in reports for result in report.results)


def _command(report: Findings, result: Result) -> str:
    place = report.place(result)
    where = {"file": place[0], "line": str(place[1])} if place else {}
    properties = {**where, "title": report.title(result)}
    listed = ",".join(f"{name}={_escaped(value, _PROPERTY)}" for name, value in properties.items())
    field = f"{result.field.path}: " if result.field else ""
    return f"::{_LEVELS[result.severity]} {listed}::{_escaped(field + result.message, _DATA)}"


def _escaped(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)


FORMATS: dict[str, Callable[[Reports], str]] = {
    "text": text,
    "json": partial(as_json, every=False),
    "sarif": as_sarif,
    "github": github,
}
FORMATS_OF_EVERY: dict[str, Callable[[Reports], str]] = {**FORMATS, "json": partial(as_json, every=True)}
