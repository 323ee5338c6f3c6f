r"""The syntax of Go's regular expressions: from a pattern to a tree of what it means.

Reference: `regexp/syntax` with the flags `Perl`. Of a match only the fact matters, so greed is read
and forgotten.
Scripts (`\p{Greek}`) are not known.
"""

import sys
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

# Go's own limit.
MOST_REPEATS = 1_000
# The parser calls itself for each group; Go allows 1,000.
MOST_DEPTH = 100


class PatternError(ValueError):
    """A pattern that Go refuses, or that is more than is known here."""


Test = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Char:
    """One character that passes a test."""

    test: Test


@dataclass(frozen=True, slots=True)
class Assertion:
    r"""A position between two characters: `^`, `$` (of the text, or `m` of a line), `b` or `B`."""

    sign: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """One thing behind the other."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several things."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A thing, `least` to `most` times; None for any number."""

    part: "Node"
    least: int
    most: int | None


Node = Char | Assertion | Sequence | Choice | Repeat


@dataclass(frozen=True, slots=True)
class _Flags:
    """What `(?i)`, `(?m)` and `(?s)` turn on; `(?U)` only swaps greed."""

    fold: bool = False
    lines: bool = False
    dot_all: bool = False

    def turned(self, letter: str, *, on: bool) -> "_Flags":
        match letter:
            case "i":
                return _Flags(on, self.lines, self.dot_all)
            case "m":
                return _Flags(self.fold, on, self.dot_all)
            case "s":
                return _Flags(self.fold, self.lines, on)
            case "U":
                return self
            case _:
                raise PatternError(f"has the flag {letter!r}, which Go does not support")


# ---- characters

_ESCAPES = {
    "a": "\a",
    "f": "\f",
    "t": "\t",
    "n": "\n",
    "r": "\r",
    "v": "\v",
}
# All of them are sets of ASCII.
_POSIX: dict[str, Test] = {
    "alnum": lambda char: char.isascii() and char.isalnum(),
    "alpha": lambda char: char.isascii() and char.isalpha(),
    "ascii": str.isascii,
    "blank": lambda char: char in "\t ",
    "cntrl": lambda char: char < " " or char == "\x7f",
    "digit": lambda char: "0" <= char <= "9",
    "graph": lambda char: "!" <= char <= "~",
    "lower": lambda char: "a" <= char <= "z",
    "print": lambda char: " " <= char <= "~",
    "punct": lambda char: "!" <= char <= "~" and not char.isalnum(),
    "space": lambda char: char in "\t\n\v\f\r ",
    "upper": lambda char: "A" <= char <= "Z",
    "word": lambda char: is_word(char),  # noqa: PLW0108 - defined below
    "xdigit": lambda char: char in "0123456789abcdefABCDEF",
}
# `\s` is without the vertical tab, which `[:space:]` has.
_PERL: dict[str, Test] = {
    "d": _POSIX["digit"],
    "s": lambda char: char in "\t\n\f\r ",
    "w": _POSIX["word"],
}
_CATEGORIES = frozenset(
    """
    C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps
    S Sc Sk Sm So Z Zl Zp Zs
    """.split()  # noqa: SIM905 - reads better
)
# Letters that fold to another one, and are not what `upper` makes of it (Unicode, CaseFolding.txt).
_ODD_FOLDS = {"k": "\u212a", "s": "\u017f", "ß": "\u1e9e"}


def is_word(char: str) -> bool:
    """Whether a character is one of a word: a letter or digit of ASCII, or `_`."""
    if char == "_":
        return True
    return char.isascii() and char.isalnum()


def _not(test: Test) -> Test:
    return lambda char: not test(char)


def _folded(test: Test) -> Test:
    """Pass what passes in any case."""

    def any_case(char: str) -> bool:
        return any(map(test, _cases(char)))

    return any_case


def _turned(test: Test, flags: _Flags, *, negated: bool) -> Test:
    """Pass what flags and a negation make of a test; letters are folded before it is negated."""
    # `(?i)[^a]` takes neither `a` nor `A`.
    if flags.fold:
        test = _folded(test)
    if negated:
        test = _not(test)
    return test


def _cases(char: str) -> Iterable[str]:
    # Unicode, simple case folding: `unicode.SimpleFold` of Go.
    lower = char.casefold()
    # Go folds characters, one for one: `ß` never to `ss`.
    if len(lower) != 1:
        lower = char
    yield from {char, lower, _ODD_FOLDS.get(lower, char)}
    upper = lower.upper()
    # What `upper` makes of `ß` are two letters.
    if len(upper) == 1:
        yield upper


def _any(_: str) -> bool:
    return True


def _none(_: str) -> bool:
    return False


def _no_line_feed(char: str) -> bool:
    return char != "\n"


def _between(low: str, high: str) -> Test:
    return lambda char: low <= char <= high


# ---- the parser

_Bounds = tuple[int, int | None]
_REPEATS: dict[str, _Bounds] = {
    "*": (0, None),
    "+": (1, None),
    "?": (0, 1),
}
# Behind a backslash: `\A` and `\z` are `^` and `$` of the whole text, whatever the flags.
_ASSERTIONS = {
    "A": "^",
    "z": "$",
    "b": "b",
    "B": "B",
}
_OCTAL = frozenset("01234567")
# Of a character of Unicode, 10FFFF, written with zeros before it.
_MOST_DIGITS = 8


def parse(text: str) -> Node:
    """Read a pattern; raises PatternError for what Go refuses."""
    return _Parser(text).parse()


@dataclass
class _Parser:
    """Reads a pattern from left to right."""

    text: str
    position: int = 0
    depth: int = 0

    def parse(self) -> Node:
        """Read the whole; raises PatternError."""
        node, _ = self._choice(_Flags())
        if self.position < len(self.text):
            raise PatternError("has an unmatched `)`")
        return node

    def _rest(self, sign: str) -> bool:
        return self.text.startswith(sign, self.position)

    def _take(self, sign: str) -> bool:
        if not self._rest(sign):
            return False
        self.position += len(sign)
        return True

    def _at(self) -> str:
        """Return the next character, empty at the end, and leave it there."""
        return self.text[self.position : self.position + 1]

    def _next(self, what: str) -> str:
        if self.position == len(self.text):
            raise PatternError(f"ends within {what}")
        self.position += 1
        return self.text[self.position - 1]

    def _until(self, sign: str, what: str) -> str:
        end = self.text.find(sign, self.position)
        if end < 0:
            raise PatternError(f"ends within {what}")
        found = self.text[self.position : end]
        self.position = end + len(sign)
        return found

    def _choice(self, flags: _Flags) -> tuple[Node, _Flags]:
        """Read up to the end or a `)`.

        Flags that are turned on in a group hold to its end, across each `|`.
        """
        parts = []
        while True:
            sequence, flags = self._sequence(flags)
            parts.append(sequence)
            if not self._take("|"):
                break
        if len(parts) == 1:
            return parts[0], flags
        return Choice(tuple(parts)), flags

    def _sequence(self, flags: _Flags) -> tuple[Node, _Flags]:
        parts: list[Node] = []
        # To the end of the text, of a branch or of a group.
        while self._at() not in ("", "|", ")"):
            if self._take("(?"):
                node, flags = self._special(flags)
            elif self._take("("):
                node = self._group(flags)
            elif self._take("\\Q"):
                node = self._quoted(flags, parts)
            else:
                node = self._atom(flags)
            # Flags alone are nothing that could be repeated.
            if node is not None:
                parts.append(self._repeated(node))
        return Sequence(tuple(parts)), flags

    def _group(self, flags: _Flags) -> Node:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise PatternError(f"nests deeper than {MOST_DEPTH}")
        node, _ = self._choice(flags)
        self.depth -= 1
        if not self._take(")"):
            raise PatternError("lacks a `)`")
        return node

    def _special(self, flags: _Flags) -> tuple[Node | None, _Flags]:
        """Read what follows `(?`: a named group, or flags for the rest or for a group."""
        if self._take("P<") or self._take("<"):
            name = self._until(">", "the name of a group")
            if not name or not all(map(is_word, name)):
                raise PatternError(f"has a group named {name!r}, which is not a name")
            return self._group(flags), flags
        turned, end = self._turned(flags)
        if end == ":":
            return self._group(turned), flags
        self._no_repeat()
        return None, turned

    def _turned(self, flags: _Flags) -> tuple[_Flags, str]:
        """Read flags such as `i-s`, and the sign behind them: `:` or `)`."""
        on, letters = True, 0
        while True:
            sign = self._next("a group")
            # A hyphen wants a flag behind it.
            if sign in ":)" and (on or letters):
                return flags, sign
            if sign == "-" and on:
                on, letters = False, 0
                continue
            flags = flags.turned(sign, on=on)
            letters += 1

    def _no_repeat(self) -> None:
        """Refuse a repetition of nothing."""
        if self._at() in _REPEATS:
            raise PatternError("repeats nothing")

    def _quoted(self, flags: _Flags, before: list[Node]) -> Node | None:
        r"""Read `\Q…\E`, or to the end; only its last character may be repeated."""
        found, end, _ = self.text[self.position :].partition("\\E")
        self.position += len(found) + len(end)
        chars = [self._literal(char, flags) for char in found]
        before += chars[:-1]
        if chars:
            return chars[-1]
        return None

    def _repeated(self, node: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return node
        self._take("?")
        # Each repetition inside multiplies: `(a{100}){100}` is too much.
        if _copies(Repeat(node, *bounds)) > MOST_REPEATS:
            raise PatternError(f"has nested repeats of more than {MOST_REPEATS} times in total")
        start = self.position
        # `a**` and `a{2}{3}`: Go refuses both.
        if self._bounds() is not None:
            raise PatternError(f"repeats a repetition at {self.text[start:]!r}")
        return Repeat(node, *bounds)

    def _bounds(self) -> _Bounds | None:
        """Read how often; None where nothing says so."""
        for sign, bounds in _REPEATS.items():
            if self._take(sign):
                return bounds
        if self._rest("{"):
            return self._counts()
        return None

    def _counts(self) -> _Bounds | None:
        """Read `{n}`, `{n,}` or `{n,m}`; None where it is a plain brace."""
        # Two numbers of four digits are far shorter than this.
        start = self.position + 1
        inside, close, _ = self.text[start : start + 19].partition("}")
        low, comma, high = inside.partition(",")
        if not close:
            return None
        if not _is_count(low):
            return None
        if high and not _is_count(high):
            return None
        # The two braces, too.
        self.position += len(inside) + 2
        least = int(low)
        largest = least
        most: int | None = None
        if high:
            largest = int(high)
        # `{3,}` alone has no end.
        if high or not comma:
            most = largest
        if max(least, largest) > MOST_REPEATS or largest < least:
            must = f"it must be in order, and at most {MOST_REPEATS}"
            raise PatternError(f"repeats {inside} times: {must}")
        return least, most

    def _atom(self, flags: _Flags) -> Node:
        sign = self._next("a pattern")
        match sign:
            case "*" | "+" | "?":
                raise PatternError("repeats nothing")
            case ".":
                if flags.dot_all:
                    return Char(_any)
                return Char(_no_line_feed)
            case "^" | "$":
                # Of the text, or of each line in it.
                if flags.lines:
                    sign += "m"
                return Assertion(sign)
            case "[":
                return Char(self._class(flags))
            case "\\":
                return self._escape(flags)
            case _:
                return self._literal(sign, flags)

    def _literal(self, char: str, flags: _Flags) -> Char:
        test = _turned(char.__eq__, flags, negated=False)
        return Char(test)

    def _escape(self, flags: _Flags) -> Node:
        sign = self._next("an escape")
        if sign in _ASSERTIONS:
            return Assertion(_ASSERTIONS[sign])
        self.position -= 1
        test = self._set(flags)
        if test:
            return Char(test)
        return self._literal(self._character(), flags)

    def _set(self, flags: _Flags) -> Test | None:
        r"""Read what follows a backslash, if it is a set: `d`, `W`, `pL`, `P{Lu}`."""
        sign = self._at()
        if sign.lower() in _PERL:
            self.position += 1
            test = _PERL[sign.lower()]
            return _turned(test, flags, negated=sign.isupper())
        if sign.lower() == "p":
            self.position += 1
            return self._category(flags, negated=sign == "P")
        return None

    def _category(self, flags: _Flags, *, negated: bool) -> Test:
        name = self._next("a category")
        if name == "{":
            name = self._until("}", "a category")
        # `\P{^Lu}` is negated twice.
        negated ^= name.startswith("^")
        name = name.removeprefix("^")
        if name == "Any":
            if negated:
                return _none
            return _any
        if name not in _CATEGORIES:
            raise PatternError(f"has the category {name!r}, which is unknown")

        def test(char: str) -> bool:
            return unicodedata.category(char).startswith(name)

        return _turned(test, flags, negated=negated)

    def _character(self) -> str:
        """Read what follows a backslash: one character."""
        sign = self._next("an escape")
        if sign in _ESCAPES:
            return _ESCAPES[sign]
        if sign == "x":
            return self._hexadecimal()
        # One digit alone would be a reference to a group, which Go does not know.
        if sign == "0" or (sign in _OCTAL and self._at() in _OCTAL):
            return self._octal(sign)
        if sign.isascii() and not sign.isalnum():
            return sign
        raise PatternError(f"has the escape \\{sign}, which Go does not support")

    def _octal(self, first: str) -> str:
        digits = first
        while len(digits) < 3 and self._at() in _OCTAL:  # noqa: PLR2004 - \377
            digits += self._next("an escape")
        return chr(int(digits, 8))

    def _hexadecimal(self) -> str:
        if self._take("{"):
            digits = self._until("}", "an escape")
        else:
            digits = self._next("an escape")
            digits += self._next("an escape")
        if not _is_hexadecimal(digits):
            raise PatternError(f"has the escape \\x{{{digits[:9]}}}, which is not a character")
        number = int(digits, 16)
        if number > sys.maxunicode:
            raise PatternError(f"has the escape \\x{{{digits}}}, which is not a character")
        return chr(number)

    def _class(self, flags: _Flags) -> Test:
        """Read a class up to its `]`, which may be its first character."""
        negated = self._take("^")
        tests: list[Test] = []
        first = True
        # A `]` right at the beginning is a member.
        while first or not self._rest("]"):
            tests.append(self._member(flags))
            first = False
        self.position += 1

        def test(char: str) -> bool:
            return any(each(char) for each in tests)

        if negated:
            return _not(test)
        return test

    def _member(self, flags: _Flags) -> Test:
        # A `[:` that nothing closes is two plain characters.
        if self._rest("[:") and self.text.find(":]", self.position + 2) >= 0:
            self.position += 2
            return self._named(flags)
        start = self.position
        if self._take("\\"):
            found = self._set(flags)
            if found:
                return found
            self.position = start
        # A member is a character, or a range such as `a-z`.
        low = self._end()
        high = low
        # The hyphen of `[a-]` is a member.
        if self._rest("-") and not self._rest("-]"):
            self.position += 1
            high = self._end()
        if high < low:
            range_ = self.text[start : self.position]
            raise PatternError(f"has the range {range_}, which is in the wrong order")
        return _turned(_between(low, high), flags, negated=False)

    def _named(self, flags: _Flags) -> Test:
        name = self._until(":]", "a class")
        test = _POSIX.get(name.removeprefix("^"))
        if test is None:
            raise PatternError(f"has the class [:{name}:], which Go does not support")
        return _turned(test, flags, negated=name.startswith("^"))

    def _end(self) -> str:
        """Read one end of a range."""
        char = self._next("a class")
        if char == "\\":
            return self._character()
        return char


def _copies(node: Node) -> int:
    """Return how often the part that is repeated most is there once all is written out.

    Source: `repeatIsValid` in Go's `regexp/syntax`.
    """
    match node:
        case Repeat():
            times = max(node.least, node.most or 0, 1)
            return times * _copies(node.part)
        case Sequence() | Choice():
            return max(map(_copies, node.parts), default=1)
        case _:
            return 1


def _is_hexadecimal(digits: str) -> bool:
    if not digits or len(digits) > _MOST_DIGITS:
        return False
    return all(map(_POSIX["xdigit"], digits))


def _is_count(text: str) -> bool:
    """Whether a text is a number as Go reads one here: no sign, no zero before others."""
    if text == "0":
        return True
    # `isdecimal` alone takes the digits of every script.
    if not text.isascii() or not text.isdecimal():
        return False
    return not text.startswith("0")
