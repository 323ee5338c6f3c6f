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
            "cannot be expressed exactly as Alertmanager time intervals, which have no leap "
            "years and span at most a day: Alertmanager treats it as closed on some days when "
            "the policy is open"
        )
        yield rules.INTERVALS_LOST.result(message, path=f"spec.{name}")
