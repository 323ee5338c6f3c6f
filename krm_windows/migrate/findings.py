"""What is found in a repository: a result with its file and, in its tags, the line."""

from collections.abc import Iterable
from dataclasses import replace

from krm_windows.migrate.trees import Place
from krm_windows.results import File, Result, Severity
from krm_windows.rules import Rule

# Errors come first: the enum lists the severities from the worst on.
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def found_at(rule: Rule, place: Place, message: str) -> Result:
    """Report a rule at a line of a file."""
    result = rule.result(message, file=File(path=place.file))
    tags = {**result.tags, "line": str(place.line)}
    return replace(result, tags=tags)


def place_of(result: Result) -> Place:
    """Return where a result was found; line 0 where it is about a file, or none, as a whole."""
    path = ""
    if result.file:
        path = result.file.path
    return Place(path, int(result.tags.get("line", "0")))


def line(result: Result) -> str:
    """Write a result as compilers do: place, severity, message, rule."""
    rule = result.tags["rule"]
    # `apps/windows.yaml:12: [warning] …`, so that editors find the place.
    return f"{place_of(result)}: [{result.severity}] {result.message} ({rule})"


def sort(results: Iterable[Result]) -> list[Result]:
    """Order results: errors first, then by file, line and rule; equal ones once."""
    # By all that is read of them; a dict keeps one of each.
    unique = {line(result): result for result in results}
    return sorted(unique.values(), key=_order)


def _order(result: Result) -> tuple[int, Place, str]:
    return _RANK[result.severity], place_of(result), line(result)
