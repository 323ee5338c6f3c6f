"""The cron grammar of Kubernetes: what robfig/cron v3's `ParseStandard` accepts, exactly.

The oddities are part of it: empty list items count for nothing, `*-5` is a star, `+8` is 8, a `?`
is a star, and Go's idea of blanks, digits and lower case holds, not Python's.
"""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from krm_windows.schedule import durations, zones
from krm_windows.schedule.recurrence import Recurrence


class CronError(ValueError):
    """A text that `ParseStandard` refuses."""


class Schedule(NamedTuple):
    """What a schedule says: a recurrence, or a period for `@every`.

    `time_zone` is that of a `TZ=` prefix.
    """

    recurrence: Recurrence | None
    every: timedelta | None = None
    time_zone: str | None = None


class Bounds(NamedTuple):
    """The least and the greatest value of a field, and the names it knows."""

    low: int
    high: int
    names: tuple[str, ...] = ()

    def number(self, text: str) -> int | None:
        """Return the number of a name of this field, or one as Go reads it, in bounds or not."""
        name = text.lower()
        if name in self.names:
            # `jan` is 1 and `sun` 0: names count from the least value on.
            return self.low + self.names.index(name)
        return _integer(text)


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
LONGEST_MONTHS = dict(enumerate((31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), start=1))
"""The most days that each month has, by its number."""
FIELDS = (
    Bounds(0, 59),
    Bounds(0, 23),
    Bounds(1, 31),
    Bounds(1, 12, MONTHS),
    Bounds(0, 6, WEEKDAYS),
)
# What robfig/cron calls descriptors.
DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

# Go's `unicode.IsSpace`; Python's own idea of a blank adds the control characters 1C to 1F.
_BLANK = (
    "\t\n\v\f\r \x85\xa0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + "\u2028\u2029\u202f\u205f\u3000"
)
_WORD = re.compile(f"[^{_BLANK}]+")
# `TZ=Europe/Berlin 0 8 * * *`, or `CRON_TZ=` as in old crontabs; one blank ends the name.
_ZONE = re.compile(r"(?:CRON_)?TZ=([^ ]*)( .*)?", re.DOTALL)
# `-0` is 0 to Go, and any other negative number is refused.
_INTEGER = re.compile(r"\+?(?=[0-9])0*+([1-9][0-9]{0,18})?|-0+")
_LARGEST = 2**63 - 1  # Go's int


def parse(text: str) -> Schedule:
    """Read a schedule; raises `CronError` for what Kubernetes' parser refuses, and nothing else."""
    zone, spec = _zone(text)
    if spec.startswith("@every "):
        return Schedule(None, _duration(spec.removeprefix("@every ")), zone)
    if spec.startswith("@"):
        if spec not in DESCRIPTORS:
            raise CronError(f"unrecognized descriptor: {spec}")
        spec = DESCRIPTORS[spec]
    return Schedule(_recurrence(_WORD.findall(spec)), None, zone)


def runs(numbers: Iterable[int]) -> list[list[int]]:
    """Part numbers where one does not follow the one before it: what a range can hold."""
    found: list[list[int]] = []
    for number in numbers:
        # Compared with the last of the latest run.
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return found


def items(numbers: Iterable[int], minimum: int) -> str:
    """Write numbers in their order as the items of a field; runs of `minimum` and more as ranges.

    At least two are a range.
    """
    found: list[str] = []
    for run in runs(numbers):
        if len(run) >= minimum:
            found.append(f"{run[0]}-{run[-1]}")
        else:
            found.extend(map(str, run))
    return ",".join(found)


def field(values: Iterable[int], full: Iterable[int]) -> str:
    """Return a set as a cron field: a star, or numbers with runs of three and more as ranges."""
    wanted = sorted(set(values))
    if wanted == list(full):
        return "*"
    # `1,2` reads shorter than `1-2`.
    return items(wanted, minimum=3)


def _zone(text: str) -> tuple[str | None, str]:
    prefix = _ZONE.fullmatch(text)
    if not prefix:
        return None, text
    name = prefix[1]
    spec = prefix[2]
    # `Local` and an empty name mean the zone of the controller.
    is_known = name in ("", "Local") or name in zones.names()
    if not spec or not is_known:
        raise CronError(f"provided bad location {name}")
    return name, spec.strip(_BLANK)


def _recurrence(fields: list[str]) -> Recurrence:
    if len(fields) != len(FIELDS):
        raise CronError(f"expected exactly 5 fields, found {len(fields)}")
    parsed = [_field(text, bounds) for text, bounds in zip(fields, FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = (values for values, _ in parsed)
    _, has_star_day = parsed[2]
    _, has_star_weekday = parsed[4]
    # crontab(5): where both day fields are restricted, one that matches is enough.
    either = not has_star_day and not has_star_weekday
    return Recurrence(minutes, hours, days, months, weekdays, either=either)


def _field(text: str, bounds: Bounds) -> tuple[frozenset[int], bool]:
    """Read a list of ranges; the second value says whether one of them is a star."""
    chosen: set[int] = set()
    has_star = False
    for item in text.split(","):
        # `1,,2` is `1,2`, as Go's `FieldsFunc` gives no empty fields.
        if not item:
            continue
        values, is_star = _range(item, bounds)
        chosen.update(values)
        has_star = has_star or is_star
    return frozenset(chosen), has_star


def _range(item: str, bounds: Bounds) -> tuple[range, bool]:
    """Read one range (`8-17/2`), and say whether it is a star."""
    ends, *steps = item.split("/")
    low, *highs = ends.split("-")
    is_star = low in ("*", "?")
    first, last = (bounds.low, bounds.high) if is_star else _ends(low, highs, bounds)
    step = _step(steps)
    # `5/15` goes on to the end of the field.
    if steps and not highs:
        last = bounds.high
    if first < bounds.low or last > bounds.high or first > last:
        raise CronError(f"{item} is not within {bounds.low} to {bounds.high}")
    # `*/2` restricts, and so is no star where the two day fields are put together.
    return range(first, last + 1, step), is_star and step == 1


def _ends(
    low: str,
    highs: list[str],
    bounds: Bounds,
) -> tuple[int, int]:
    if len(highs) > 1:
        raise CronError(f"too many hyphens: {'-'.join([low, *highs])}")
    first = _number(low, bounds)
    return first, _number(highs[0], bounds) if highs else first


def _step(steps: list[str]) -> int:
    if len(steps) > 1:
        raise CronError(f"too many slashes: {'/'.join(steps)}")
    if not steps:
        return 1
    step = _integer(steps[0])
    # A step of 0 would never end, and Go refuses it too.
    if not step:
        raise CronError("step of range should be a positive number")
    return step


def _number(text: str, bounds: Bounds) -> int:
    # Go lowers a dotted capital I to a plain i, Python to two characters.
    number = bounds.number(text.replace("İ", "i"))
    if number is None:
        raise CronError(f"failed to parse int from {text}")
    return number


def _integer(text: str) -> int | None:
    """Read a number; None where there is none, or one that Go refuses."""
    found = _INTEGER.fullmatch(text)
    number = int(found[1] or 0) if found else _LARGEST + 1
    return number if number <= _LARGEST else None


def _duration(text: str) -> timedelta:
    """Read a duration, rounded as `cron.Every` does: whole seconds, at least one."""
    length = durations.nanoseconds(text)
    if length is None:
        raise CronError(f"failed to parse duration {text}")
    return timedelta(seconds=max(1, length // 10**9))
