"""What an audit has to say: a result at a field of the policy, with the date it is about."""

from datetime import date, datetime

from krm_windows.results import Result
from krm_windows.rules import Rule


def at(
    rule: Rule,
    path: str,
    message: str,
    on: date,
) -> Result:
    """Report a rule at `path` below `spec`; the day of `on` is among the tags, for sorting."""
    result = rule.result(message, path=f"spec.{path}")
    return result._replace(on=date(on.year, on.month, on.day))


def moment(at: datetime) -> str:
    """Write a moment on the wall clock, with its weekday."""
    return f"{at:%a %Y-%m-%d %H:%M}"


def repeated(count: int, last: date) -> str:
    """Return how often something happens after its first time, in brackets; empty for once."""
    # The message has named the first.
    if count == 1:
        return ""
    return f" (and {count - 1} more times until {last:%Y-%m-%d})"
