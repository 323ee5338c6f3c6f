"""Reports as text for a person, as JSON for a program, and as the commands by which GitHub annotates a change."""

import json
from collections import Counter
from collections.abc import Callable, Iterator

from krm_windows.checks import sarif
from krm_windows.checks.report import Report
from krm_windows.results import Severity

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def text(report: Report) -> str:
    """Return a line for each finding, and one that counts them."""
    count = Counter(result.severity for result in report.results)
    counted = ", ".join(f"{count[each]} {each}{'' if count[each] == 1 else 's'}" for each in Severity if count[each])
    name = f"{report.policy} on {report.cluster}" if report.cluster else report.policy
    lines = [*map(str, report.results), f"{name}, {report.first} to {report.last}: {counted or 'nothing to say'}"]
    return "".join(f"{line}\n" for line in lines)


def as_json(report: Report) -> str:
    """Return an object: what was audited, and the results as the functions specification has them."""
    value = {
        "policy": report.policy,
        "cluster": report.cluster,
        "from": report.first.isoformat(),
        "until": report.last.isoformat(),
        "results": [result.value() for result in report.results],
    }
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n"


def as_sarif(report: Report) -> str:
    """Return a log of SARIF 2.1.0."""
    return f"{json.dumps(sarif.log(report), indent=2, ensure_ascii=False)}\n"


def github(report: Report) -> str:
    """Return a workflow command of GitHub Actions for each finding."""
    return "".join(f"{line}\n" for line in _commands(report))


def _commands(report: Report) -> Iterator[str]:
    for result in report.results:
        place = {"file": report.file, "line": str(report.line(result))} if report.file else {}
        properties = {**place, "title": f"{report.policy}: {result.tags['rule']}"}
        listed = ",".join(f"{name}={_escaped(value, _PROPERTY)}" for name, value in properties.items() if value)
        field = f"{result.field.path}: " if result.field else ""
        yield f"::{_LEVELS[result.severity]} {listed}::{_escaped(field + result.message, _DATA)}"


def _escaped(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)


FORMATS: dict[str, Callable[[Report], str]] = {"text": text, "json": as_json, "sarif": as_sarif, "github": github}
