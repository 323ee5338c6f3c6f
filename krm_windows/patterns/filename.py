"""Globs of the shell for one name in a directory: `*`, `?` and `[…]`, as `fnmatch` reads them.

Only the last star is ever gone back to: what an earlier one matched can stay as short as it is, for
the later star takes up the rest. So a name costs at most its length times that of the pattern.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class _Any:
    """A star: any characters, none included."""


@dataclass(frozen=True, slots=True)
class _One:
    """One character: within one of some ranges, or within none.

    No ranges and negated is any at all.
    """

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False

    def takes(self, char: str) -> bool:
        is_within = any(low <= char <= high for low, high in self.ranges)
        return is_within != self.negated


_STAR = _Any()
_Part = _Any | _One


def is_pattern(text: str) -> bool:
    """Whether a text has a sign of a pattern."""
    return any(sign in text for sign in "*?[")


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern matches the whole of a name."""
    return _matches(_parts(pattern), name)


def _matches(parts: Sequence[_Part], name: str) -> bool:
    part = place = 0
    # The part behind the last star, and up to where that star reaches.
    star: int | None = None
    held = 0
    while place < len(name):
        here = parts[part] if part < len(parts) else None
        # First a star matches nothing; it takes more when what follows does not fit.
        if isinstance(here, _Any):
            part += 1
            star, held = part, place
        elif here is not None and here.takes(name[place]):
            part += 1
            place += 1
        elif star is None:
            return False
        else:
            # Have the star take one character more, and try again from there.
            held += 1
            part, place = star, held
    # Behind the end of the name only stars may be left.
    return all(isinstance(rest, _Any) for rest in parts[part:])


@lru_cache(maxsize=256)
def _parts(pattern: str) -> tuple[_Part, ...]:
    found: list[_Part] = []
    place = 0
    while place < len(pattern):
        sign = pattern[place]
        end = _class_end(pattern, place) if sign == "[" else None
        if end is not None:
            found.append(_class(pattern[place + 1 : end]))
            place = end
        elif sign == "*":
            found.append(_STAR)
        elif sign == "?":
            found.append(_One((), negated=True))
        else:
            found.append(_One(((sign, sign),)))
        place += 1
    return tuple(found)


def _class_end(pattern: str, start: int) -> int | None:
    """Return where the class ends that begins at a bracket; None where the bracket is only one."""
    first = start + 1
    if pattern.startswith("!", first):
        first += 1
    # A `]` right at the beginning is a member: `[]]`, `[!]]`.
    if pattern.startswith("]", first):
        first += 1
    end = pattern.find("]", first)
    if end >= 0:
        return end
    return None


def _class(inside: str) -> _One:
    negated = inside.startswith("!")
    members = inside.removeprefix("!")
    ranges: list[tuple[str, str]] = []
    place = 0
    while place < len(members):
        first = members[place]
        # A hyphen at the end stands for itself.
        is_range = members[place + 1 : place + 2] == "-" and place + 2 < len(members)
        last = members[place + 2] if is_range else first
        ranges.append((first, last))
        # A range has three characters, `a-z`.
        place += 3 if is_range else 1
    return _One(tuple(ranges), negated)
