"""Laws of words: what a schedule is said to mean is when the evaluator fires.

That holds for whatever was written. The words are read back here by a reader of their own, which
knows English and no cron.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_windows.policy.days import days
from krm_windows.policy.moments import Role, parse
from krm_windows.policy.phrases import moment
from krm_windows.policy.schedules import fires
from krm_windows.schedule import cron
from krm_windows.schedule.recurrence import Recurrence

WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
YEAR = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
NTH = {"1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5}
# Four years from a leap year on, and a few days more for what is counted from their end.
DAYS = tuple(date(2024, 1, 1) + timedelta(days=number) for number in range(4 * 366))

Says = Callable[[date], bool]


def read(words: str) -> Says:
    """Read words about days: alternatives, of which one is enough."""
    alternatives = [_alternative(part) for part in words.split(" or ")]
    return lambda day: any(says(day) for says in alternatives)


def _alternative(words: str) -> Says:
    if found := re.fullmatch(r"days? (.+) of (.+)", words):
        numbers, months = _numbers(found[1]), _months(found[2].removeprefix("the month"))
        return lambda day: day.day in numbers and day.month in months
    if found := re.fullmatch(r"(?:(\d+) days? after the )?(.+) of the month", words):
        *nth, day = found[2].removesuffix(" (Monday to Friday)").split()
        return _nth(int(found[1] or 0), nth, day)
    named, _, month = words.partition(" in ")
    months = _months(month)
    weekdays = set(range(7)) if named == "every day" else _listed(named, WEEK)
    return lambda day: day.weekday() in weekdays and day.month in months


def _nth(shift: int, nth: list[str], name: str) -> Says:
    weekdays = {"day": range(7), "workday": range(5)}.get(name) or [WEEK.index(name)]
    number, step = NTH.get(nth[0], 1), timedelta(days=-1 if nth[-1] == "last" else 1)

    def says(day: date) -> bool:
        named = end = day - timedelta(days=shift)
        # From it on to the end of the month that it is counted from, as many such days.
        passed = 0
        while end.month == named.month:
            passed += end.weekday() in weekdays
            end -= step
        return named.weekday() in weekdays and passed == number

    return says


def _months(words: str) -> set[int]:
    return {number + 1 for number in (_listed(words, YEAR) if words else range(12))}


def _numbers(words: str) -> set[int]:
    return {number + 1 for number in _listed(words, tuple(str(number) for number in range(1, 32)))}


def _listed(words: str, names: tuple[str, ...]) -> set[int]:
    """Read `a, b to d and e`.

    A range may go on over the end of the names, as the weekend is no end of a week.
    """
    found: set[int] = set()
    for part in re.split(r", | and ", words):
        first, _, last = part.partition(" to ")
        begin, end = names.index(first), names.index(last or first)
        found |= {(begin + step) % len(names) for step in range((end - begin) % len(names) + 1)}
    return found


def items(low: int, high: int) -> st.SearchStrategy[str]:
    """Give an item of a field: a star, a number, a range, each with a step or none."""
    number = st.integers(low, high)
    spans = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
    whole = st.sampled_from(["*", f"{low}-{high}", f"{low}-{high - 1}"])
    steps = st.sampled_from(["", "", "", "/2", "/3"])
    return st.tuples(whole | number.map(str) | spans, steps).map("".join)


def field(low: int, high: int) -> st.SearchStrategy[str]:
    """Give a field: a list of up to three items."""
    return st.lists(items(low, high), min_size=1, max_size=3).map(",".join)


SCHEDULES = st.tuples(field(1, 31), field(1, 12), field(0, 6)).map(
    lambda fields: f"0 8 {' '.join(fields)}"
)


def recurrence(schedule: str) -> Recurrence:
    """Return what a schedule compiles to."""
    found = cron.parse(schedule).recurrence
    assert found is not None
    return found


@given(SCHEDULES.map(recurrence).filter(fires))
def test_the_words_of_a_schedule_are_its_days(schedule: Recurrence) -> None:
    """Whoever reads the words knows every day on which it fires, and no other."""
    says = read(days(schedule))
    assert [day for day in DAYS if says(day) != schedule.on(day.toordinal())] == []


@given(
    st.sampled_from([*NTH, "last", "2nd last", "5th last"]),
    st.sampled_from([*WEEK, "day", "workday"]),
    st.sampled_from(["", " +1d", " +2d", " +27d"]),
    st.sampled_from(["08:00", "24:00"]),
)
def test_the_words_of_an_nth_day_are_its_days(nth: str, weekday: str, shift: str, at: str) -> None:
    """Shifted by days, or by the midnight at its end, too."""
    value = parse(f"{nth} {weekday}{shift} {at}", Role.END).value
    assert isinstance(value, Recurrence)
    says = read(days(value))
    assert [day for day in DAYS[30:] if says(day) != value.on(day.toordinal())] == []


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("0 8 1-31 * MON", "every day 08:00"),
        ("0 8 13 * 0-6", "every day 08:00"),
        ("0 8 1-29 2 MON", "every day in February 08:00"),
        ("0 8 30 2 MON", "Monday in February 08:00"),
        ("0 8 13 * 5", "Friday or day 13 of the month 08:00"),
        ("0 8 13 1 5", "Friday in January or day 13 of January 08:00"),
        ("0 8 1-7 * MON", "Monday or days 1 to 7 of the month 08:00"),
        ("0 8 31 1,2 *", "day 31 of January 08:00"),
        ("0 8,17 1,15 * *", "days 1 and 15 of the month 08:00 and 17:00"),
        ("0 8 * * 0,1,5,6", "Friday to Monday 08:00"),
        ("0 8 * * 1,3,5", "Monday, Wednesday and Friday 08:00"),
        ("0 8 * * *", "every day 08:00"),
        ("* * * * *", "every minute of every hour"),
        ("*/15 8-17 * * 1-5", "minutes 0, 15, 30 and 45 of hours 8 to 17 on Monday to Friday"),
    ],
)
def test_a_schedule_is_said_by_what_it_means(schedule: str, words: str) -> None:
    """Cron's two day fields, numbers that no month has, and lists."""
    assert moment(parse(schedule, Role.BEGIN)) == words
