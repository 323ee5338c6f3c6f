"""Reports as SARIF, the format of code scanners (OASIS, Static Analysis Results Interchange Format, 2.1.0)."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import Protocol
from urllib.parse import quote

from krm_windows import __version__, escape
from krm_windows.policy.schema import SOURCE
from krm_windows.results import Result, Severity
from krm_windows.rules import RULES, Rule

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


class Findings(Protocol):
    """What was found on something: a policy or a repository."""

    @property
    def heading(self) -> str:
        """What was looked at."""

    @property
    def results(self) -> Sequence[Result]:
        """What was found, in order."""

    def title(self, result: Result) -> str:
        """Return what a result is called."""

    def subject(self, result: Result) -> str:
        """Return what a result is about."""

    def mark(self, result: Result) -> str:
        """Return by what a result is told from others of its rule on its field."""

    def written(self, result: Result) -> str:
        """Return the line for a person."""

    def place(self, result: Result) -> tuple[str, int] | None:
        """Return file and line of a result, None where there is no file."""

    def record(self) -> dict[str, object]:
        """Return it all as JSON has it."""


def log(reports: Sequence[Findings]) -> dict[str, object]:
    """Return a log of one run; only rules that fired are described."""
    fired = {result.tags["rule"] for report in reports for result in report.results}
    rules = [rule for rule in RULES if rule.id in fired]
    order = {rule.id: index for index, rule in enumerate(rules)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "krm-windows",
                        "version": __version__,
                        "informationUri": SOURCE,
                        "rules": [_rule(rule) for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(report, result, order)
                    for report in reports
                    for result in report.results
                ],
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "helpUri": f"{SOURCE}/blob/main/docs/{rule.page}#{rule.id}",
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(report: Findings, result: Result, order: dict[str, int]) -> dict[str, object]:
    name = result.tags["rule"]
    field = result.field.path if result.field else ""
    about = f"{report.subject(result)} {field}".rstrip()
    # By this a code scanner knows a finding again after lines have moved.
    known_by = f"{about} {report.mark(result)} {name}".encode("utf-8", "surrogatepass")
    identity = hashlib.sha256(known_by).hexdigest()
    return {
        "ruleId": name,
        "ruleIndex": order[name],
        "level": _LEVELS[result.severity],
        "message": {
            "text": escape.sarif_text(
                f"{report.title(result).rpartition(': ')[0]}: {f'{field}: ' if field else ''}{result.message}"
            )
        },
        "locations": [
            {**_place(report, result), "logicalLocations": [{"fullyQualifiedName": about}]}
        ],
        "partialFingerprints": {"policyFieldAndRule/v1": identity},
        "properties": {key: value for key, value in result.tags.items() if key != "rule"},
    }


def _place(report: Findings, result: Result) -> dict[str, object]:
    place = report.place(result)
    if place is None:
        return {}
    path = PurePath(place[0])
    # The bytes of the name, which need not be UTF-8. A colon before the first slash would be the end of a scheme.
    uri = path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": place[1]}}
    }
