"""Whether a regular expression is matched in a time that grows as its text does.

That is read from its structure. `re` backtracks: it tries one way through a pattern after the
other. A pattern is an automaton, in which each part that reads a character is a position; the ways
that `re` may try on a text are the paths through it. Their number stays within a constant, for
every beginning of every text, if and only if there is no text `w` on which a path

- leads from a position back to itself in two ways (exponentially many paths), or
- leads from `p` to `p`, from `p` to another `q`, and from `q` to `q` (as many paths as the text is
  long, or more)

(Weber and Seidl, On the degree of ambiguity of finite automata, 1991). A search begins at each
character anew, which is a position before all others that reads anything. What looks around is
taken as always true, which only adds paths, and may itself have no loop.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

# What the parser returns is written in these.
from re import _constants as c  # type: ignore[attr-defined]

# The one parser that is certainly right.
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, TypeAlias

# What the parser returns has no types.
Parsed: TypeAlias = Any
# A repetition of more is taken for one without end.
_FEW = 6
_OTHERS = "éßİſ\u212a中€😀\x85\xa0\u2028\ufeff"
_CHARACTERS = "".join(map(chr, range(128))) + _OTHERS
_ALL = (1 << len(_CHARACTERS)) - 1


def _mask(characters: Iterable[str]) -> int:
    return sum(1 << _CHARACTERS.index(char) for char in set(characters) if char in _CHARACTERS)


_NEWLINE = _mask("\n")


@dataclass(frozen=True)
class _Edge:
    target: int
    mask: int


@dataclass
class _Fragment:
    first: list[_Edge]
    last: list[tuple[int, int]]
    empty: int  # in how many ways it reads nothing; two stand for all beyond
    # What may follow where nothing was read.
    guard: int = _ALL


@dataclass
class Automaton:
    flags: int
    reads: list[int] = field(default_factory=list)
    follows: dict[int, list[_Edge]] = field(default_factory=dict)
    unbounded_look: bool = False

    def position(self, mask: int) -> _Fragment:
        number = len(self.reads)
        self.reads.append(mask)
        self.follows[number] = []
        return _Fragment([_Edge(number, mask)], [(number, _ALL)], empty=0)

    def link(self, last: Iterable[tuple[int, int]], first: Sequence[_Edge]) -> None:
        for number, guard in last:
            for edge in first:
                if guard & edge.mask:
                    self.follows[number].append(_Edge(edge.target, guard & edge.mask))

    # ---- building

    def sequence(self, items: Iterable[tuple[Any, Any]], flags: int) -> _Fragment:
        built = _Fragment([], [], empty=1)
        for item in items:
            built = self._then(built, self.item(item, flags))
        return built

    def _then(self, before: _Fragment, after: _Fragment) -> _Fragment:
        self.link(before.last, after.first)
        first = list(before.first)
        for _ in range(before.empty):
            first += [
                _Edge(e.target, e.mask & before.guard) for e in after.first if e.mask & before.guard
            ]
        last = list(after.last)
        for _ in range(after.empty):
            last += [(number, guard & after.guard) for number, guard in before.last]
        return _Fragment(
            first, last, min(before.empty * after.empty, 2), before.guard & after.guard
        )

    # A return for each kind of item.
    def item(self, item: tuple[Any, Any], flags: int) -> _Fragment:  # noqa: PLR0911
        kind, value = item
        if kind in (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN):
            return self.position(self._characters(item, flags))
        if kind is c.SUBPATTERN:
            _, added, removed, inside = value
            return self.sequence(inside, (flags | added) & ~removed)
        if kind is c.BRANCH:
            return self._branch([self.sequence(each, flags) for each in value[1]])
        if kind in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
            return self._repeat(*value, flags=flags, possessive=kind is c.POSSESSIVE_REPEAT)
        if kind is c.ATOMIC_GROUP:
            return self.sequence(value, flags)
        if kind in (c.ASSERT, c.ASSERT_NOT):
            ahead = (
                value[0] == 1
                and len(value[1]) == 1
                and value[1][0][0] in (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN)
            )
            if ahead and kind is c.ASSERT:
                return _Fragment([], [], empty=1, guard=self._characters(value[1][0], flags))
            self.unbounded_look |= value[1].getwidth()[1] > 100
        elif kind is not c.AT:
            raise NotImplementedError(kind)
        return _Fragment([], [], empty=1)

    def _branch(self, parts: Sequence[_Fragment]) -> _Fragment:
        first = [edge for part in parts for edge in part.first]
        last = [each for part in parts for each in part.last]
        return _Fragment(first, last, min(sum(part.empty for part in parts), 2))

    def _repeat(
        self, least: int, most: int, inside: Parsed, *, flags: int, possessive: bool
    ) -> _Fragment:
        endless = most is c.MAXREPEAT or most > _FEW
        built = _Fragment([], [], empty=1)
        for _ in range(min(least, _FEW) if not endless else min(least, 1)):
            built = self._then(built, self.sequence(inside, flags))
        if not endless:
            for _ in range(most - least):
                part = self.sequence(inside, flags)
                part.empty = min(part.empty + 1, 2)
                built = self._then(built, part)
            return built
        loop = self.sequence(inside, flags)
        self.link(loop.last, loop.first)
        outside = _ALL
        if possessive and len(loop.first) == 1 and loop.last == [(loop.first[0].target, _ALL)]:
            # One character at a time, and none given back: what follows is none of them.
            outside = _ALL & ~loop.first[0].mask
        loop.last = [(number, guard & outside) for number, guard in loop.last]
        loop.empty = 1
        loop.guard = outside
        return self._then(built, loop)

    def _characters(self, item: tuple[Any, Any], flags: int) -> int:
        kind, value = item
        if kind is c.ANY:
            return _ALL if flags & re.DOTALL else _ALL & ~_NEWLINE
        if kind is c.LITERAL:
            return self._cased(_mask(chr(value)) if chr(value) in _CHARACTERS else 0, flags)
        if kind is c.NOT_LITERAL:
            return _ALL & ~self._cased(_mask(chr(value)), flags)
        return self._class(value, flags)

    def _class(self, members: Sequence[tuple[Any, Any]], flags: int) -> int:
        found, negated = 0, False
        for kind, value in members:
            if kind is c.NEGATE:
                negated = True
            elif kind is c.LITERAL:
                found |= _mask(chr(value))
            elif kind is c.RANGE:
                found |= _mask(char for char in _CHARACTERS if value[0] <= ord(char) <= value[1])
            elif kind is c.CATEGORY:
                found |= _category(value, flags)
            else:
                raise NotImplementedError(kind)
        found = self._cased(found, flags)
        return _ALL & ~found if negated else found

    def _cased(self, mask: int, flags: int) -> int:
        if not flags & re.IGNORECASE:
            return mask
        held = {char for index, char in enumerate(_CHARACTERS) if mask >> index & 1}
        folded = {char.lower() for char in held} | {char.upper() for char in held}
        return mask | _mask(
            char for char in _CHARACTERS if char in folded or char.lower() in folded
        )

    # ---- judging

    def reached(self, start: int) -> set[int]:
        found: set[int] = set()
        waiting = [start]
        while waiting:
            for edge in self.follows[waiting.pop()]:
                if edge.target not in found:
                    found.add(edge.target)
                    waiting.append(edge.target)
        return found

    @cached_property
    def loops(self) -> dict[int, frozenset[int]]:
        reach = {number: self.reached(number) for number in self.follows}
        looping = [number for number in self.follows if number in reach[number]]
        return {n: frozenset(m for m in reach[n] if n in reach[m]) for n in looping}

    def is_linear(self, done: frozenset[int]) -> bool:
        """Two loops of one position that read the same text are such a pair as well."""
        for one, inside in self.loops.items():
            for first, second in combinations(self.follows[one], 2):
                is_same = first.target == second.target and first.target in inside
                if is_same and first.mask & second.mask:
                    return False
            for two in self.reached(one) & self.loops.keys():
                is_done = two in done and one not in done
                if two != one and not is_done and self._shared(one, inside, two):
                    return False
        return True

    def _shared(self, one: int, of_one: frozenset[int], two: int) -> bool:
        of_two = self.loops[two]
        seen = {(one, one, two)}
        waiting = list(seen)
        while waiting:
            a, b, d = waiting.pop()
            for first in self.follows[a]:
                if first.target not in of_one:
                    continue
                for last in self.follows[d]:
                    if last.target not in of_two or not first.mask & last.mask:
                        continue
                    for between in self.follows[b]:
                        if not between.mask & first.mask & last.mask:
                            continue
                        after = (first.target, between.target, last.target)
                        if after == (one, two, two):
                            return True
                        if after not in seen:
                            seen.add(after)
                            waiting.append(after)
        return False


def _category(value: Parsed, flags: int) -> int:
    sign = {
        c.CATEGORY_DIGIT: r"\d",
        c.CATEGORY_NOT_DIGIT: r"\D",
        c.CATEGORY_SPACE: r"\s",
        c.CATEGORY_NOT_SPACE: r"\S",
        c.CATEGORY_WORD: r"\w",
        c.CATEGORY_NOT_WORD: r"\W",
    }[value]
    known = re.compile(sign, re.ASCII if flags & re.ASCII else 0)
    return _mask(char for char in _CHARACTERS if known.match(char))


def is_linear(pattern: re.Pattern[str] | re.Pattern[bytes], *, searches: bool) -> bool:
    """One that only matches from a given place is judged alone, a search with what comes before."""
    is_bytes = isinstance(pattern.pattern, bytes)
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE if is_bytes else pattern.flags)
    automaton = Automaton(pattern.flags | (re.ASCII if is_bytes else 0))
    lead = automaton.position(_ALL)
    body = automaton.sequence(tree, automaton.flags)
    before = lead.last
    if searches:
        automaton.link(lead.last, lead.first)
        is_line = len(tree) and tree[0] in ((c.AT, c.AT_BEGINNING), (c.AT, c.AT_BEGINNING_LINE))
        if is_line and automaton.flags & re.MULTILINE:
            entry = automaton.position(_NEWLINE)
            automaton.link(lead.last, entry.first)
            before = entry.last
    automaton.link(before, body.first)
    # A search in a loop with which the pattern may end has succeeded, and begins no further one.
    may_fail = not searches or (len(tree) and tree[-1][0] in (c.AT, c.ASSERT, c.ASSERT_NOT))
    done = frozenset() if may_fail else frozenset(number for number, _ in body.last)
    return not automaton.unbounded_look and automaton.is_linear(done)


def is_misread(pattern: re.Pattern[Any]) -> bool:
    """Whether a group keeps what it matched, which Python before 3.11.5 gets wrong (gh-106052)."""
    return _keeps_groups(parser.parse(pattern.pattern, pattern.flags))


def _keeps_groups(parsed: Parsed) -> bool:
    # One character after the other (`a*+`) is right in all.
    if isinstance(parsed, tuple) and parsed and parsed[0] is c.POSSESSIVE_REPEAT:
        *_, inside = parsed[1]
        if len(inside) != 1 or inside[0][0] not in (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN):
            return True
    if isinstance(parsed, tuple) and parsed and parsed[0] is c.ATOMIC_GROUP:
        return True
    inner = parsed if isinstance(parsed, tuple | list | parser.SubPattern) else ()
    return any(map(_keeps_groups, inner))
