"""What is found in a repository: a result with its file and, in its tags, the line."""

from collections.abc import Iterable
from dataclasses import replace

from krm_windows.migrate.trees import Place
from krm_windows.results import File, Result, Severity
from krm_windows.rules import Rule

_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def found_at(rule: Rule, place: Place, message: str) -> Result:
    """Report a rule at a line of a file."""
    result = rule.result(message, file=File(path=place.file))
    return replace(result, tags={**result.tags, "line": str(place.line)})


def place_of(result: Result) -> Place:
    """Return where a result was found."""
    return Place(result.file.path if result.file else "", int(result.tags.get("line", "0")))


def line(result: Result) -> str:
    """Write a result as compilers do: place, severity, message, rule."""
    return f"{place_of(result)}: [{result.severity}] {result.message} ({result.tags['rule']})"


def sort(results: Iterable[Result]) -> list[Result]:
    """Order results: errors first, then by file, line and rule; equal ones once."""
    unique = {line(result): result for result in results}
    return [
        unique[text]
        for text in sorted(
            unique, key=lambda text: (_RANK[unique[text].severity], place_of(unique[text]), text)
        )
    ]
