"""Cron schedules in a policy.

What Kubernetes accepts, less what makes no window, each refusal with its fix.
"""

import re

from krm_windows import rules
from krm_windows.policy.findings import Finding, RefusedError, is_slip
from krm_windows.schedule import cron
from krm_windows.schedule.recurrence import Recurrence

# robfig/cron's, without `@every`, which has no time of day.
DESCRIPTORS = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
_EXAMPLE = 'must be a schedule of five fields such as "0 8 * * MON"'
_FIELDS = 5
_SEVEN = 7
_LONGEST_NAME = 3  # of a month or a weekday
_ZONES = ("TZ=", "CRON_TZ=")
# Names in which a letter is no sign of another cron: the L of `jul`, the W of `wed`.
# Compiled by `re` when the first schedule is read: most policies have none.
_NAMES = r"(?i)@\w+|sun|mon|tue|wed|thur?|fri|sat|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
# Signs of Quartz and Jenkins.
_FOREIGN = r"(?i)#|(?<![a-z])(?:[LHR]|L?W)(?![a-z])"
_RANGE = r"(?i)(\d+|[a-z]{3})(?:-(\d+|[a-z]{3}))?"
# What robfig/cron reads without a word: signs (`+8`), empty items (`1,,2`), a star with a tail
# (`*-5`, of which it reads the star alone).
_ODD = re.compile(r"(?<![^\s,/-])\+\d|(?<!\S),|,(?!\S)|,,|[*?]-")


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
        must = f"{_EXAMPLE} ({error})"
        raise RefusedError(Finding(rules.CRON_SYNTAX, must, text)) from error
    # Only `@every` is none, and `_descriptor` has refused it.
    if recurrence is None:
        raise TypeError(text)
    if _ODD.search(text):
        must = "must not have signs, empty list items or anything after a star"
        raise RefusedError(Finding(rules.CRON_ODD, must, text))
    if not fires(recurrence):
        must = "never fires: none of its months has such a day"
        raise RefusedError(Finding(rules.CRON_NEVER, must, text))
    return recurrence


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
    return Finding(rules.CRON_SYNTAX, must, text, next(meant, None))


def _count(text: str) -> Finding | None:
    fields = text.split()
    found = len(fields)
    if text.startswith("@") or found == _FIELDS:
        return None
    must = f"{_EXAMPLE}, not {found}"
    # Quartz has seconds in front, and a year at the end where there are seven.
    if found in (_FIELDS + 1, _FIELDS + 2):
        must = f"{must}: a CronJob schedule has no field for seconds or years"
        return Finding(rules.CRON_FIELDS, must, text)
    return Finding(rules.CRON_SYNTAX, must, text)


def _extension(text: str) -> Finding | None:
    if not re.search(_FOREIGN, re.sub(_NAMES, "", text)):
        return None
    must = (
        "must not use `L`, `W`, `#`, `H` or `R`, which Kubernetes does not support; a day of a "
        'month is written as "last day 18:00", "last workday 18:00" or "2nd Fri 18:00"'
    )
    return Finding(rules.CRON_EXTENSION, must, text)


def _wrapping(text: str) -> Finding | None:
    """Find ranges that run past the end of their field, and a Sunday called 7."""
    if text.startswith("@"):
        return None
    for field, bounds in zip(text.split(), cron.FIELDS, strict=True):
        for item in field.split(","):
            ends = re.fullmatch(_RANGE, item.partition("/")[0])
            numbers = [bounds.number(end) for end in ends.groups() if end] if ends else []
            known = [number for number in numbers if number is not None]
            # Beyond the field it is no range at all, which the grammar says.
            if not known or len(known) < len(numbers) or max(known) > max(bounds.high, _SEVEN):
                continue
            # Other crons give Sunday this number too, and Kubernetes does not.
            if bounds is cron.FIELDS[-1] and _SEVEN in known:
                must = "must write Sunday as 0, as in `1-6,0`"
                return Finding(rules.CRON_SEVEN, must, text)
            if known[0] > known[-1] and max(known) <= bounds.high:
                must = "must have ranges that do not wrap: write two, as `5-6,0-1` for `5-1`"
                return Finding(rules.CRON_WRAP, must, text)
    return None


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
    return Finding(rules.CRON_EITHER_DAY, must, text)
