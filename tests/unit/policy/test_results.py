"""Results: the specification's value, the line on stderr, the order."""

import pytest

from krm_windows import rules
from krm_windows.results import Field, File, ResourceRef, Result, Severity, sort

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


def test_value() -> None:
    """The names and types are the specification's.

    What is absent is left out, an index of 0 is not.
    """
    result = rules.INTERVAL.result(
        "m", path="p", current="7m", ref=ResourceRef(api_version="v1", kind="K", name="n")
    )
    placed = result._replace(file=File("a.yaml"))
    assert placed.value() == {
        "message": "m",
        "severity": "error",
        "resourceRef": {"apiVersion": "v1", "kind": "K", "name": "n"},
        "field": {"path": "p", "currentValue": "7m"},
        "file": {"path": "a.yaml", "index": 0},
        "tags": {"rule": "interval"},
    }


def test_order() -> None:
    """Errors come first, indices count as numbers, and what is reported twice is reported once."""
    results = [
        Result(message="w", severity=Severity.WARNING),
        *(
            Result(message="m", severity=Severity.ERROR, field=Field(path=f"a[{i}]"))
            for i in (10, 9, 9)
        ),
    ]
    assert [str(result) for result in sort(results)] == [
        "[error] a[9]: m",
        "[error] a[10]: m",
        "[warning] w",
    ]
