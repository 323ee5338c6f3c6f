"""Regular expressions as Go's package `regexp` matches them, for the selectors of kustomize.

A pattern becomes a nondeterministic automaton (Thompson), whose sets of states are followed
character by character: nothing is ever tried twice, and a text costs at most its length times the
size of the pattern. The tests compare with kustomize.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from krm_windows.patterns import go_syntax
from krm_windows.patterns.go_syntax import (
    Assertion,
    Char,
    Choice,
    Node,
    PatternError,
    Repeat,
    Sequence,
    Test,
    is_word,
)

# Names in Kubernetes have at most 253 characters; what is meant for them is not much longer.
LONGEST = 1_000
# A pattern that people write has some dozens.
MOST_STATES = 2_000
# The state behind the last one: it is in no table, and to reach it is to match.
_END = -1


@dataclass(frozen=True, slots=True)
class _State:
    """What one state does.

    Read a character, hold where an assertion does, or go on to several at once.
    """

    test: Test | None = None
    assertion: str = ""
    then: tuple[int, ...] = ()


@dataclass
class _Builder:
    """Makes states, the last ones first, so that each knows what follows."""

    states: list[_State] = field(default_factory=list)

    def add(self, state: _State) -> int:
        if len(self.states) == MOST_STATES:
            raise PatternError(f"is too large: it needs more than {MOST_STATES} states")
        self.states.append(state)
        return len(self.states) - 1

    def build(self, node: Node, then: int) -> int:
        """Return the state at which a node begins, when `then` follows it."""
        match node:
            case Char():
                return self.add(_State(test=node.test, then=(then,)))
            case Assertion():
                return self.add(_State(assertion=node.sign, then=(then,)))
            case Sequence():
                for part in reversed(node.parts):
                    then = self.build(part, then)
                return then
            case Choice():
                # All branches go on to the same state.
                branches = tuple(self.build(part, then) for part in node.parts)
                return self.add(_State(then=branches))
            case Repeat():
                return self._repeat(node, then)

    def _repeat(self, node: Repeat, then: int) -> int:
        """Write a repetition out: what must be there so many times, then what may be."""
        optional = 0
        if node.most is None:
            # The state is needed before what it goes on to is known.
            loop = self.add(_State())
            again = self.build(node.part, loop)
            self.states[loop] = _State(then=(again, then))
            then = loop
        else:
            optional = node.most - node.least
        for _ in range(optional):
            # Each of them may be left out, and with it those behind it.
            once_more = self.build(node.part, then)
            then = self.add(_State(then=(once_more, then)))
        for _ in range(node.least):
            then = self.build(node.part, then)
        return then


@dataclass
class Budget:
    """How many steps all matches of one run may take together; a step looks at one state."""

    left: int = 3_000_000

    def spend(self, steps: int) -> None:
        """Take steps; raises PatternError where none are left."""
        self.left -= steps
        if self.left < 0:
            raise PatternError("and the patterns before it take too many steps to match")


_States = frozenset[int]


@dataclass(frozen=True)
class Pattern:
    """A pattern, compiled."""

    states: tuple[_State, ...]
    start: int
    # What a set of states becomes by a character, where that was worked out before.
    known: dict[tuple[_States, str, str], _States] = field(default_factory=dict)

    def search(self, text: str, budget: Budget) -> bool:
        """Whether a pattern matches anywhere in a text.

        Raises PatternError where the budget is spent.
        """
        if len(text) > LONGEST:
            raise PatternError(
                f"is matched against a string of {len(text)} characters, longer than any name"
            )
        active: _States = frozenset({self.start})
        before = ""
        for char in text:
            key = (active, before, char)
            if key not in self.known:
                # Each step is worked out once: in effect a deterministic automaton, made lazily.
                self.known[key] = self._step(active, before, char, budget)
            active = self.known[key]
            if _END in active:
                return True
            before = char
            budget.spend(1)
        # Only now is the end of the text known, at which `$` holds.
        reached = self._closure(active, before, "", budget)
        return _END in reached

    def _step(
        self,
        active: _States,
        before: str,
        char: str,
        budget: Budget,
    ) -> _States:
        """Follow a character; a match may begin behind it too.

        The end, once reached, is the whole answer.
        """
        reached = self._closure(active, before, char, budget)
        if _END in reached:
            return frozenset({_END})
        # A match may begin anywhere.
        following = {self.start}
        for index in reached:
            state = self.states[index]
            if state.test is not None and state.test(char):
                following.update(state.then)
        return frozenset(following)

    def _closure(
        self,
        active: Iterable[int],
        before: str,
        after: str,
        budget: Budget,
    ) -> set[int]:
        """Return what is reached between two characters, empty at the ends of the text."""
        reached = set(active)
        waiting = list(reached)
        while waiting:
            index = waiting.pop()
            if index == _END:
                continue
            state = self.states[index]
            budget.spend(1 + len(state.then))
            # What reads a character waits for it.
            if state.test is not None:
                continue
            # Behind an assertion that does not hold there is nothing.
            if state.assertion and not _holds(state.assertion, before, after):
                continue
            # A state is read once, so a loop of empty steps ends.
            fresh = [following for following in state.then if following not in reached]
            reached.update(fresh)
            waiting += fresh
        return reached


def _holds(assertion: str, before: str, after: str) -> bool:
    is_boundary = _in_word(before) != _in_word(after)
    match assertion:
        case "^":
            return before == ""
        case "$":
            return after == ""
        case "^m":
            return before in ("", "\n")
        case "$m":
            return after in ("", "\n")
        case "b":
            return is_boundary
        case _:
            return not is_boundary


def _in_word(char: str) -> bool:
    """Whether a neighbour is a character of a word; at the ends of the text there is none."""
    return char != "" and is_word(char)


def compile(text: str) -> Pattern:  # noqa: A001 - as the package calls it
    """Compile a pattern; raises PatternError for what Go refuses, and for what is too large."""
    if len(text) > LONGEST:
        raise PatternError(
            f"is too long: it has {len(text)} characters; at most {LONGEST} are allowed"
        )
    tree = go_syntax.parse(text)
    builder = _Builder()
    start = builder.build(tree, _END)
    return Pattern(tuple(builder.states), start)
