"""The few lines of shell that such Jobs run, as the commands that they come to.

Simple commands in lists, `for` over words, and the variables of the container's `env` (POSIX shell,
2.2, 2.6 and 2.9). Nothing is run. A word that only the shell could know says so; everything else
that decides what runs is refused.
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
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
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
    | {"alias", "read", "shift", "unset", "local", "export", "exec", "command", "time"}
)
# So much of what is refused is shown.
_SHOWN = 60
# How much of a script is read, and how many commands a loop may come to: such Jobs have a few.
_LONGEST = 20_000
_MOST = 5_000


_Line = tuple[list[str], str]
"""The raw words of a command, and the operator before it."""


class ShellError(Exception):
    """A text that uses more of the shell than is understood."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it is run, which may be only if those before it did not fail."""

    words: tuple[str, ...]

    after: str = ""
    """The operator before it."""

    expands: bool = False
    """Whether only the shell could know any of its words."""

    def __str__(self) -> str:
        """Write it on one line."""
        return " ".join(self.words)


def split(script: str, environment: Mapping[str, str] | None = None) -> list[Command]:
    """Return the commands of a script; `environment` are variables whose values are known.

    Raises ShellError for pipes, groups, background, here-documents, branches, and for loops other
    than over words, or in each other.
    """
    if len(script) > _LONGEST:
        raise ShellError(f"a script of more than {_LONGEST} characters is not supported")
    run = _Run(dict(environment or {}))
    lines = _lines(script)
    for words, after in lines:
        match words:
            case ["for", name, "in", *raw] if after not in CONDITIONAL:
                run.repeat(name, raw, _body(words, lines))
            case _:
                run.take(words, after)
    return run.commands


def _lines(script: str) -> Iterator[_Line]:
    """Split a script at its operators, and what `do` has on its line from that.

    A chain goes on over the end of a line, and nothing else may be empty.
    """
    words: list[str] = []
    after = ""
    for sign, is_word in (*_tokens(script), ("\n", False)):
        if is_word and words == ["do"]:
            yield words, after
            words, after = [sign], ""
        elif is_word:
            words.append(sign)
        elif words and (words != ["do"] or sign == "\n"):
            yield words, after
            words, after = [], sign
        elif sign != "\n":
            raise _refused([*words, sign])
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


def _body(head: Sequence[str], lines: Iterator[_Line]) -> list[_Line]:
    """Take what is between `do` and `done` of a loop."""
    first, _ = next(lines, ([], ""))
    found: list[_Line] = []
    for words, after in lines:
        # An empty loop is none.
        if words == ["done"] and found and first == ["do"]:
            return found
        found.append((words, after))
    raise _refused(head)


@dataclass
class _Run:
    """What a script comes to: its commands, and the variables that are known on the way."""

    variables: dict[str, str]
    commands: list[Command] = field(default_factory=list)
    ended: bool = False

    def repeat(self, name: str, raw: list[str], body: list[_Line]) -> None:
        """Take a loop, once for each of its words."""
        words, known = self._words(raw)
        if not (words and known and _ASSIGNMENT.fullmatch(f"{name}=")):
            raise _refused(["for", name, "in", *raw])
        if len(words) * len(body) > _MOST:
            raise ShellError(f"a loop that comes to more than {_MOST} commands is not supported")
        for word in words:
            self.variables[name] = word
            for line in body:
                self.take(*line)

    def take(self, raw: list[str], after: str) -> None:
        """Take a command, or what ends the script."""
        if self.ended or raw[0] in _DECIDES or _ASSIGNMENT.match(raw[0]):
            raise _refused(raw)
        words, known = self._words(raw)
        match words:
            case ["set", *options] if not any(each.startswith("+") for each in options):
                pass
            case [] | ["set", *_]:
                raise _refused(raw)
            # Behind `||` the rest runs only if what came before did not fail.
            case ["exit", *_]:
                self.ended = after != "||"
            case _:
                self.commands.append(Command(tuple(words), after, not known))

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
