"""Reports as SARIF, the format of code scanners.

Source: OASIS, Static Analysis Results Interchange Format, 2.1.0.
"""

import os
from collections.abc import Sequence
from itertools import chain
from pathlib import PurePath
from urllib.parse import quote

from krm_windows import SOURCE, __version__, escape
from krm_windows.checks.report import Report
from krm_windows.results import Result, Severity
from krm_windows.rules import RULES, Rule

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
# The levels of a result (SARIF 2.1.0, 3.27.10).
_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "note",
}


def log(reports: Sequence[Report]) -> dict[str, object]:
    """Return a log of one run; only rules that fired are described."""
    every = chain.from_iterable(each.results for each in reports)
    fired = {result.rule for result in every}
    results: list[object] = []
    for report in reports:
        results.extend(_result(report, result) for result in report.results)
    driver = {
        "name": "krm-windows",
        "version": __version__,
        "informationUri": SOURCE,
        "rules": [_rule(rule) for rule in RULES if rule.id in fired],
    }
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "helpUri": rule.url,
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(report: Report, result: Result) -> dict[str, object]:
    message = ": ".join(filter(None, (report.scope(result), result.path, result.message)))
    return {
        "ruleId": result.rule,
        "level": _LEVELS[result.severity],
        "message": {"text": escape.sarif_text(message)},
        "locations": _locations(result),
        "properties": {key: value for key, value in result.tags.items() if key != "rule"},
    }


def _locations(result: Result) -> list[dict[str, object]]:
    if result.file is None:
        return []
    line, column = result.place or (1, 1)
    path = PurePath(result.file.path)
    # The bytes of the name, which need not be UTF-8. A colon before the first slash would be the
    # end of a scheme.
    uri = path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
    region = {"startLine": line, "startColumn": column}
    return [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}]
