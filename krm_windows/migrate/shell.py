"""The few lines of shell that such Jobs run, as the commands that they come to (POSIX shell, 2.2, 2.6 and 2.9).

Lists, `for` over words, and variables with values that stand in the script or in the container's `env` are understood.
Nothing is run. A word that only the shell could know says so; everything else that decides what runs is refused.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
_PART = re.compile(
    r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<bare>[^'"\\]+)""",
    re.DOTALL,
)
# Inside of double quotes, or of none: what is escaped, a variable, another expansion, or text.
_INSIDE = re.compile(
    r"""\\(?P<escaped>[$`"\\\n])|\$(?:(?P<name>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})|(?P<other>[$`])|(?P<text>[^\\$`]+|\\)""",
    re.ASCII,
)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_GLOB = re.compile(r"[{}*?\[\]~]")
# What decides whether, or how often, other commands run.
_DECIDES = frozenset(
    {
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
        "{",
        "}",
        "!",
        "function",
    }
    | {
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
    }
)
# These run the command that follows them, as it stands.
_PREFIXES = frozenset({"exec", "command", "time"})

# These say which cluster a command acts on.
_ELSEWHERE = frozenset({"KUBECONFIG", "FLUX_SYSTEM_NAMESPACE", "IFS", "PATH", "HOME"})

_SHOWN = 60
# How much of a script is read, and what its loops may come to: such Jobs have a few lines.
LONGEST = 100_000


class ShellError(Exception):
    """A text that uses more of the shell than is understood."""


@dataclass(frozen=True, slots=True)
class Command:
    """Words, the operator that stands before them, and whether only the shell could know any of them.

    With `set -e` a command runs only if those before it did not fail: then its operator is `&&`.
    """

    words: tuple[str, ...]
    after: str = ""
    expands: bool = False

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
    script: str, environment: Mapping[str, str] | None = None, *, stops: bool = False
) -> list[Command]:
    """Return the commands of a script; `environment` are variables whose values are known.

    `stops`: the shell was called with `-e`. Raises ShellError for pipes, groups, background, here-documents, branches,
    and for loops other than over words.
    """
    if len(script) > LONGEST:
        raise ShellError(
            f"a script of {len(script)} characters, where {LONGEST} are read, is not understood"
        )
    run = _Run(dict(environment or {}), stops)
    run.all(_parse(script))
    return run.commands


@dataclass
class _Open:
    """A loop that is being read; `above` is where it goes when it ends, `began` says that its `do` was met."""

    head: _Simple
    above: "list[_Simple | _Loop]"
    began: bool = False


def _parse(script: str) -> "tuple[_Simple | _Loop, ...]":
    """Read lists and loops; a stack holds the loops that are open."""
    stack: list[_Open] = []
    here: list[_Simple | _Loop] = []
    for simple in _simples(script):
        head, *rest = simple.words
        if stack and not stack[-1].began:
            if head != "do":
                raise _refused(simple.words)
            stack[-1].began = True
            if not rest:
                if simple.until != "\n":
                    raise _refused(simple.words)
                continue
            simple, head = replace(simple, words=tuple(rest), after=""), rest[0]  # noqa: PLW2901 - what stands behind `do`
        if head == "for" and simple.until in (";", "\n"):
            stack.append(_Open(simple, here))
            here = []
        elif head == "done" and stack and len(simple.words) == 1:
            opened = stack.pop()
            opened.above.append(_loop(opened.head, tuple(here)))
            here = opened.above
        elif head in _DECIDES:
            raise _refused(simple.words)
        else:
            here.append(simple)
    if stack:
        raise _refused(stack[-1].head.words)
    return tuple(here)


def _loop(head: _Simple, body: "tuple[_Simple | _Loop, ...]") -> _Loop:
    """Read the head of a loop: `for NAME in WORD…`."""
    words = head.words
    if len(words) < 3 or words[2] != "in" or not _NAME.fullmatch(words[1]) or not body:  # noqa: PLR2004 - so it begins
        raise _refused(words)
    return _Loop(words[1], words[3:], body, head.after)


def _simples(script: str) -> Iterator[_Simple]:
    """Split a script at its operators; a chain goes on over the end of a line, and nothing else may be empty."""
    words: list[str] = []
    after = ""
    for kind, sign in _tokens(script):
        if kind == "word":
            words.append(sign)
        elif words:
            yield _Simple(tuple(words), after, sign)
            words, after = [], sign
        elif sign != "\n":
            raise _refused([sign])
        elif after not in ("&&", "||"):
            after = sign
    if words:
        yield _Simple(tuple(words), after)
    elif after in ("&&", "||"):
        raise _refused([after])


def _tokens(script: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(script):
        found = _TOKEN.match(script, place)
        if not found:
            raise _refused(script[place : place + _SHOWN].splitlines()[:1])
        if found.lastgroup in ("operator", "word"):
            yield found.lastgroup, found.group()
        place = found.end()


def _refused(words: Sequence[str]) -> ShellError:
    return ShellError(f"`{' '.join(words)[:_SHOWN]}` is more of the shell than is understood")


@dataclass
class _Run:
    """What a script comes to: its commands, and the variables that are known on the way."""

    variables: dict[str, str]
    stops: bool
    commands: list[Command] = field(default_factory=list)
    left: int = LONGEST
    ended: bool = False

    def all(self, parts: "Iterable[_Simple | _Loop]", chained: str = "") -> None:
        """Take commands and loops in their order; `chained` is the operator before a loop that they stand in."""
        for part in parts:
            if self.ended:
                return
            if isinstance(part, _Loop):
                self._repeat(part, chained)
            else:
                self._take(part, chained)

    def _repeat(self, loop: _Loop, chained: str) -> None:
        words, unknown = self._expanded(loop.words)
        if unknown or "||" in (loop.after, chained):
            raise _refused(("for", loop.name, "in", *loop.words))
        for word in words:
            self._spend(len(word) + 1)
            self.variables[loop.name] = word
            self.all(loop.body, "&&" if "&&" in (loop.after, chained) else "")

    def _take(self, simple: _Simple, chained: str) -> None:
        after = simple.after
        if after not in ("&&", "||") and (self.stops or chained):
            after = "&&" if self.commands else ""
        if all(map(_is_assignment, simple.words)):
            self._assign(simple.words, after)
            return
        words, unknown = self._expanded(simple.words)
        while words and words[0] in _PREFIXES:
            words = words[1:]
        if not words:
            raise _refused(simple.words)
        self._spend(sum(map(len, words)) + len(words))
        if words[0] == "export":
            self._assign([word for word in simple.words[1:] if "=" in word], after)
        elif words[0] == "set":
            self._set(words[1:])
        elif words[0] == "exit":
            self._exit(simple)
        else:
            self.commands.append(Command(tuple(words), after, unknown))

    def _assign(self, assignments: Iterable[str], after: str) -> None:
        """Set variables; one whose value is not known, or that another command decides about, is not known either."""
        for written in assignments:
            name, _, raw = written.partition("=")
            if name in _ELSEWHERE:
                raise _refused((written,))
            value, unknown = self._joined(raw)
            self.variables.pop(name, None)
            if not unknown and after not in ("&&", "||"):
                self.variables[name] = value

    def _set(self, options: Sequence[str]) -> None:
        """Mind whether a failure ends the script (`set -e`)."""
        for option, following in zip(options, [*options[1:], ""], strict=True):
            long = option[1:] == "o" and following == "errexit"
            if long or (option[:1] in ("-", "+") and "e" in option[1:] and option[1:2] != "-"):
                self.stops = option.startswith("-")

    def _exit(self, simple: _Simple) -> None:
        """End; behind `||` the rest runs only if what came before did not fail."""
        if simple.after == "||":
            self.stops = True
        elif simple.after == "&&":
            raise _refused(simple.words)
        else:
            self.ended = True

    def _spend(self, length: int) -> None:
        self.left -= length
        if self.left < 0:
            raise ShellError(
                f"a script whose loops come to more than {LONGEST} characters is not understood"
            )

    def _expanded(self, raw: Iterable[str]) -> tuple[list[str], bool]:
        """Return the words that raw words come to, and whether any of them is not known."""
        words: list[str] = []
        unknown = False
        for each in raw:
            found = _Word()
            for text, quoted, known in self._pieces(each):
                unknown = unknown or not known
                found.add(text, quoted)
            words += found.fields()
        return words, unknown

    def _joined(self, raw: str) -> tuple[str, bool]:
        """Return the value that an assignment gives: it is not split."""
        pieces = list(self._pieces(raw))
        return "".join(text for text, _, _ in pieces), not all(known for _, _, known in pieces)

    def _pieces(self, raw: str) -> Iterator[tuple[str, bool, bool]]:
        """Yield the texts that a raw word comes to, each with whether it is kept together, and whether it is known."""
        place = 0
        while part := _PART.match(raw, place):
            place = part.end()
            if part["double"] is not None:
                yield "", True, True
                yield from self._inside(part["double"], quoted=True)
            elif part["bare"] is not None:
                yield from self._inside(part["bare"], quoted=False)
            else:
                yield part["single"] or part["escaped"] or "", True, True

    def _inside(self, written: str, *, quoted: bool) -> Iterator[tuple[str, bool, bool]]:
        for found in _INSIDE.finditer(written):
            name = found["name"] or found["braced"]
            if name:
                value = self.variables.get(name)
                globs = not quoted and value is not None and _GLOB.search(value) is not None
                yield (
                    value if value is not None else found[0],
                    quoted,
                    value is not None and not globs,
                )
            elif found["other"]:
                yield found[0], True, False
            elif found["escaped"]:
                yield found["escaped"].replace("\n", ""), True, True
            else:
                yield found[0], True, quoted or _GLOB.search(found[0]) is None


def _is_assignment(raw: str) -> bool:
    name, equals, _ = raw.partition("=")
    return bool(equals) and _NAME.fullmatch(name) is not None


class _Word:
    """Fields that a word comes to: the value of a variable that is not quoted is split at blanks."""

    def __init__(self) -> None:
        """Begin without any."""
        self._done: list[str] = []
        self._open: str | None = None

    def add(self, text: str, quoted: bool) -> None:  # noqa: FBT001 - one of two things it is
        """Add a text."""
        if quoted:
            self._open = (self._open or "") + text
            return
        if text[:1].isspace():
            self._close()
        for number, piece in enumerate(text.split()):
            if number:
                self._close()
            self._open = (self._open or "") + piece
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
