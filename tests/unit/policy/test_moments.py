"""The grammar of moments: every shape in every role."""

from datetime import UTC, date, datetime, time, timedelta
from typing import get_type_hints

import pytest
from catalogue import moments_page

from krm_windows import rules
from krm_windows.policy import fields, moments, occurrences, phrases
from krm_windows.policy.findings import RefusedError
from krm_windows.policy.model import Freeze, Override, Spec, Window
from krm_windows.policy.moments import Role
from krm_windows.schedule import cron
from krm_windows.schedule.recurrence import Recurrence


def weekly(*days: int, at: str, nth: int | None = None, shift: int = 0) -> Recurrence:
    hour, minute = map(int, at.split(":"))
    return Recurrence(
        frozenset({minute}), frozenset({hour}), weekdays=frozenset(days), nth=nth, shift=shift
    )


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Mon 08:00", weekly(1, at="08:00")),
        ("mon 8:00", weekly(1, at="08:00")),
        ("Mon-Fri 22:00", weekly(1, 2, 3, 4, 5, at="22:00")),
        ("Fri-Mon 08:00", weekly(5, 6, 0, 1, at="08:00")),
        ("Mon-Wed,friday 06:30", weekly(1, 2, 3, 5, at="06:30")),
        ("daily 01:00", weekly(*range(7), at="01:00")),
        ("every day 09:00", weekly(*range(7), at="09:00")),
        ("weekdays 09:00", weekly(1, 2, 3, 4, 5, at="09:00")),
        ("Weekends 9:00", weekly(0, 6, at="09:00")),
        ("09:00 Mon-Fri", weekly(1, 2, 3, 4, 5, at="09:00")),
        ("second Tuesday 22:00", weekly(2, at="22:00", nth=2)),
        ("22:00 last Fri +1d", weekly(5, at="22:00", nth=-1, shift=1)),
        ("5TH Friday +27d 23:59", weekly(5, at="23:59", nth=5, shift=27)),
        ("2nd Tue +2d 22:00", weekly(2, at="22:00", nth=2, shift=2)),
        ("last day 18:00", weekly(*range(7), at="18:00", nth=-1)),
        ("last workday 17:00", weekly(*range(1, 6), at="17:00", nth=-1)),
        ("3rd last day 00:00", weekly(*range(7), at="00:00", nth=-3)),
        ("second last workday 09:00", weekly(*range(1, 6), at="09:00", nth=-2)),
        ("0 8 * * MON", weekly(1, at="08:00")),
        ("0 8 3 4 MON", Recurrence(*map(frozenset, ({0}, {8}, {3}, {4}, {1})), either=True)),
        ("1970-01-01", datetime(1970, 1, 1)),
        ("2999-12-31", datetime(2999, 12, 31)),
        ("2026-12-20T00:00:00Z", datetime(2026, 12, 20)),
        ("2026-12-24T20:00", datetime(2026, 12, 24, 20)),
        ("2026-12-24T20:00+05:45", datetime(2026, 12, 24, 14, 15, tzinfo=UTC)),
        ("2026-12-24T20:00-09:30", datetime(2026, 12, 25, 5, 30, tzinfo=UTC)),
        ("2026-12-24T20:00+13:59", datetime(2026, 12, 24, 6, 1, tzinfo=UTC)),
    ],
)
def test_a_beginning(text: str, want: object) -> None:
    """Every shape but a time of day begins something."""
    assert moments.parse(text, Role.BEGIN).value == want


def test_ordinals() -> None:
    short = ("1st", "2nd", "3rd", "4th", "5th")
    spelled = ("first", "second", "third", "fourth", "fifth")
    for number, word in [*enumerate(short, 1), *enumerate(spelled, 1)]:
        for nth, said in ((number, word), *([(-number, f"{word} last")] if number > 1 else [])):
            assert moments.parse(f"{said} Mon 8:00", Role.BEGIN).value == weekly(
                1, at="8:00", nth=nth
            )


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Thu 17:00", weekly(4, at="17:00")),
        ("Sat 24:00", weekly(0, at="00:00")),
        ("Mon-Fri 24:00", weekly(2, 3, 4, 5, 6, at="00:00")),
        ("last day 24:00", weekly(*range(7), at="00:00", nth=-1, shift=1)),
        ("2nd Tue +27d 24:00", weekly(2, at="00:00", nth=2, shift=28)),
        ("4:00", time(4)),
        ("24:00", time(0)),
        ("2026-12-20", datetime(2026, 12, 21)),
        ("2026-12-20T00:00:00Z", datetime(2026, 12, 21)),
        ("2026-12-31T24:00", datetime(2027, 1, 1)),
        ("2026-12-24T24:00Z", datetime(2026, 12, 25, tzinfo=UTC)),
    ],
)
def test_an_end(text: str, want: object) -> None:
    """A date as an end is included, and 24:00 is the next midnight."""
    assert moments.parse(text, Role.END).value == want


def refusal(text: str, role: Role) -> tuple[str, str | None]:
    with pytest.raises(RefusedError) as caught:
        moments.parse(text, role)
    (finding,) = caught.value.findings
    assert finding.current == text
    return finding.rule.id, finding.proposed


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        # An override is one-off, and so is a deadline.
        ("Mon 08:00", (Role.ONCE, Role.ONCE_END, Role.DEADLINE)),
        ("last day 22:00", (Role.ONCE, Role.ONCE_END, Role.DEADLINE)),
        ("0 8 * * MON", (Role.ONCE, Role.ONCE_END, Role.DEADLINE)),
        # A time of day is relative to a beginning of its own.
        ("08:00", (Role.BEGIN, Role.ONCE, Role.DEADLINE)),
        # 24:00 is only an end: as a beginning it would be a day that is not named.
        ("Mon 24:00", (Role.BEGIN,)),
        ("2nd Tue 24:00", (Role.BEGIN,)),
        ("2026-12-20T24:00", (Role.BEGIN, Role.ONCE)),
    ],
)
def test_what_another_field_takes(text: str, roles: tuple[Role, ...]) -> None:
    for role in roles:
        assert refusal(text, role) == ("moment-role", None)


MISSPELT = [
    *("Mno 08:00", "Mo-Fr 08:00", "Tues 08:00", "Mon, Wed 08:00", "Mon 8am", "Mon 08.30", "Mon 8"),
    *("Monday to Friday 08:00", "every Monday 08:00", "weekday 08:00", "at 8 on every day"),
    "every second Tuesday of the month at 22:00",
    *("secnd Tue 08:00", "6th Mon 08:00", "1st Mon,Tue 08:00", "2nd Tue + 2 days 22:00"),
    *("2nd Tue +28d 08:00", "Mon-Mon 08:00", "Mon 08:60", "Mon 24:01", "08:00 Mon 09:00"),
    *("", "Mon", "daily", "second Tuesday", "Mon 08:00 UTC"),
    *("Mon\u2013Fri 08:00", "Mon 08\uff1a00", "\uff12026-12-20", "\u201c2026-12-20\u201d"),
    *("2026-02-30", "1969-12-31", "3000-01-01", "20-12-2026", "20261220", "32nd 10:30"),
    *("2026-12-20T10:00+15:00", "2026-12-20T10:00+14:01", "2026-12-20T10:00+05:60"),
    "2026-12-20T10:00z",
]


@pytest.mark.parametrize(
    ("text", "rule", "proposed"),
    [
        *((text, "moment-syntax", None) for text in MISSPELT),
        ("2026-12-20T10:00:00Z", "moment-seconds", None),
        ("2026-12-20 10:00:00", "moment-seconds", None),
        ("2026-12-20T10:00:00-0800", "moment-seconds", None),
        ("Mon-Fri 08:00:00", "moment-seconds", None),
        ("08:00:00", "moment-seconds", None),
        ("2026-12-20 10:00", "moment-blank", None),
        ("2026-12-20 25:00", "moment-blank", None),
        ("0 8 * * 5#2", "cron-extension", None),
        ("30 22 * * 5L", "cron-extension", None),
        ("0 18 15W * *", "cron-extension", None),
        ("0 8 * * 5-7", "cron-seven", None),
        ("0 8 * * 1-7/2", "cron-seven", None),
        ("0 8 * * fri-mon", "cron-wrap", None),
        ("0 8 * nov-feb *", "cron-wrap", None),
        ("0 8 * * 1 2027", "cron-fields", None),
        ("@Daily", "cron-syntax", "@daily"),
        ("* * * *", "cron-syntax", None),
        ("0 8 * * ,", "cron-odd", None),
        ("0 8 *-5 * *", "cron-odd", None),
        ("CRON_TZ=UTC 0 8 * * *", "cron-zone", None),
    ],
)
def test_a_refusal_names_the_rule_and_the_likely_fix(
    text: str, rule: str, proposed: str | None
) -> None:
    assert refusal(text, Role.BEGIN) == (rule, proposed)
    assert proposed is None or moments.parse(proposed, Role.BEGIN).text == proposed


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("last day 18:00", (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)),
        ("last workday 18:00", (29, 26, 31, 30, 31, 30, 30, 31, 30, 29, 30, 31)),
        ("1st workday 18:00", (1, 1, 1, 1, 3, 1, 1, 2, 1, 1, 1, 1)),
        ("5th workday 18:00", (7, 5, 5, 7, 7, 7, 7, 6, 7, 7, 5, 7)),
    ],
)
def test_the_days_of_2027(text: str, days: tuple[int, ...]) -> None:
    """Read off a calendar; a month may end on a Saturday, and February begin on a Monday."""
    value = moments.parse(text, Role.BEGIN).value
    assert isinstance(value, Recurrence)
    year = (date(2027, 1, 1) + timedelta(days=number) for number in range(365))
    found = [(day.month, day.day) for day in year if value.on(day.toordinal())]
    assert found == list(enumerate(days, start=1))


def test_the_last_day_of_a_leap_year_and_of_a_century() -> None:
    value = moments.parse("last day 18:00", Role.BEGIN).value
    assert isinstance(value, Recurrence)
    for year, day in ((2028, 29), (2100, 28), (2400, 29)):
        assert value.after(datetime(year, 2, 1)) == datetime(year, 2, day, 18)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("90m", 90), ("4h", 240), ("1h30m", 90), ("1d12h", 2160), ("366d", 527040), ("0m", 0)],
)
def test_a_duration(text: str, minutes: int) -> None:
    assert moments.duration(text) == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    "text", ["", "90", "30s", "1.5h", "4 hours", "-1h", "30m1h", "1h1h", "366d1m", "9999999h"]
)
def test_no_duration(text: str) -> None:
    with pytest.raises(RefusedError):
        moments.duration(text)


def test_what_is_written_for_cron() -> None:
    """Weekdays and a time recur, too, but are no schedule as they are written."""
    for text, is_cron in (("0 8 * * MON", True), ("@daily", True), ("Mon 08:00", False)):
        assert moments.is_cron(moments.parse(text, Role.BEGIN)) == is_cron


@pytest.mark.parametrize(
    ("one", "other", "day"),
    [
        ("Mon 08:00", "Mon-Fri 08:00", date(2001, 1, 1)),
        ("Mon 08:00", "Mon 08:01", None),
        ("0 8 29 2 *", "Mon 08:00", date(2016, 2, 29)),
        ("1st Tue +7d 08:00", "2nd Tue 08:00", date(2001, 1, 9)),
        ("last day 08:00", "last workday 08:00", date(2001, 1, 31)),
        ("last day +1d 08:00", "1st day 08:00", date(2001, 1, 1)),
        ("0 8 1-7 * *", "1st Mon 08:00", date(2001, 1, 1)),
        ("0 8 1-7 * *", "2nd Mon 08:00", None),
    ],
)
def test_two_recurrences_meet(one: str, other: str, day: date | None) -> None:
    first, second = (moments.parse(text, Role.BEGIN).value for text in (one, other))
    assert isinstance(first, Recurrence)
    assert isinstance(second, Recurrence)
    assert occurrences.meeting(first, second) == day


@pytest.mark.parametrize(
    ("begins", "ends", "ordered"),
    [
        ("2026-12-20", "2026-12-20", True),
        ("2026-12-20T10:00", "2026-12-20T10:00", False),
        ("2026-12-20T10:00Z", "2026-12-20T11:00", False),
        ("2026-12-20T10:00Z", "2026-12-20T11:01", True),
        ("2026-12-20T11:00", "2026-12-20T10:00Z", False),
        ("2026-12-20T11:00", "2026-12-20T10:01Z", True),
        ("2026-03-29T00:59Z", "2026-03-29T02:30", True),
        ("2026-03-29T01:00Z", "2026-03-29T02:30", False),
    ],
)
def test_an_end_comes_after_its_beginning(
    begins: str,
    ends: str,
    ordered: bool,  # noqa: FBT001 - a table
) -> None:
    """An instant and a wall clock are compared in Berlin, the missing hour of March included."""
    first, last = moments.parse(begins, Role.BEGIN), moments.parse(ends, Role.END)
    assert [f.rule.id for f in occurrences.check(first, last, "ends", "Europe/Berlin")] == [
        "end-order"
    ] * (not ordered)


@pytest.mark.parametrize(
    ("begins", "ends", "words"),
    [
        ("Mon 08:00", "Thu 17:00", "Mon 08:00 to Thu 17:00"),
        ("2nd Tue +2d 22:00", "17:00", "2nd Tue +2d 22:00 until 17:00"),
        ("daily 22:00", "daily 04:00", "daily 22:00 to 04:00"),
        ("0 8,20 1 * 1", "@weekly", "0 8,20 1 * 1 to @weekly"),
        ("2026-12-20T10:00Z", "2027-01-03", "2026-12-20 10:00Z to 2027-01-03"),
        ("2026-12-24", "2026-12-24", "2026-12-24"),
        (None, "2026-12-20", "until 2026-12-20"),
        ("Sun 03:00", timedelta(hours=25, minutes=1), "Sun 03:00 for 1 day 1 hour 1 minute"),
    ],
)
def test_words(begins: str | None, ends: str | timedelta, words: str) -> None:
    first = begins and moments.parse(begins, Role.BEGIN)
    last = moments.parse(ends, Role.END) if isinstance(ends, str) else ends
    assert phrases.occurrence(first, last) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Mon-Wed 08:00", "Monday, Tuesday, Wednesday"),
        ("daily 08:00", "every day"),
        ("2nd Tue +2d 22:00", "2 days after the 2nd Tuesday of the month"),
        ("last workday 22:00", "last workday of the month"),
        ("0 8 1-7,15 jan *", "day 1-7,15 of the month, in Jan"),
        ("0 8 13 * 5", "Friday or day 13 of the month"),
        # Written out, the full field is no star: one of the two is always so.
        ("0 8 1-31 * 1", "Monday or day * of the month"),
        ("0 8 *,13 * 5", "Friday"),
    ],
)
def test_days(text: str, words: str) -> None:
    recurrence = moments.parse(text, Role.BEGIN).value
    assert isinstance(recurrence, Recurrence)
    assert phrases.days(recurrence) == words


# The page of moments.


@pytest.mark.parametrize("shape", moments_page.SHAPES, ids=lambda shape: shape.name)
def test_every_example_of_a_shape_has_one_pattern(shape: moments_page.Shape) -> None:
    """And no other, so that the order of the table does not matter; it means what it says."""
    assert len(shape.examples) > 0
    readers = set()
    for text in shape.examples:
        words = moments.TIME_FIRST.sub(r"\2 \1", text)
        (read,) = [read for pattern, read in moments.SHAPES if pattern.fullmatch(words)]
        readers.add(read)
        assert moments.parse(text, Role.END).text == text
    assert len(readers) == 1


def test_every_word_of_the_grammar_is_in_an_example() -> None:
    shown = (
        " ".join(text for shape in moments_page.SHAPES for text in shape.examples).lower().split()
    )
    assert {"daily", "1st", "2nd", "5th", "last"} <= set(shown)
    words = set(" ".join(moments.NAMED_DAYS).split()) | {"day", "workday"}
    missing = words - set(shown)
    assert not missing, f"no example on the page of moments has {sorted(missing)}: add one"
    assert set(cron.DESCRIPTORS) <= set(moments_page.SCHEDULES)


def test_what_the_page_refuses_is_refused_and_what_it_proposes_is_taken() -> None:
    for text, role, instead in moments_page.REFUSED:
        rule, proposed = refusal(text, role)
        assert not (proposed and instead), text
        written = proposed or instead
        assert not written or moments.parse(written, role).text == written
        rows = moments_page.page().splitlines()
        assert any(f"`{text}`" in row and f"(rules.md#{rule})" in row for row in rows), text


def test_the_page_refuses_by_every_rule_of_the_grammar() -> None:
    named = {refusal(text, role)[0] for text, role, _ in moments_page.REFUSED}
    known = {rule.id for rule in rules.RULES if rule.id.startswith(("moment-", "cron-"))}
    # A warning about a schedule that is taken.
    assert known - named == {"cron-either-day"}


def test_the_page_names_the_fields_that_take_moments() -> None:
    types = {
        fields.Begin: Role.BEGIN,
        fields.End: Role.END,
        fields.Once: Role.ONCE,
        fields.OnceEnd: Role.ONCE_END,
        fields.Deadline: Role.DEADLINE,
    }
    parts = {
        "windows.<name>.": Window,
        "freezes.<name>.": Freeze,
        "overrides.<name>.": Override,
        "": Spec,
    }
    found: dict[Role, set[str]] = {role: set() for role in Role}
    for path, part in parts.items():
        for name, hint in get_type_hints(part, include_extras=True).items():
            for kind, role in types.items():
                if kind in (hint, *getattr(hint, "__args__", ())):
                    head, *rest = name.split("_")
                    camel = head + "".join(word.capitalize() for word in rest)
                    found[role].add(path + camel)
    assert found == {role: set(names) for role, names in moments_page.FIELDS.items()}
