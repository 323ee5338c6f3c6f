"""The few lines of shell that such Jobs run, as the commands that they come to.

Simple commands in lists, `for` over words, and variables whose values are in the script or in the
container's `env` (POSIX shell, 2.2, 2.6 and 2.9). Nothing is run. A word that only the shell could
know says so; everything else that decides what runs is refused.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

# What a script is made of; a pipe, a group or `&` is none of it, so that no token matches. Where
# output goes changes nothing of what a command does.
_TOKEN = re.compile(
    r"""
      (?:[ \t\r]|\\\n)+ | (?:(?<=[\s;&|])|\A)\#[^\n]* | [0-9]*>>?(?:&[0-9-]|[ \t]*[^\s;&|()<>]+)
    | (?P<operator>&&|\|\||;|\n)
    | (?P<word>(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\;&|()<>`])+)
    """,
    re.VERBOSE | re.DOTALL,
)
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
# A text in quotes, also as the value of a flag: what it holds is not looked at.
_QUOTED = re.compile(r"""[\w=-]*(?:'[^']*'|"(?:[^"\\]|\\.)*")""", re.ASCII | re.DOTALL)
# What the shell would put names of files for, or several words.
_GLOB = re.compile(r"[{}*?\[\]~]")
# What means the same wherever it is put in.
_PLAIN = re.compile(r"[\w./:@%+,=-]+", re.ASCII)
# Where such a sign is in a word, another one may mean itself.
_ESCAPES = re.compile(r"['\\]")
# Operators behind which a command runs, or not, by what those before it came to.
CONDITIONAL = ("&&", "||")
# What decides whether, or how often, other commands run, how the rest is read, or where it ends.
_DECIDES = frozenset(
    {"for", "if", "then", "elif", "else", "fi", "while", "until", "case", "esac", "do", "done"}
    | {"{", "}", "!", "function", "break", "continue", "return", "trap", "eval", "source", "."}
    | {"alias", "read", "shift", "unset", "local"}
)
# These run the command that follows them, as it is.
_PREFIXES = frozenset({"exec", "command", "time"})
# These say which cluster a command acts on.
_ELSEWHERE = frozenset({"KUBECONFIG", "FLUX_SYSTEM_NAMESPACE", "IFS", "PATH", "HOME"})
# So much of what is refused is shown.
_SHOWN = 60
# How much of a script is read, and how many commands its loops may come to: such Jobs have a few.
LONGEST = 20_000
_MOST = 5_000


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

    words: Sequence[str]
    after: str
    until: str


def split(
    script: str, environment: Mapping[str, str] | None = None, *, stops: bool = False
) -> list[Command]:
    """Return the commands of a script; `environment` are variables whose values are known.

    `stops`: the shell was called with `-e`. Raises ShellError for pipes, groups, background,
    here-documents, branches, and for loops other than over words.
    """
    if len(script) > LONGEST:
        raise ShellError(f"a script of more than {LONGEST} characters is not supported")
    run = _Run(dict(environment or {}), stops)
    run.all(_simples(script))
    return run.commands


def _simples(script: str) -> Iterator[_Simple]:
    """Split a script at its operators, and what `do` has on its line from that.

    A chain goes on over the end of a line, and nothing else may be empty.
    """
    words: list[str] = []
    after = ""
    for sign, is_word in (*_tokens(script), ("\n", False)):
        if is_word:
            words.append(sign)
        elif words:
            if words[0] == "do" and words[1:]:
                yield _Simple(["do"], after, "\n")
                words, after = words[1:], ""
            yield _Simple(words, after, sign)
            words, after = [], sign
        elif sign != "\n":
            raise _refused([sign])
        # An empty line ends a list, but not behind `&&`, where the chain goes on.
        elif after not in CONDITIONAL:
            after = sign
    if after in CONDITIONAL:
        raise _refused([after])


def _tokens(script: str) -> Iterator[tuple[str, bool]]:
    """Yield operators and words, and which of both; blanks, comments, redirections are passed."""
    position = 0
    while position < len(script):
        found = _TOKEN.match(script, position)
        if not found:
            raise _refused(script[position : position + _SHOWN].splitlines()[:1])
        if found.lastgroup:
            yield found[0], found.lastgroup == "word"
        position = found.end()


def _refused(words: Iterable[str]) -> ShellError:
    shown = " ".join(words)[:_SHOWN]
    return ShellError(f"`{shown}` uses shell features that are not supported")


def _body(head: _Simple, lines: Iterator[_Simple]) -> list[_Simple]:
    """Take what is between `do` and `done` of a loop."""
    first = next(lines, None)
    if first is None or (list(first.words), first.until) != (["do"], "\n"):
        raise _refused(head.words)
    found: list[_Simple] = []
    depth = 1
    for line in lines:
        depth += (line.words[0] == "for") - (line.words[0] == "done")
        if not depth:
            # Whether a loop failed is not known, and an empty one is none.
            if not found or line.words[1:] or {line.after, line.until} & set(CONDITIONAL):
                raise _refused(line.words)
            return found
        found.append(line)
    raise _refused(head.words)


@dataclass
class _Run:
    """What a script comes to: its commands, and the variables that are known on the way."""

    variables: dict[str, str]
    stops: bool
    commands: list[Command] = field(default_factory=list)
    left: int = _MOST
    ended: bool = False

    def all(self, lines: Iterator[_Simple]) -> None:
        """Take commands and loops in their order."""
        for line in lines:
            self.left -= 1
            if self.left < 0:
                raise ShellError(f"loops that come to more than {_MOST} commands are not supported")
            match line.words:
                case ["for", name, "in", *raw] if _ASSIGNMENT.fullmatch(f"{name}="):
                    self._repeat(name, line, raw, _body(line, lines))
                case [head, *_] if head in _DECIDES:
                    raise _refused(line.words)
                case _ if not self.ended:
                    self._take(line)

    def _repeat(self, name: str, head: _Simple, raw: list[str], body: list[_Simple]) -> None:
        words, known = self._words(raw)
        if not (words and known) or head.after in CONDITIONAL:
            raise _refused(head.words)
        for word in words:
            self.variables[name] = word
            self.all(iter(body))

    def _take(self, line: _Simple) -> None:
        # `A=1 B=2` alone sets variables; before a command they are that command's, and refused.
        sets = [_ASSIGNMENT.fullmatch(word) for word in line.words if word != "export"]
        if all(sets):
            self._assign([each.groups() for each in sets if each], line)
            return
        words, known = self._words(line.words)
        while words and words[0] in _PREFIXES:
            words.pop(0)
        match words:
            case []:
                raise _refused(line.words)
            case ["set", *options]:
                if any(option.startswith("+") for option in options):
                    raise _refused(line.words)
                # `-e`, `-eu`, `-o errexit`
                self.stops |= any(each[:1] in "-e" and "e" in each for each in options)
            case ["exit", *_] if line.after == "&&":
                raise _refused(line.words)
            # Behind `||` the rest runs only if what came before did not fail.
            case ["exit", *_]:
                self.stops |= line.after == "||"
                self.ended = line.after != "||"
            case _:
                after = line.after
                if self.stops and after not in CONDITIONAL:
                    after = "&&" if self.commands else ""
                self.commands.append(Command(tuple(words), after, not known))

    def _assign(self, pairs: Iterable[Sequence[str]], line: _Simple) -> None:
        """Set variables; one that another command decides about is not known any more."""
        for name, raw in pairs:
            if name in _ELSEWHERE:
                raise _refused(line.words)
            value, known = self._text(raw)
            self.variables.pop(name, None)
            if known and line.after not in CONDITIONAL:
                self.variables[name] = value

    def _words(self, raw: Iterable[str]) -> tuple[list[str], bool]:
        """Return the words that raw words come to, and whether all of them are known."""
        words: list[str] = []
        known = True
        for each in raw:
            text, is_known = self._text(each)
            known = known and is_known
            # A variable's value that is not quoted is split at blanks.
            if is_known and _VARIABLE.fullmatch(each):
                known = known and not _GLOB.search(text)
                words += filter(None, re.split(r"[ \t\n]+", text))
            else:
                words.append(text)
        return words, known

    def _text(self, raw: str) -> tuple[str, bool]:
        """Return what a raw word comes to, and whether that is known."""
        if found := _VARIABLE.fullmatch(raw.removeprefix('"').removesuffix('"')):
            value = self.variables.get(found[1] or found[2])
            return (raw, False) if value is None else (value, True)
        # What a sign means there takes more of a shell.
        if "`" in raw or "\\\n" in raw or ("$" in raw and _ESCAPES.search(raw)):
            return raw, False
        filled = _VARIABLE.sub(self._plain, raw)
        known = "$" not in filled and not (_GLOB.search(filled) and not _QUOTED.fullmatch(filled))
        return "".join(shlex.split(filled)), known

    def _plain(self, found: re.Match[str]) -> str:
        """Return the value of a variable inside of a word, or what is written."""
        value = self.variables.get(found[1] or found[2], "")
        return value if _PLAIN.fullmatch(value) else found[0]
