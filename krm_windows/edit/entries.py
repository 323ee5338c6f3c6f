"""Entries for `freezes`: days or times with a reason, each under a name of its own."""

import re
import unicodedata
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import chain, count, islice

from krm_windows.krm import render as render_yaml

_DAY = timedelta(days=1)
# A DNS label (RFC 1123), as names in a policy are, with room for `-2026-1000` behind it.
_WORDS = 53
_FOREIGN = re.compile(r"[^a-z0-9]+")
# What a policy is still read with, and how many events are put together to come to it.
MOST, MOST_EVENTS = 1_000, 20_000
# What an entry's beginning, end and words are called in a field of a policy's spec.
_KEYS = {
    "freezes": ("starts", "ends", "reason"),
    "windows": ("opens", "closes", "description"),
}


@dataclass(frozen=True, slots=True)
class DatedEntry:
    """A freeze, or a window, from `starts` to `ends`: two dates, the last included, or two times.

    A naive time is one on the policy's clock.
    """

    starts: date
    ends: date
    reason: str


def render(entries: Iterable[DatedEntry], field: str = "freezes") -> str:
    """Write entries as `freezes` or `windows` of a policy's spec, in the order of their dates.

    Raises ValueError where they are more than a policy can be read with.
    """
    # One more than is allowed is enough to know.
    joined = _joined(islice(entries, MOST_EVENTS + 1))
    if len(joined) > MOST:
        raise ValueError(f"it produces more than {MOST} {field}")
    named: dict[str, dict[str, str]] = {}
    for entry in joined:
        named[name(entry.reason, str(entry.starts.year), named)] = record(entry, field)
    return render_yaml({field: named}) if named else ""


def record(entry: DatedEntry, field: str = "freezes") -> dict[str, str]:
    """Return what the field of a policy's spec says of an entry."""
    starts, ends, reason = _KEYS[field]
    return {starts: _moment(entry.starts), ends: _moment(entry.ends), reason: entry.reason}


def name(reason: str, year: str, taken: Container[str]) -> str:
    """Return a name for an entry, none of those that are taken: `new-years-day-2027`."""
    # No other reason has a name with a number: it would end with a year.
    return free(f"{label(reason)}-{year}".rstrip("-"), taken)


def free(first: str, taken: Container[str]) -> str:
    """Return a name that is not taken: the first one, or that with the lowest number behind it."""
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(each for each in names if each not in taken)


def _joined(entries: Iterable[DatedEntry]) -> list[DatedEntry]:
    """Sort entries, each once, and join days of one reason that follow each other."""
    joined: list[DatedEntry] = []
    for entry in sorted(set(entries), key=lambda each: (each.reason, _order(each))):
        if joined and _continues(joined[-1], entry):
            before = joined[-1]
            # It may end within the one that it follows.
            joined[-1] = replace(before, ends=max(before.ends, entry.ends))
        else:
            joined.append(entry)
    return sorted(joined, key=_order)


def _order(entry: DatedEntry) -> tuple[str, str]:
    # As texts: Python compares no day with a time, and no naive time with one in a zone.
    return _moment(entry.starts), _moment(entry.ends)


def _continues(before: DatedEntry, after: DatedEntry) -> bool:
    """Whether one entry follows another so that both are whole days, with none between."""
    if before.reason != after.reason:
        return False
    # Between two times may be hours.
    if isinstance(before.ends, datetime) or isinstance(after.starts, datetime):
        return False
    return before.ends + _DAY >= after.starts


def _moment(at: date) -> str:
    """Write a day as `2026-12-24`, a time as `2026-12-24T18:00`, with its offset if it has one."""
    if isinstance(at, datetime):
        return at.isoformat(timespec="minutes")
    return at.isoformat()


def label(reason: str) -> str:
    """Spell a reason as the beginning of a DNS label."""
    # NFKD takes the accent from `é`, but has nothing for `ß`.
    spelled = unicodedata.normalize("NFKD", reason.replace("ß", "ss"))
    latin = spelled.encode("ascii", "ignore")
    plain = latin.decode().lower().replace("'", "")
    # `New Year's Day` becomes `new-years-day`; a name in a script without Latin letters has none
    # left.
    words = _FOREIGN.sub("-", plain).strip("-")
    return words[:_WORDS].rstrip("-") or "holiday"
