"""What is proposed for a phrase happens on the days, and at the time, that its words say."""

from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta

import pytest

from krm_windows.policy import moments
from krm_windows.policy.findings import Finding, RefusedError
from krm_windows.policy.moments import Role
from krm_windows.schedule.recurrence import Recurrence

DAYS = tuple(date(2027, 1, 1) + timedelta(days=number) for number in range(2 * 365))
Says = Callable[[date], bool]


def on(*names: str) -> Says:
    """Say weekdays."""
    return lambda day: f"{day:%a}" in names


def nth(number: int, *names: str) -> Says:
    """Say the nth such weekday of a month, from its end where negative."""

    def says(day: date) -> bool:
        _, length = monthrange(day.year, day.month)
        days = [day.replace(day=each) for each in range(1, length + 1)]
        alike = [each for each in days if f"{each:%a}" in names]
        return day in alike[number:][:1] if number < 0 else day in alike[number - 1 : number]

    return says


WORK = ("Mon", "Tue", "Wed", "Thu", "Fri")
WEEK = (*WORK, "Sat", "Sun")
SAID: dict[str, tuple[Says, str]] = {
    "Monday 8:00 PM": (on("Mon"), "20:00"),
    "Monday 8:00 AM": (on("Mon"), "08:00"),
    "Monday 8 p.m.": (on("Mon"), "20:00"),
    "8:00 PM Monday": (on("Mon"), "20:00"),
    "Mon-Fri 10 pm": (on(*WORK), "22:00"),
    "Mon 12:15 am": (on("Mon"), "00:15"),
    "daily 1am": (on(*WEEK), "01:00"),
    "daily at 01:00": (on(*WEEK), "01:00"),
    "every day at 1:30": (on(*WEEK), "01:30"),
    "everyday 01:00": (on(*WEEK), "01:00"),
    "dayly 01:00": (on(*WEEK), "01:00"),
    "evry day 01:00": (on(*WEEK), "01:00"),
    "every Monday at noon": (on("Mon"), "12:00"),
    "every Mnoday at 8": (on("Mon"), "08:00"),
    "Munday 08:00": (on("Mon"), "08:00"),
    "Mondays 08:00": (on("Mon"), "08:00"),
    "on Mondays at 08:00": (on("Mon"), "08:00"),
    "Tuseday 08:00": (on("Tue"), "08:00"),
    "Wednsday 08:00": (on("Wed"), "08:00"),
    "Thrusday 08:00": (on("Thu"), "08:00"),
    "Thurs 08:00": (on("Thu"), "08:00"),
    "Fryday 08:00": (on("Fri"), "08:00"),
    "Saterday 08:00": (on("Sat"), "08:00"),
    "Mno to Fri 08:00": (on(*WORK), "08:00"),
    "Monday through Friday 08:00": (on(*WORK), "08:00"),
    "Monday, Wednesday 08:00": (on("Mon", "Wed"), "08:00"),
    "Mon & Wed 08:00": (on("Mon", "Wed"), "08:00"),
    "Mo-Fr 08:00": (on(*WORK), "08:00"),
    "Lundi 08:00": (on("Mon"), "08:00"),
    "Samstag 08:00": (on("Sat"), "08:00"),
    "working days 08:00": (on(*WORK), "08:00"),
    "every workday 08:00": (on(*WORK), "08:00"),
    "each weekday at 9.30": (on(*WORK), "09:30"),
    "weekdys 08:00": (on(*WORK), "08:00"),
    "at the weekend 08:00": (on("Sat", "Sun"), "08:00"),
    "2nd Tuesday of the month 22:00": (nth(2, "Tue"), "22:00"),
    "every second Tuesday of the month 22:00": (nth(2, "Tue"), "22:00"),
    "the second Tuesday of each month at 10pm": (nth(2, "Tue"), "22:00"),
    "on the first Monday of every month 08:00": (nth(1, "Mon"), "08:00"),
    "forth Monday 08:00": (nth(4, "Mon"), "08:00"),
    "thrid Monday 08:00": (nth(3, "Mon"), "08:00"),
    "lats Friday 17:00": (nth(-1, "Fri"), "17:00"),
    "last Friday of the month 17:00": (nth(-1, "Fri"), "17:00"),
    "every last Friday 17:00": (nth(-1, "Fri"), "17:00"),
    "last day of the month 17:00": (nth(-1, *WEEK), "17:00"),
    "last day of every month at 6 pm": (nth(-1, *WEEK), "18:00"),
    "end of month 17:00": (nth(-1, *WEEK), "17:00"),
    "at the end of the month 17:00": (nth(-1, *WEEK), "17:00"),
    "every month end 17:00": (nth(-1, *WEEK), "17:00"),
    "first day of month 17:00": (nth(1, *WEEK), "17:00"),
    "month-end 17:00": (nth(-1, *WEEK), "17:00"),
    "EOM 17:00": (nth(-1, *WEEK), "17:00"),
    "17:00 at the end of every month": (nth(-1, *WEEK), "17:00"),
    "17:00 EOM": (nth(-1, *WEEK), "17:00"),
    "last business day 17:00": (nth(-1, *WORK), "17:00"),
    "last weekday 17:00": (nth(-1, *WORK), "17:00"),
    "last working day of every month 18:00": (nth(-1, *WORK), "18:00"),
    "first working day of the month 09:00": (nth(1, *WORK), "09:00"),
    "1st workdya 09:00": (nth(1, *WORK), "09:00"),
    "the 15th 10:30": (nth(15, *WEEK), "10:30"),
    "1st of each month 9:00": (nth(1, *WEEK), "09:00"),
    "31st of every month 10:30": (nth(31, *WEEK), "10:30"),
    "0 18 L * *": (nth(-1, *WEEK), "18:00"),
    "0 18 LW * ?": (nth(-1, *WORK), "18:00"),
    "0 8 * * 5#2": (nth(2, "Fri"), "08:00"),
    "0 8 * * 5L": (nth(-1, "Fri"), "08:00"),
    "@Daily": (on(*WEEK), "00:00"),
    "@weeky": (on("Sun"), "00:00"),
    "0 8 * * 7": (on("Sun"), "08:00"),
    "0 8 * * fri-mon": (on("Fri", "Sat", "Sun", "Mon"), "08:00"),
    "0 0 8 ? * MON *": (on("Mon"), "08:00"),
}
NOTHING = (
    # Every two weeks, and the like
    "every other Monday 08:00",
    "every second Monday 08:00",
    "every 2nd Monday 08:00",
    "every third Friday 08:00",
    "on every second Monday at 8",
    "every two weeks 08:00",
    "every two weeks on Monday 08:00",
    "every 2 weeks Monday 08:00",
    "every other day 08:00",
    "every 3 days 08:00",
    "biweekly 08:00",
    "bi-weekly Monday 08:00",
    "fortnightly 08:00",
    "Monday fortnightly 08:00",
    "alternate Mondays 08:00",
    "alternating Mondays 08:00",
    "odd weeks Monday 08:00",
    "every other month 08:00",
    "second Monday of every other month 08:00",
    # A month, a quarter, a year
    "monthly 08:00",
    "every month 08:00",
    "once a month 08:00",
    "Monday monthly 08:00",
    "Monday of every month 08:00",
    "Monday in June 08:00",
    "Monday in Mar 08:00",
    "Mar 2027",
    "May 2027",
    "beginning of month 08:00",
    "mid-month 08:00",
    "last month 08:00",
    "second month end 08:00",
    "every second month end 08:00",
    "every second workday 08:00",
    "the last days 08:00",
    "last Friday month 08:00",
    "quarterly 08:00",
    "end of quarter 17:00",
    "end of week 17:00",
    "end of year 17:00",
    "last day of the quarter 17:00",
    "last working day of the year 17:00",
    "last day in January 17:00",
    "three days before end of month 00:00",
    "EOM-1 17:00",
    "last Friday before end of month 17:00",
    "first weekend of the month 08:00",
    "2 business days after 2nd Tue 22:00",
    "2nd and 4th Tue 22:00",
    # Other days than a word that is left out would say
    "next Monday 08:00",
    "weekdays except Friday 08:00",
    "Mon or Tue 08:00",
    "not Monday 08:00",
    "Monday night 22:00",
    "Monday midnight",
    "Monday until 08:00",
    "Friday 13",
    "Mon 13 AM",
    "Mon 9-5",
    "Sunday 2-5pm",
    "Mon 08:00 PST",
    "Monday 8:00 PM CET",
    "CRON_TZ=Asia/Tokyo 0 8 * * MON",
    "0 8 * * MON 2027",
    "0 0 8 ? * 2 *",
    "0 18 L 3 *",
    "0 8 ? * 2#1",
    "@biweekly",
    "@monthly-end",
    "@quarterly",
    # Words of which more than one may be meant, or none
    "Wensday 08:00",
    "Thuesday 08:00",
    "Tursday 08:00",
    "Sub 08:00",
    "Min 08:00",
    "Mun 08:00",
    "Mno,Fir 08:00",
    "summer 08:00",
    "month 08:00",
)


def refusal(text: str) -> Finding:
    """Say what is said of a beginning that is refused."""
    with pytest.raises(RefusedError) as caught:
        moments.parse(text, Role.BEGIN)
    (finding,) = caught.value.findings
    return finding


@pytest.mark.parametrize("text", SAID)
def test_what_is_proposed_is_what_the_words_say(text: str) -> None:
    """On each day of two years, one of them a leap year, and at one time of it."""
    says, at = SAID[text]
    proposed = refusal(text).proposed
    assert proposed
    value = moments.parse(proposed, Role.BEGIN).value
    assert isinstance(value, Recurrence)
    assert [day for day in DAYS if value.on(day.toordinal()) != says(day)] == []
    assert [f"{hour:02}:{minute:02}" for hour in value.hours for minute in value.minutes] == [at]


@pytest.mark.parametrize("text", NOTHING)
def test_of_other_words_nothing_is_proposed(text: str) -> None:
    """Where it cannot be said, or is not clear: another day is worse than none."""
    assert refusal(text).proposed is None


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("every other Monday 08:00", "import-ics"),
        ("every second Monday 08:00", "import-ics"),
        ("on every second Monday at 8", "import-ics"),
        ("every two weeks 08:00", "import-ics"),
        ("biweekly 08:00", "import-ics"),
        ("fortnightly 08:00", "import-ics"),
        ("monthly 08:00", '"last day 18:00"'),
        ("every month 08:00", '"last day 18:00"'),
        ("end of month", '"last day 18:00"'),
        ("EOM", '"last day 18:00"'),
        ("0 18 L 3 *", '"last day 18:00"'),
        ("CRON_TZ=Asia/Tokyo 0 8 * * MON", "`timeZone`"),
        ("Mon 08:00 PST", "`timeZone`"),
    ],
)
def test_the_way_is_said(text: str, way: str) -> None:
    """Of what cannot be written as it is."""
    assert way in refusal(text).must


@pytest.mark.parametrize("text", ["Monday 8:00 PM", "8:00 AM Monday", "Mon 13:00 PM"])
def test_am_and_pm_are_no_zone(text: str) -> None:
    """They are half of a time."""
    assert "zone" not in refusal(text).must


@pytest.mark.parametrize("role", [Role.ONCE, Role.ONCE_END, Role.DEADLINE])
def test_of_a_single_moment_no_way_to_recur_is_said(role: Role) -> None:
    """It must not recur in any way."""
    with pytest.raises(RefusedError) as caught:
        moments.parse("every other Monday 08:00", role)
    assert caught.value.findings[0].must == f"must be {role.value}"
