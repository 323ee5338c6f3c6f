"""The page of moments, as Markdown: every shape with examples, and what is refused.

What an example means, and what is said of a text that is refused, come from
the grammar itself.
"""

from collections.abc import Iterator
from typing import NamedTuple

from catalogue import reference
from krm_windows import rules
from krm_windows.policy import moments, phrases
from krm_windows.policy.findings import RefusedError
from krm_windows.policy.moments import Role
from krm_windows.preview import explanation
from krm_windows.schedule import cron
from krm_windows.schedule.recurrence import Recurrence

FIELDS = {
    Role.BEGIN: ("windows.<name>.opens", "freezes.<name>.starts"),
    Role.END: ("windows.<name>.closes", "freezes.<name>.ends"),
    Role.ONCE: ("overrides.<name>.starts",),
    Role.ONCE_END: ("overrides.<name>.ends",),
    Role.DEADLINE: ("adoptUntil",),
}

SCHEDULES = (
    "0 8 * * MON",
    "0,30 9-16 * * 1-5",
    "0 22 1 * *",
    "0 0 24 12 *",
    *cron.DESCRIPTORS,
)


class Shape(NamedTuple):
    """One way to write a moment; `examples` are ends, as those take every shape."""

    name: str
    meaning: str
    examples: tuple[str, ...]


SHAPES = (
    Shape(
        "Weekdays and a time",
        "Each of these days at that time; the time may also come first. Days are written with "
        "three letters or in full, in any case. A list uses commas without spaces, and a range "
        "may cross the end of the week. `weekdays` are Monday to Friday, `weekends` Saturday "
        "and Sunday.",
        (
            "Mon 08:00",
            "monday 8:00",
            "Mon-Fri 22:00",
            "Fri-Mon 22:00",
            "Mon,Wed 06:30",
            "Mon-Wed,Sat 06:30",
            "daily 01:00",
            "every day 01:00",
            "weekdays 09:00",
            "weekends 09:00",
            "09:00 Mon-Fri",
            "Sat,Sun 24:00",
        ),
    ),
    Shape(
        "The nth day of a month",
        "One weekday, `day` for any of them, or `workday` for Monday to Friday, which freezes "
        "and public holidays do not move. `1st` to `5th` (or `first` to `fifth`) count from the "
        "beginning of the month, `last`, and `2nd last` to `5th last` before it, from its end; "
        "months without a 5th are skipped. `+2d` means two days later (0 to 27 are allowed), "
        "possibly in the next month.",
        (
            "1st Mon 22:00",
            "2nd Tue 22:00",
            "second Tuesday 22:00",
            "5th Fri 22:00",
            "last Fri 17:00",
            "2nd Tue +2d 22:00",
            "last Sun +1d 03:00",
            "last day 18:00",
            "last workday 17:00",
            "1st workday 09:00",
            "3rd last day 00:00",
        ),
    ),
    Shape(
        "A date",
        "Midnight at the beginning of that day. As an end, midnight after it, so that the day "
        "itself is included.",
        ("2026-12-20",),
    ),
    Shape(
        "A date and a time",
        "That minute on the wall clock of the policy's `timeZone`. With `Z` or an offset it is "
        "an instant, the same in every time zone.",
        (
            "2026-12-24T20:00",
            "2026-12-31T24:00",
            "2026-12-24T20:00Z",
            "2026-12-24T20:00+01:00",
        ),
    ),
    Shape(
        "A time of day",
        "Only as an end: the next such time after the beginning.",
        ("04:00", "4:00", "24:00"),
    ),
)


class Refused(NamedTuple):
    """A text that a field does not take.

    `instead` is what to write where the grammar proposes nothing.
    """

    text: str
    role: Role
    instead: str = ""


REFUSED = (
    Refused("Mno 08:00", Role.BEGIN, "Mon 08:00"),
    Refused("Tues 08:00", Role.BEGIN, "Tue 08:00"),
    Refused("Mon, Wed 08:00", Role.BEGIN, "Mon,Wed 08:00"),
    Refused("Mon 8am", Role.BEGIN, "Mon 08:00"),
    Refused("Mon 08.30", Role.BEGIN, "Mon 08:30"),
    Refused("Mon", Role.BEGIN, "Mon 00:00"),
    Refused("Mon 25:00", Role.BEGIN, "Tue 01:00"),
    Refused("Mon 24:00", Role.BEGIN, "Tue 00:00"),
    Refused("08:00", Role.BEGIN, "every day 08:00"),
    Refused("Mon-Mon 08:00", Role.BEGIN, "daily 08:00"),
    Refused("2nd Tue +28d 08:00", Role.BEGIN),
    Refused("2026-02-30", Role.BEGIN, "2026-02-28"),
    Refused("Monday to Friday 08:00", Role.BEGIN, "Mon-Fri 08:00"),
    Refused("every Monday at 8", Role.BEGIN, "Mon 08:00"),
    Refused("workdays 08:00", Role.BEGIN, "weekdays 08:00"),
    Refused("the 15th 10:30", Role.BEGIN, "30 10 15 * *"),
    Refused("Monday 8:00 PM", Role.BEGIN, "Mon 20:00"),
    Refused("end of month 17:00", Role.BEGIN, "last day 17:00"),
    Refused("every other Monday 08:00", Role.BEGIN),
    Refused("monthly 08:00", Role.BEGIN, "1st day 08:00"),
    Refused("Mon-Fri 22:00-05:00", Role.BEGIN, "Mon-Fri 22:00"),
    Refused("Dec 24", Role.BEGIN, "2026-12-24"),
    Refused("12-20", Role.BEGIN, "2026-12-20"),
    Refused("20.12.2026", Role.BEGIN, "2026-12-20"),
    Refused("12/20/2026", Role.BEGIN, "2026-12-20"),
    Refused("01/02/2026", Role.BEGIN, "2026-01-02"),
    Refused("2026-12-20 10:00", Role.BEGIN, "2026-12-20T10:00"),
    Refused("2026-12-20T10:00:00Z", Role.BEGIN, "2026-12-20T10:00"),
    Refused("Mon 08:00:00", Role.BEGIN, "Mon 08:00"),
    Refused("2026-12-20T10:00+15:00", Role.BEGIN),
    Refused("Mon 08:00", Role.ONCE, "2026-12-07T08:00"),
    Refused("0 8 * * 1", Role.DEADLINE, "2026-12-07T08:00"),
    Refused("* * * *", Role.BEGIN, "* * * * *"),
    Refused("0 0 8 ? * MON *", Role.BEGIN, "0 8 ? * MON"),
    Refused("0 8 * * 5#2", Role.BEGIN, "2nd Fri 08:00"),
    Refused("0 8 * * 5L", Role.BEGIN, "last Fri 08:00"),
    Refused("0 18 L * *", Role.BEGIN, "last day 18:00"),
    Refused("0 8 * * 1-7", Role.BEGIN, "0 8 * * *"),
    Refused("0 8 * * fri-mon", Role.BEGIN, "0 8 * * 5-6,0-1"),
    Refused("0 8 +1 * *", Role.BEGIN, "0 8 1 * *"),
    Refused("0 8 30 2 *", Role.BEGIN, "0 8 28 2 *"),
    Refused("CRON_TZ=UTC 0 8 * * *", Role.BEGIN),
    Refused("@Daily", Role.BEGIN),
    Refused("@every 1h", Role.BEGIN, "@hourly"),
    Refused("@reboot", Role.BEGIN),
)
"""Texts that people write, and the fields in which they are refused."""

DURATIONS = ("90m", "4h", "1h30m", "2d", "1d12h")
NO_DURATIONS = ("90", "2 hours", "1.5h", "30s", "400d")

_HEAD = f"""\
{reference.GENERATED}
# Moments

A moment says when something begins or ends. It is always a string, and it is read on the wall clock
of the policy's `timeZone`, a name of the
[IANA time zone database](https://www.iana.org/time-zones).
[`krm-windows explain`](commands.md) says what the moments of a policy mean, and
[`krm-windows calendar`](commands.md) when they happen.
"""
_FIELDS = """\
## Which field takes which shape

"""
_SCHEDULES = """\
## A cron schedule

The five fields that a
[CronJob](https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/) takes: minute, hour,
day of the month, month, day of the week. Quote it, as YAML takes a leading `*` for an alias. A
schedule that restricts both day fields fires on each day that either of them names.

"""
_DURATIONS = """\
## A duration

A `duration` can replace `closes` or `ends`: days, hours and minutes in this order, at
most 366 days.

"""
_REFUSED = """\
## What is refused

Quote a date with a time in YAML: without quotes, some tools turn it into a time with seconds,
which would change its meaning. Where no field is named, it is one that takes every form.

In brackets is what to write instead.

"""


def page() -> str:
    """Return the page."""
    sections = [_HEAD]
    sections += [_shape(shape) for shape in SHAPES]
    sections.append(_SCHEDULES + _table(SCHEDULES))
    sections.append(_DURATIONS + "".join(_durations()))
    sections.append(_FIELDS + "".join(_fields()))
    sections.append(_REFUSED + "".join(_refused()))
    return "\n".join(sections)


def _shape(shape: Shape) -> str:
    return f"## {shape.name}\n\n{shape.meaning}\n\n{_table(shape.examples)}"


def _table(examples: tuple[str, ...]) -> str:
    return "".join([_row(text) for text in examples])


def _row(text: str) -> str:
    value = moments.parse(text, Role.END).value
    # A date says what it means.
    meaning = f": {explanation.recurring(value)}" if isinstance(value, Recurrence) else ""
    return f"- `{text}`{meaning}\n"


def _durations() -> Iterator[str]:
    for text in DURATIONS:
        yield f"- `{text}`: {phrases.duration(moments.duration(text))}\n"


def _fields() -> Iterator[str]:
    shapes = {shape.name.lower(): shape.examples for shape in SHAPES} | {
        "a cron schedule": SCHEDULES
    }
    for role, fields in FIELDS.items():
        refused = [name for name, examples in shapes.items() if not _takes(role, examples)]
        named = ", ".join(f"`{field}`" for field in fields)
        yield f"- {named}: all" + (f" but {', '.join(refused)}\n" if refused else "\n")


def _takes(role: Role, examples: tuple[str, ...]) -> bool:
    """Say whether a field takes a shape: any example will do, as `24:00` ends things only."""
    for text in examples:
        try:
            moments.parse(text, role)
        except RefusedError:
            continue
        return True
    return False


def _refused() -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for text, role, instead in REFUSED:
        try:
            moments.parse(text, role)
        except RefusedError as error:
            [finding] = error.findings
            written = finding.proposed or instead
            place = "" if role is Role.BEGIN else f" in `{FIELDS[role][0]}`"
            shown = f"`{text}`{place}" + (f" (`{written}`)" if written else "")
            found.setdefault(finding.rule.id, []).append(shown)
    found[rules.DURATION_SYNTAX.id] = [f"`{text}`" for text in NO_DURATIONS]
    for rule, texts in found.items():
        yield f"- [{rule}](rules.md#{rule}): {', '.join(texts)}\n"
