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
        for low, high in self.ranges:
            if low <= char <= high:
                return not self.negated
        return self.negated


_STAR = _Any()
_Part = _Any | _One


def is_pattern(text: str) -> bool:
    """Whether a text has a sign of a pattern."""
    return any(sign in text for sign in "*?[")


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern matches the whole of a name."""
    return _matches(_parts(pattern), name)


def _matches(parts: Sequence[_Part], name: str) -> bool:
    part = position = 0
    # The part behind the last star, and up to where that star reaches.
    star: int | None = None
    held = 0
    while position < len(name):
        here: _Part | None = None
        if part < len(parts):
            here = parts[part]
        # First a star matches nothing; it takes more when what follows does not fit.
        if isinstance(here, _Any):
            part += 1
            star, held = part, position
        elif here is not None and here.takes(name[position]):
            part += 1
            position += 1
        elif star is None:
            return False
        else:
            # Have the star take one character more, and try again from there.
            held += 1
            part, position = star, held
    # Behind the end of the name only stars may be left.
    return all(isinstance(rest, _Any) for rest in parts[part:])


@lru_cache(maxsize=256)
def _parts(pattern: str) -> tuple[_Part, ...]:
    found: list[_Part] = []
    position = 0
    while position < len(pattern):
        sign = pattern[position]
        end: int | None = None
        if sign == "[":
            end = _class_end(pattern, position)
        if end is not None:
            inside = pattern[position + 1 : end]
            found.append(_class(inside))
            position = end
        elif sign == "*":
            found.append(_STAR)
        elif sign == "?":
            # Not within any of no ranges: every character.
            found.append(_One((), negated=True))
        else:
            # A character is a range of its own, and so is a bracket that nothing closes.
            itself = (sign, sign)
            found.append(_One((itself,)))
        position += 1
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
    position = 0
    while position < len(members):
        first = members[position]
        last = first
        # A range has three characters, `a-z`.
        if _is_range(members, position):
            position += 2
            last = members[position]
        ranges.append((first, last))
        position += 1
    return _One(tuple(ranges), negated)


def _is_range(members: str, position: int) -> bool:
    """Whether a range begins at a position: a hyphen at the end of a class stands for itself."""
    if position + 2 >= len(members):
        return False
    return members[position + 1] == "-"
