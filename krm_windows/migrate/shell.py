"""The few lines of shell that such Jobs run, as the commands that they come to.

Lists, `for` over words, and variables with values that are in the script or in the container's
`env` are understood (POSIX shell, 2.2, 2.6 and 2.9). Nothing is run. A word that only the shell
could know says so; everything else that decides what runs is refused.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile, zip_longest

# What a script is made of; a pipe, a group or `&` is none of it, so that no token matches.
_TOKEN = re.compile(
    r"""
      (?P<blank>(?:[ \t\r]|\\\n)+)
    | (?P<comment>(?:(?<=[\s;&|()])|\A)\#[^\n]*)
    | (?P<redirect>[0-9]*>>?(?:&[0-9-]|[ \t]*[^\s;&|()<>]+))
    | (?P<operator>&&|\|\||;|\n)
    | (?P<word>(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\;&|()<>`])+)
    """,
    re.VERBOSE | re.DOTALL,
)
# What a word is made of: quoted texts, escaped characters, and the rest.
_PART = re.compile(
    r"""
      '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\]|\\.)*)"
    | \\(?P<escaped>.)
    | (?P<bare>[^'"\\]+)
    """,
    re.VERBOSE | re.DOTALL,
)
# Inside of double quotes, or of none: what is escaped, a variable, another expansion, or text.
_INSIDE = re.compile(
    r"""
      \\(?P<escaped>[$`"\\\n])
    | \$(?:(?P<name>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})
    | (?P<other>[$`])
    | (?P<text>[^\\$`]+|\\)
    """,
    re.VERBOSE | re.ASCII,
)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# What the shell would put names of files for, or several words.
_GLOB = re.compile(r"[{}*?\[\]~]")
_AND = "&&"
_OR = "||"
# Operators behind which a command runs, or not, by what those before it came to.
_CONDITIONAL = (_AND, _OR)
# What decides whether, or how often, other commands run.
_RESERVED = (
    "for",
    "if",
    "then",
    "elif",
    "else",
    "fi",
    "while",
    "until",
    "case",
    "esac",
    "do",
    "done",
)
# What changes how the rest is read, or where it ends.
_BUILT_IN = (
    "break",
    "continue",
    "return",
    "trap",
    "eval",
    "source",
    ".",
    "alias",
    "read",
    "shift",
    "unset",
    "local",
)
_DECIDES = frozenset({*_RESERVED, "{", "}", "!", "function", *_BUILT_IN})
# These run the command that follows them, as it is.
_PREFIXES = frozenset({"exec", "command", "time"})

# These say which cluster a command acts on.
_ELSEWHERE = frozenset(
    {
        "KUBECONFIG",
        "FLUX_SYSTEM_NAMESPACE",
        "IFS",
        "PATH",
        "HOME",
    }
)

# So much of what is refused is shown.
_SHOWN = 60
# How much of a script is read, and what its loops may come to: such Jobs have a few lines.
LONGEST = 100_000


class ShellError(Exception):
    """A text that uses more of the shell than is understood."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it is run.

    With `set -e` a command runs only if those before it did not fail: then its operator is `&&`.
    """

    words: tuple[str, ...]

    after: str = ""
    """The operator before it."""

    expands: bool = False
    """Whether only the shell could know any of its words."""

    def __str__(self) -> str:
        """Write it on one line."""
        return " ".join(self.words)


@dataclass(frozen=True, slots=True)
class _Simple:
    """A command as it is written: raw words, and the operators before and behind them."""

    words: tuple[str, ...]
    after: str
    until: str = ""


@dataclass(frozen=True, slots=True)
class _Loop:
    """A `for`: the variable, raw words, and what is done for each."""

    name: str
    words: tuple[str, ...]
    body: "tuple[_Simple | _Loop, ...]"
    after: str


def split(
    script: str,
    environment: Mapping[str, str] | None = None,
    *,
    stops: bool = False,
) -> list[Command]:
    """Return the commands of a script; `environment` are variables whose values are known.

    `stops`: the shell was called with `-e`. Raises ShellError for pipes, groups, background,
    here-documents, branches, and for loops other than over words.
    """
    if len(script) > LONGEST:
        raise ShellError(
            f"a script of {len(script)} characters, where {LONGEST} are read, is not supported"
        )
    run = _Run(dict(environment or {}), stops)
    run.all(_parse(script))
    return run.commands


@dataclass
class _Open:
    """A loop that is being read."""

    head: _Simple

    above: "list[_Simple | _Loop]"
    """What it belongs to when it ends."""

    began: bool = False
    """Whether its `do` was met."""


def _parse(script: str) -> "tuple[_Simple | _Loop, ...]":
    """Read lists and loops."""
    parser = _Parser()
    for simple in _simples(script):
        parser.take(simple)
    return parser.finish()


@dataclass
class _Parser:
    """Puts commands into the loops that they are in; a stack holds the loops that are open."""

    stack: list[_Open] = field(default_factory=list)
    here: "list[_Simple | _Loop]" = field(default_factory=list)

    def take(self, simple: _Simple) -> None:
        """Take the next command as it is written."""
        if self.stack and not self.stack[-1].began:
            self._begin(self.stack[-1], simple)
            return
        head = simple.words[0]
        # `for x in a b; do`, or with the end of the line before `do`.
        if head == "for" and simple.until in (";", "\n"):
            self.stack.append(_Open(simple, self.here))
            self.here = []
        elif head == "done" and self.stack and len(simple.words) == 1:
            self._end(self.stack.pop())
        elif head in _DECIDES:
            raise _refused(simple.words)
        else:
            self.here.append(simple)

    def _begin(self, loop: _Open, simple: _Simple) -> None:
        """Read the `do` of a loop, and what may follow it on its line."""
        head, *rest = simple.words
        if head != "do":
            raise _refused(simple.words)
        loop.began = True
        if rest:
            # `do flux suspend …` on one line: what follows `do` is the first command of the body.
            self.take(replace(simple, words=tuple(rest), after=""))
        elif simple.until != "\n":
            raise _refused(simple.words)

    def _end(self, loop: _Open) -> None:
        loop.above.append(_loop(loop.head, tuple(self.here)))
        self.here = loop.above

    def finish(self) -> "tuple[_Simple | _Loop, ...]":
        """Return what was read; raises ShellError where a loop is open."""
        if self.stack:
            raise _refused(self.stack[-1].head.words)
        return tuple(self.here)


def _loop(head: _Simple, body: "tuple[_Simple | _Loop, ...]") -> _Loop:
    """Read the head of a loop: `for NAME in WORD…`."""
    match head.words:
        # Without `in` a loop is over the script's arguments, which nobody knows here.
        case ("for", name, "in", *words) if body and _NAME.fullmatch(name):
            return _Loop(name, tuple(words), body, head.after)
    raise _refused(head.words)


def _simples(script: str) -> Iterator[_Simple]:
    """Split a script at its operators.

    A chain goes on over the end of a line, and nothing else may be empty.
    """
    words: list[str] = []
    after = ""
    for kind, sign in _tokens(script):
        if kind == "word":
            words.append(sign)
        elif words:
            yield _Simple(tuple(words), after, sign)
            words = []
            after = sign
        elif sign != "\n":
            raise _refused([sign])
        # An empty line ends a list, but not behind `&&`, where the chain goes on.
        elif after not in _CONDITIONAL:
            after = sign
    if words:
        yield _Simple(tuple(words), after)
    elif after in _CONDITIONAL:
        raise _refused([after])


def _tokens(script: str) -> Iterator[tuple[str, str]]:
    """Yield words and operators; blanks, comments and redirections are passed over."""
    position = 0
    while position < len(script):
        found = _TOKEN.match(script, position)
        if not found:
            rest = script[position : position + _SHOWN]
            raise _refused(rest.splitlines()[:1])
        # Where output goes changes nothing of what a command does.
        if found.lastgroup in ("operator", "word"):
            yield found.lastgroup, found.group()
        position = found.end()


def _refused(words: Sequence[str]) -> ShellError:
    shown = " ".join(words)[:_SHOWN]
    return ShellError(f"`{shown}` uses shell features that are not supported")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text that a part of a raw word comes to."""

    text: str

    quoted: bool = True
    """Whether it is kept together; what is not is split at blanks."""

    known: bool = True
    """False where only the shell could know it, and `text` is what is written."""


@dataclass
class _Run:
    """What a script comes to: its commands, and the variables that are known on the way."""

    variables: dict[str, str]
    stops: bool
    commands: list[Command] = field(default_factory=list)
    # What loops may still come to: a loop in a loop multiplies.
    left: int = LONGEST
    ended: bool = False

    def all(
        self,
        parts: "Iterable[_Simple | _Loop]",
        chained: str = "",
    ) -> None:
        """Take commands and loops in their order.

        `chained` is the operator before a loop that they are in.
        """
        for part in parts:
            if self.ended:
                return
            if isinstance(part, _Loop):
                self._repeat(part, chained)
            else:
                self._take(part, chained)

    def _repeat(self, loop: _Loop, chained: str) -> None:
        words, unknown = self._expanded(loop.words)
        operators = (loop.after, chained)
        # Whether a loop behind `||` runs at all, only the shell could know.
        if unknown or _OR in operators:
            raise _refused(("for", loop.name, "in", *loop.words))
        inside = ""
        if _AND in operators:
            inside = _AND
        for word in words:
            self._spend(len(word) + 1)
            self.variables[loop.name] = word
            self.all(loop.body, inside)

    def _take(self, simple: _Simple, chained: str) -> None:
        after = self._operator(simple, chained)
        # `A=1 B=2` alone sets variables; before a command they are that command's, and refused.
        if all(map(_is_assignment, simple.words)):
            self._assign(simple.words, after)
            return
        words, unknown = self._expanded(simple.words)
        # These run the command behind them: `exec flux suspend ks apps`.
        words = list(dropwhile(_PREFIXES.__contains__, words))
        if not words:
            raise _refused(simple.words)
        self._spend(sum(map(len, words)) + len(words))
        match words[0]:
            case "export":
                self._assign([word for word in simple.words[1:] if "=" in word], after)
            case "set":
                self._set(words[1:])
            case "exit":
                self._exit(simple)
            case _:
                self.commands.append(Command(tuple(words), after, unknown))

    def _operator(self, simple: _Simple, chained: str) -> str:
        """Return the operator before a command, which `set -e`, or a loop, may make `&&`."""
        if simple.after in _CONDITIONAL or not (self.stops or chained):
            return simple.after
        if self.commands:
            return _AND
        return ""

    def _assign(self, assignments: Iterable[str], after: str) -> None:
        """Set variables.

        One whose value is not known, or that another command decides about, is not known either.
        """
        for written in assignments:
            name, _, raw = written.partition("=")
            if name in _ELSEWHERE:
                raise _refused((written,))
            value, unknown = self._joined(raw)
            # What it was before is not what it is now, even if nobody knows that.
            self.variables.pop(name, None)
            if not unknown and after not in _CONDITIONAL:
                self.variables[name] = value

    def _set(self, options: Sequence[str]) -> None:
        """Mind whether a failure ends the script (`set -e`, `set -o errexit`)."""
        for option, following in zip_longest(options, options[1:], fillvalue=""):
            sign = option[:1]
            letters = option[1:]
            if sign not in ("-", "+"):
                continue
            if _sets_e(letters) or (letters == "o" and following == "errexit"):
                self.stops = sign == "-"

    def _exit(self, simple: _Simple) -> None:
        """End; behind `||` the rest runs only if what came before did not fail."""
        if simple.after == _OR:
            self.stops = True
        elif simple.after == _AND:
            raise _refused(simple.words)
        else:
            self.ended = True

    def _spend(self, length: int) -> None:
        self.left -= length
        if self.left < 0:
            raise ShellError(
                f"a script whose loops yield more than {LONGEST} characters is not supported"
            )

    def _expanded(self, raw: Iterable[str]) -> tuple[list[str], bool]:
        """Return the words that raw words come to, and whether any of them is not known."""
        words: list[str] = []
        unknown = False
        for each in raw:
            found = _Word()
            for piece in self._pieces(each):
                unknown = unknown or not piece.known
                found.add(piece)
            words += found.fields()
        return words, unknown

    def _joined(self, raw: str) -> tuple[str, bool]:
        """Return the value that an assignment gives, and whether it is not known.

        It is not split at blanks.
        """
        pieces = list(self._pieces(raw))
        known = all(piece.known for piece in pieces)
        return "".join(piece.text for piece in pieces), not known

    def _pieces(self, raw: str) -> Iterator[_Piece]:
        """Yield the texts that a raw word comes to."""
        position = 0
        while part := _PART.match(raw, position):
            position = part.end()
            if part["double"] is not None:
                # `""` is a word, too.
                yield _Piece("")
                yield from self._inside(part["double"], quoted=True)
            elif part["bare"] is not None:
                yield from self._inside(part["bare"], quoted=False)
            else:
                yield _Piece(part["single"] or part["escaped"] or "")

    def _inside(
        self,
        written: str,
        *,
        quoted: bool,
    ) -> Iterator[_Piece]:
        for found in _INSIDE.finditer(written):
            name = found["name"] or found["braced"]
            if name:
                yield self._value(name, found[0], quoted=quoted)
            elif found["other"]:
                yield _Piece(found[0], known=False)
            elif found["escaped"]:
                # An escaped end of a line is none at all.
                yield _Piece(found["escaped"].replace("\n", ""))
            else:
                # Quoted, a star is a star.
                yield _Piece(found[0], known=quoted or not _has_glob(found[0]))

    def _value(
        self,
        name: str,
        written: str,
        *,
        quoted: bool,
    ) -> _Piece:
        """Return the value of a variable."""
        value = self.variables.get(name)
        # The shell would put in nothing, or what the image has set.
        if value is None:
            return _Piece(written, quoted, known=False)
        return _Piece(value, quoted, known=quoted or not _has_glob(value))


def _has_glob(text: str) -> bool:
    """Whether the shell would put names of files in place of a text, or several texts."""
    return _GLOB.search(text) is not None


def _sets_e(letters: str) -> bool:
    """Whether the letters of an option of `set` have `e`, as in `-eu`; long ones have none."""
    return "e" in letters and not letters.startswith("-")


def _is_assignment(raw: str) -> bool:
    name, equals, _ = raw.partition("=")
    return bool(equals) and _NAME.fullmatch(name) is not None


class _Word:
    """Fields that a word comes to: an unquoted variable's value is split at blanks."""

    def __init__(self) -> None:
        """Begin without any."""
        self._done: list[str] = []
        self._open: str | None = None

    def add(self, piece: _Piece) -> None:
        """Add a text."""
        text = piece.text
        if piece.quoted:
            self._open = (self._open or "") + text
            return
        if text[:1].isspace():
            self._close()
        # `a$x` with `x='b c'` is two words, `ab` and `c`.
        for number, part in enumerate(text.split()):
            if number:
                self._close()
            self._open = (self._open or "") + part
        if text[-1:].isspace():
            self._close()

    def _close(self) -> None:
        if self._open is not None:
            self._done.append(self._open)
        self._open = None

    def fields(self) -> list[str]:
        """Return the fields."""
        self._close()
        return self._done
