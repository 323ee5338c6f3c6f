"""Entries for `freezes`: days or times with a reason, each under a name of its own."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from krm_windows.krm import render as render_yaml

_DAY = timedelta(days=1)
_LONGEST = 63


@dataclass(frozen=True, slots=True)
class Entry:
    """A freeze from `starts` to `ends`: two dates, the last included, or two times (naive: on the policy's clock)."""

    starts: date
    ends: date
    reason: str


def render(entries: Iterable[Entry]) -> str:
    """Write entries as the field `freezes` of a policy's spec, in the order of their dates."""
    named: dict[str, dict[str, str]] = {}
    for entry in _joined(entries):
        fields = {"starts": _moment(entry.starts), "ends": _moment(entry.ends), "reason": entry.reason}
        named[_free(_name(entry), named)] = fields
    return render_yaml({"freezes": named}) if named else ""


def _joined(entries: Iterable[Entry]) -> list[Entry]:
    """Sort entries, each once, and join days of one reason that follow each other."""
    joined: list[Entry] = []
    for entry in sorted(set(entries), key=lambda entry: (_moment(entry.starts), entry.reason, _moment(entry.ends))):
        before = next((other for other in joined if _continues(other, entry)), None)
        if before is None:
            joined.append(entry)
        else:
            joined[joined.index(before)] = replace(before, ends=max(before.ends, entry.ends))
    return joined


def _continues(before: Entry, after: Entry) -> bool:
    whole_days = not isinstance(before.ends, datetime) and not isinstance(after.starts, datetime)
    return whole_days and before.reason == after.reason and before.ends + _DAY >= after.starts


def _moment(at: date) -> str:
    return at.isoformat(timespec="minutes") if isinstance(at, datetime) else at.isoformat()


def _name(entry: Entry) -> str:
    """Spell a reason as a DNS label, with the year behind it."""
    plain = unicodedata.normalize("NFKD", entry.reason.replace("ß", "ss")).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain.replace("'", "")).strip("-") or "holiday"
    return f"{words[: _LONGEST - 8].rstrip('-')}-{entry.starts.year}"


def _free(name: str, taken: Iterable[str]) -> str:
    """Return a name that is not taken yet: this one, or with a number behind it."""
    numbered = (name if n == 1 else f"{name}-{n}" for n in range(1, 10_000))
    return next(candidate for candidate in numbered if candidate not in taken)
