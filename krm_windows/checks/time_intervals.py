"""What is lost where a timetable is said in the grammar of Alertmanager's time intervals."""

from collections.abc import Iterator

from krm_windows import rules
from krm_windows.plan.intervals import intervals
from krm_windows.plan.model import Plan
from krm_windows.results import Result

EXTRA = "AlertmanagerTimeIntervals"
"""The extra of the policy that asks for them."""


def check(plan: Plan) -> Iterator[Result]:
    """Yield a warning for each rule that they do not say in full."""
    for name in intervals(plan.timetable).lost:
        # Such as what begins on a fifth Sunday, and ends on a day that depends on the leap year.
        message = (
            "cannot be said in full in the time intervals of Alertmanager, which know no leap "
            "years and no longer past than a day: there it is closed on some days on which the "
            "policy is open"
        )
        yield rules.INTERVALS_LOST.result(message, path=f"spec.{name}")
