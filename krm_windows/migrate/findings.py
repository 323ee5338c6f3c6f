"""What is found in a repository: a result with its file and, in its tags, the line."""

from collections.abc import Iterable

from krm_windows.migrate.repository import Location
from krm_windows.results import File, Result, Severity
from krm_windows.rules import Rule

# Errors come first: the enum lists the severities from the worst on.
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def found_at(rule: Rule, location: Location, message: str) -> Result:
    """Report a rule at a line of a file."""
    result = rule.result(message, file=File(path=location.file))
    return result._replace(line=location.line)


def location_of(result: Result) -> Location:
    """Return where a result was found; line 0 where it is about a file, or none, as a whole."""
    return Location(result.file.path if result.file else "", result.line or 0)


def line(result: Result) -> str:
    """Write a result as compilers do: location, severity, message, rule."""
    # `apps/windows.yaml:12: [warning] …`, so that editors find it.
    return f"{location_of(result)}: [{result.severity}] {result.message} ({result.rule})"


def sort(results: Iterable[Result]) -> list[Result]:
    """Order results: errors first, then by file, line and rule; equal ones once."""
    return sorted(
        dict.fromkeys(results),
        key=lambda each: (_RANK[each.severity], location_of(each), line(each)),
    )
