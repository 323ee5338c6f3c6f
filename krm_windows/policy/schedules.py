"""Cron schedules in a policy.

What Kubernetes accepts, less what makes no window, each refusal with its fix.
"""

import re
from datetime import datetime

from krm_windows import rules
from krm_windows.policy.findings import Finding, RefusedError, closest
from krm_windows.schedule import cron
from krm_windows.schedule.recurrence import Recurrence

_EXAMPLE = 'must be a schedule of five fields such as "0 8 * * MON"'
_FIELDS = 5
_LONGEST_NAME = 3  # of a month or a weekday
_ZONES = ("TZ=", "CRON_TZ=")
# What other crons take, or means nothing in a window, by the beginning of the text.
_REFUSED = (
    (
        re.compile(r"(CRON_)?TZ="),
        rules.CRON_ZONE,
        "must not have a time zone: the policy's `timeZone` applies",
    ),
    (
        re.compile(r"(?i)@every\b"),
        rules.CRON_EVERY,
        f"{_EXAMPLE}: `@every` counts from the start of the controller",
    ),
    (
        re.compile(r"(?i)@reboot\b"),
        rules.CRON_REBOOT,
        f"{_EXAMPLE}: `@reboot` has no meaning in a cluster",
    ),
    # Quartz has seconds in front, and a year at the end where there are seven.
    (
        re.compile(r"(?!@)\s*+(\S++\s++){5,6}\S++\s*$"),
        rules.CRON_FIELDS,
        f"{_EXAMPLE}: a CronJob schedule has no field for seconds or years",
    ),
    # Signs of Quartz and Jenkins, with or without the name of a day before them (`FRIL`).
    (
        re.compile(r"(?i)[^@]*?(#|(?<![a-z])([a-z]{3}L|[LHR]|L?W)(?![a-z]))"),
        rules.CRON_EXTENSION,
        (
            "must not use `L`, `W`, `#`, `H` or `R`, which Kubernetes does not support; a day of a "
            'month is written as "last day 18:00", "last workday 18:00" or "2nd Fri 18:00"'
        ),
    ),
)
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
    for pattern, rule, must in _REFUSED:
        if pattern.match(text):
            raise RefusedError(Finding(rule, must, text))
    try:
        recurrence = cron.parse(text).recurrence
    except cron.CronError as error:
        raise RefusedError(_why(text, error)) from error
    # Only `@every` is none.
    if recurrence is None:
        raise TypeError(text)
    if _ODD.search(text):
        must = "must not have signs, empty list items or anything after a star"
        raise RefusedError(Finding(rules.CRON_ODD, must, text))
    if not fires(recurrence):
        must = "never fires: none of its months has such a day"
        raise RefusedError(Finding(rules.CRON_NEVER, must, text))
    return recurrence


def _why(text: str, error: cron.CronError) -> Finding:
    """Return why a schedule is none: known mistakes in words, others as the grammar says them."""
    if text.startswith("@"):
        must = f"must be one of {', '.join(cron.DESCRIPTORS)}"
        return Finding(rules.CRON_SYNTAX, must, text, closest(text, cron.DESCRIPTORS))
    fields = text.split()
    # Other crons give Sunday this number too.
    if re.search(r"(?<![\d/])7(?!\d)", fields[-1]):
        return Finding(rules.CRON_SEVEN, "must write Sunday as 0, as in `1-6,0`", text)
    if any(map(_wraps, fields, cron.FIELDS)):
        must = "must have ranges that do not wrap: write two, as `5-6,0-1` for `5-1`"
        return Finding(rules.CRON_WRAP, must, text)
    return Finding(rules.CRON_SYNTAX, f"{_EXAMPLE} ({error})", text)


def _wraps(field: str, bounds: cron.Bounds) -> bool:
    """Whether a range of a field runs past its end."""
    for item in field.split(","):
        first, _, last = map(bounds.number, item.partition("/")[0].partition("-"))
        if first is not None and last is not None and bounds.low <= last < first <= bounds.high:
            return True
    return False


def fires(recurrence: Recurrence) -> bool:
    """Whether a schedule ever fires: a field of empty items allows nothing, nor 30 February."""
    # No search takes longer than to the next 29 February.
    return recurrence.after(datetime.min) is not None  # noqa: DTZ901 - a wall clock


def caution(text: str, recurrence: Recurrence) -> Finding | None:
    """Warn of a schedule that restricts both day fields: it fires where either of them matches."""
    if not recurrence.either:
        return None
    must = (
        "must restrict only one of the two day fields: with both, it fires on every day that "
        "matches either"
    )
    return Finding(rules.CRON_EITHER_DAY, must, text)
