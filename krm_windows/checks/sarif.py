"""Reports as SARIF, the format of code scanners (OASIS, Static Analysis Results Interchange Format, 2.1.0)."""

import hashlib
from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import quote

from krm_windows import __version__
from krm_windows.checks.report import Report
from krm_windows.policy.schema import SOURCE
from krm_windows.results import Result, Severity
from krm_windows.rules import RULES, Rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def log(reports: Sequence[Report]) -> dict[str, object]:
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
                "results": [_result(report, result, order) for report in reports for result in report.results],
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


def _result(report: Report, result: Result, order: dict[str, int]) -> dict[str, object]:
    name = result.tags["rule"]
    field = result.field.path if result.field else ""
    about = f"{report.policy} {field}".rstrip()
    # By this a code scanner knows a finding again after lines have moved.
    identity = hashlib.sha256(f"{about} {' '.join(report.clusters)} {name}".encode()).hexdigest()
    return {
        "ruleId": name,
        "ruleIndex": order[name],
        "level": _LEVELS[result.severity],
        "message": {"text": f"{report.name}: {f'{field}: ' if field else ''}{result.message}"},
        "locations": [{**_place(report, result), "logicalLocations": [{"fullyQualifiedName": about}]}],
        "partialFingerprints": {"policyFieldAndRule/v1": identity},
        "properties": {key: value for key, value in result.tags.items() if key != "rule"},
    }


def _place(report: Report, result: Result) -> dict[str, object]:
    if report.file is None:
        return {}
    path = PurePath(report.file)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    region = {"startLine": report.line(result)}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
