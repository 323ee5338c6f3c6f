"""Results: the specification's value, the line on stderr, the order."""

import pytest

from krm_windows import rules
from krm_windows.results import File, ResourceRef, Result, Severity

REF = ResourceRef(api_version="a/v1", kind="K", namespace="ns", name="n")


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (Result(message="m", severity=Severity.ERROR), "[error] m"),
        (Result(message="m", severity=Severity.INFO, resource_ref=REF), "[info] a/v1/K/ns/n: m"),
        (
            Result(message="m", severity=Severity.WARNING, file=File(path="a.yaml")),
            "a.yaml: [warning] m",
        ),
        (
            rules.INTERVAL.result("m", path="spec.interval", ref=REF),
            "[error] a/v1/K/ns/n spec.interval: m (interval)",
        ),
    ],
)
def test_line(result: Result, line: str) -> None:
    """Severity, object, field, message, rule: what there is of them."""
    assert str(result) == line
