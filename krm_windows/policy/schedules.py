"""Cron schedules in a policy.

What Kubernetes accepts, less what makes no window, each refusal with its fix.
"""

import re
from collections.abc import Callable

from krm_windows import rules
from krm_windows.policy.findings import Finding, RefusedError, is_slip
from krm_windows.rules import Rule
from krm_windows.schedule import cron
from krm_windows.schedule.recurrence import EVERY_MONTH, Recurrence

# robfig/cron's, without `@every`, which has no time of day.
DESCRIPTORS = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
_EXAMPLE = 'must be a schedule of five fields such as "0 8 * * MON"'
_FIELDS = 5
_LONGEST_NAME = 3  # of a month or a weekday
_ZONES = ("TZ=", "CRON_TZ=")
# Names in which a letter is no sign of another cron: the L of `jul`, the W of `wed`.
# Compiled by `re` when the first schedule is read: most policies have none.
_NAMES = r"(?i)@\w+|sun|mon|tue|wed|thur?|fri|sat|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
# Signs of Quartz and Jenkins.
_FOREIGN = r"(?i)#|(?<![a-z])(?:[LHR]|L?W)(?![a-z])"
_RANGE = r"(?i)(\d+|[a-z]{3})(?:-(\d+|[a-z]{3}))?"
# Quartz: `0 8 * * 5#2` is the second Friday, `0 8 * * 5L` the last one, `0 8 L * *` the last day,
# `0 8 LW * *` the last workday.
_NTH = (
    r"(?i)(?P<minute>\d{1,2}) (?P<hour>\d{1,2}) (?:(?P<last>lw?) \* [*?]|"
    r"\* \* (?P<day>[0-6]|sun|mon|tue|wed|thu|fri|sat)(?:#(?P<nth>[1-5])|l))"
)
_LAST = {"l": "last day", "lw": "last workday"}
_ORDINALS = {"1": "1st", "2": "2nd", "3": "3rd", "4": "4th", "5": "5th"}
# Seven days in a row hold each weekday once: so is an nth weekday written for cron.
_WEEKS = {
    frozenset(range(first, first + 7)): nth
    for first, nth in ((1, "1st"), (8, "2nd"), (15, "3rd"), (22, "4th"))
}


def looks_like_one(text: str) -> bool:
    """Whether a text is meant as a schedule, right or wrong."""
    words = text.split()
    if text.startswith(("@", *_ZONES)):
        return True
    # `every second Tuesday of the month at 22:00`: no field has a colon.
    if any(":" in word for word in words):
        return False
    # A text of two words is a moment such as `Mon 8`, and one with long words a phrase such as
    # `on every second Monday at 8`, unless a star says otherwise.
    has_star = any("*" in word for word in words)
    has_long_word = any(word.isalpha() and len(word) > _LONGEST_NAME for word in words)
    return (len(words) >= _FIELDS and not has_long_word) or (len(words) > 1 and has_star)


def parse(text: str) -> Recurrence:
    """Read a schedule; raises `RefusedError` with the rule it breaks."""
    # What is most likely meant is searched for before the grammar is.
    for check in (_zone, _descriptor, _count, _extension, _wrapping):
        finding = check(text)
        if finding:
            raise RefusedError(finding)
    try:
        recurrence = cron.parse(text).recurrence
    except cron.CronError as error:
        raise RefusedError(_refusal(rules.CRON_SYNTAX, f"{_EXAMPLE} ({error})", text)) from error
    # Only `@every` is none, and `_descriptor` has refused it.
    if recurrence is None:
        raise TypeError(text)
    finding = _odd(text) or _never(text, recurrence)
    if finding:
        raise RefusedError(finding)
    return recurrence


def _refusal(
    rule: Rule,
    must: str,
    text: str,
    proposed: str | None = None,
) -> Finding:
    # What is proposed must not be refused in its turn.
    if proposed and _accepted(proposed):
        return Finding(rule, must, text, proposed)
    return Finding(rule, must, text)


def _accepted(text: str) -> bool:
    """Whether `parse` takes a schedule; not `parse` itself, which would ask this in its turn."""
    # Of what the grammar takes, `parse` refuses zones, `@every`, odd signs, and what never comes.
    if text.startswith(_ZONES) or _is_odd(text):
        return False
    try:
        recurrence = cron.parse(text).recurrence
    except cron.CronError:
        return False
    return recurrence is not None and fires(recurrence)


def _zone(text: str) -> Finding | None:
    if not text.startswith(_ZONES):
        return None
    must = "must not have a time zone: the policy's `timeZone` applies"
    return Finding(rules.CRON_ZONE, must, text)


def _descriptor(text: str) -> Finding | None:
    if not text.startswith("@") or text in DESCRIPTORS:
        return None
    name = text.split(maxsplit=1)[0].lower()
    if name == "@every":
        must = f"{_EXAMPLE}: `@every` counts from the start of the controller"
        return Finding(rules.CRON_EVERY, must, text)
    if name == "@reboot":
        return Finding(
            rules.CRON_REBOOT, f"{_EXAMPLE}: `@reboot` has no meaning in a cluster", text
        )
    must = f"must be one of {', '.join(DESCRIPTORS)}"
    meant = (known for known in DESCRIPTORS if name == known or is_slip(name, known))
    return _refusal(rules.CRON_SYNTAX, must, text, next(meant, None))


def _count(text: str) -> Finding | None:
    fields = text.split()
    found = len(fields)
    if text.startswith("@") or found == _FIELDS:
        return None
    must = f"{_EXAMPLE}, not {found}"
    # Less than five fields could be any of them.
    if found < _FIELDS or found > _FIELDS + 2:
        return _refusal(rules.CRON_SYNTAX, must, text)
    # Quartz has seconds in front, and a year at the end where there are seven.
    kept = fields[1 : _FIELDS + 1]
    has_year = found > _FIELDS + 1 and fields[-1] not in ("*", "?")
    must = f"{must}: a CronJob schedule has no field for seconds or years"
    # A year is not left out; 2 is Monday in Quartz, and Tuesday elsewhere; and of six fields the
    # first are seconds, or the last years.
    if has_year or re.search(r"\d", kept[-1]) or (found == _FIELDS + 1 and kept[-1] in "*?"):
        return Finding(rules.CRON_FIELDS, must, text)
    return _refusal(rules.CRON_FIELDS, must, text, " ".join(kept))


def _extension(text: str) -> Finding | None:
    if not re.search(_FOREIGN, re.sub(_NAMES, "", text)):
        return None
    must = (
        "must not use `L`, `W`, `#`, `H` or `R`, which Kubernetes does not support; a day of a "
        'month is written as "last day 18:00", "last workday 18:00" or "2nd Fri 18:00"'
    )
    return Finding(rules.CRON_EXTENSION, must, text, _as_nth(text))


def _as_nth(text: str) -> str | None:
    """Say `0 8 * * 5#2`, `0 8 * * 5L` and `0 8 L * *` as this grammar does."""
    found = re.fullmatch(_NTH, " ".join(text.split()))
    # `99` has two digits and is no hour: that grammar takes what cron takes without the extension.
    if not found or not _accepted(f"{found['minute']} {found['hour']} * * *"):
        return None
    if found["last"]:
        named = _LAST[found["last"].lower()]
    else:
        day = found["day"]
        name = cron.WEEKDAYS[int(day)] if day.isdigit() else day
        named = f"{_ORDINALS.get(found['nth'], 'last')} {name.capitalize()}"
    return f"{named} {int(found['hour']):02}:{int(found['minute']):02}"


def _wrapping(text: str) -> Finding | None:
    """Find ranges that run past the end of their field, and a Sunday called 7."""
    if text.startswith("@"):
        return None
    fields = text.split()
    unwrapped = []
    for field, bounds in zip(fields, cron.FIELDS, strict=True):
        unwrapped.append(_unwrapped_field(field, bounds))
    if unwrapped == fields:
        return None
    proposed = " ".join(unwrapped)
    # A 7 that is no part of a number or of a step.
    if re.search(r"(?<![\d/])7", fields[-1]):
        must = f"must write Sunday as 0: write the weekday as `{unwrapped[-1]}`"
        return _refusal(rules.CRON_SEVEN, must, text, proposed)
    changed = [f"`{new}`" for old, new in zip(fields, unwrapped, strict=True) if old != new]
    must = f"must have ranges that do not wrap: write {' and '.join(changed)}"
    return _refusal(rules.CRON_WRAP, must, text, proposed)


def _unwrapped_field(field: str, bounds: cron.Bounds) -> str:
    return ",".join([_unwrapped_item(item, bounds) for item in field.split(",")])


def _unwrapped_item(item: str, bounds: cron.Bounds) -> str:
    """Write one item without a wrapping range or a 7; an item that has neither stays as it is."""
    ends, _, step = item.partition("/")
    found = re.fullmatch(_RANGE, ends)
    if found is None:
        return item
    first = bounds.number(found[1])
    last = first
    if found[2]:
        last = bounds.number(found[2])
    if first is None or last is None:
        return item
    # Other crons give Sunday this number too, and Kubernetes does not.
    has_seven = bounds is cron.FIELDS[-1] and 7 in (first, last)  # noqa: PLR2004
    if first <= last and not has_seven:
        return item
    # Beyond the field it is no range at all, which the grammar says.
    if max(first, last) > bounds.high + has_seven:
        return item
    every = 1
    if step.isdigit():
        every = int(step)
    return _wrapped(first, last, every, bounds)


def _wrapped(
    first: int,
    last: int,
    step: int,
    bounds: cron.Bounds,
) -> str:
    """Write a range that goes on from the beginning of its field as the ranges that it is."""
    size = bounds.high - bounds.low + 1
    # `Fri-Mon` is 5 to 8, of which 7 and 8 are 0 and 1.
    stop = last
    if first > last:
        stop = last + size
    beyond_field = range(first, stop + 1, max(step, 1))
    values = [(value - bounds.low) % size + bounds.low for value in beyond_field]
    # Each once: of `0-7` both ends are Sunday.
    unique = list(dict.fromkeys(values))
    if len(unique) == size:
        return "*"
    # What was written as a range stays one, however short.
    return cron.items(unique, minimum=2)


def _without_signs(text: str) -> str:
    return text.replace("+", "")


def _without_ranges_from_stars(text: str) -> str:
    # `*-5`: robfig/cron reads the star, and nothing of what is behind it.
    return re.sub(r"([*?])-[^\s,/]*", r"\1", text)


def _without_empty_items(text: str) -> str:
    fields = []
    for field in text.split():
        items = [item for item in field.split(",") if item]
        fields.append(",".join(items) or "*")
    return " ".join(fields)


# What is odd, and what takes it out: `+8`, `1,,2` and `*-5`.
_ODD: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (re.compile(r"(?<![^\s,/-])\+\d"), _without_signs),
    (re.compile(r"(?<!\S),|,(?!\S)|,,"), _without_empty_items),
    (re.compile(r"[*?]-"), _without_ranges_from_stars),
)


def _is_odd(text: str) -> bool:
    return any(pattern.search(text) for pattern, _ in _ODD)


def _odd(text: str) -> Finding | None:
    """Find signs, empty list items and stars with a tail: accepted by Kubernetes, and not meant.

    A schedule may be odd in several ways: what is proposed is so in none.
    """
    # robfig/cron reads them without a word.
    if not _is_odd(text):
        return None
    proposed = text
    for _, clean in _ODD:
        proposed = clean(proposed)
    must = "must not have signs, empty list items or anything after a star"
    return _refusal(rules.CRON_ODD, must, text, proposed)


def _never(text: str, recurrence: Recurrence) -> Finding | None:
    if fires(recurrence):
        return None
    must = "never fires: none of its months has such a day"
    return Finding(rules.CRON_NEVER, must, text)


def fires(recurrence: Recurrence) -> bool:
    """Whether a schedule ever fires.

    Over the centuries every date falls on every day of the week.
    """
    # A field of empty items alone allows nothing.
    if not (recurrence.minutes and recurrence.hours and recurrence.months):
        return False
    # The 30th of February alone never comes; where there is an earlier day, that does.
    first_day = min(recurrence.days, default=32)
    has_date = any(first_day <= cron.LONGEST_MONTHS[month] for month in recurrence.months)
    has_weekday = bool(recurrence.weekdays)
    if recurrence.either:
        return has_date or has_weekday
    return has_date and has_weekday


def caution(text: str, recurrence: Recurrence) -> Finding | None:
    """Warn of a schedule that restricts both day fields: it fires where either of them matches."""
    if not recurrence.either:
        return None
    must = (
        "must restrict only one of the two day fields: with both, it fires on every day that "
        "matches either"
    )
    return Finding(rules.CRON_EITHER_DAY, must, text, _nth_meant(recurrence))


def _nth_meant(recurrence: Recurrence) -> str | None:
    """Guess the nth weekday that `0 8 8-14 * 2` is meant for."""
    nth = _WEEKS.get(recurrence.days)
    if not nth or recurrence.months != EVERY_MONTH:
        return None
    if not len(recurrence.weekdays) == len(recurrence.minutes) == len(recurrence.hours) == 1:
        return None
    (weekday,) = recurrence.weekdays
    (hour,) = recurrence.hours
    (minute,) = recurrence.minutes
    return f"{nth} {cron.WEEKDAYS[weekday].capitalize()} {hour:02}:{minute:02}"
