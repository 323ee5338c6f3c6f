"""Days in words, where a schedule names dates and weekdays that hardly ever meet."""

import pytest

from krm_windows.policy import days
from krm_windows.schedule.recurrence import Recurrence

MONTH, WEEK = frozenset(range(1, 32)), frozenset(range(7))


@pytest.mark.parametrize(
    ("dates", "months", "weekdays", "either", "words"),
    [
        # Both have to be.
        ({13}, None, {5}, False, "Friday if it is day 13 of the month"),
        (
            # In some months.
            {13},
            {1},
            {1, 2},
            False,
            "Monday and Tuesday if it is day 13 of January",
        ),
        # One is always so.
        (MONTH, None, {1}, True, "every day"),
        # In April, too.
        (frozenset(range(1, 31)), {4}, {1}, True, "every day in April"),
        # Or the other.
        ({13}, None, WEEK, True, "every day"),
        # A date that never comes.
        ({31}, {4}, {1}, True, "Monday in April"),
        (
            # A date of one of its months.
            {31},
            {4, 5},
            {1},
            True,
            "Monday in April and May or day 31 of May",
        ),
        # No weekday.
        ({3}, {5}, set(), True, "day 3 of May"),
        # Over the weekend.
        (MONTH, None, {5, 6, 0}, False, "Friday to Sunday"),
        # Over the week's end.
        (MONTH, None, {6, 0, 1}, False, "Saturday to Monday"),
    ],
)
def test_days(
    dates: set[int],
    months: set[int] | None,
    weekdays: set[int],
    *,
    either: bool,
    words: str,
) -> None:
    """One or both, and only what can come."""
    recurrence = Recurrence(
        days=frozenset(dates),
        months=frozenset(months or range(1, 13)),
        weekdays=frozenset(weekdays),
        either=either,
    )
    assert days.days(recurrence) == words
