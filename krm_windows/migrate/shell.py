"""The few lines of shell that such Jobs run, split into commands (POSIX shell, 2.2 and 2.9).

What is more than that is not understood. Nothing is expanded and nothing run: a word that the shell would expand says
so, and so does a command whose running depends on another.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

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
_EXPANDED = re.compile(r"(?<!\\)[$`]")
_ESCAPED = re.compile(r"\\([$`\"\\\n])")
_PART = re.compile(
    r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<bare>[^'"\\]+)""", re.DOTALL
)
# A loop over plain words begins so, up to the end of its line or a `;`.
_HEAD = re.compile(r"\bfor[ \t]+(\w+)[ \t]+in[ \t]+", re.ASCII)
_NO_WORD = re.compile(r"[^\w./ \t-]", re.ASCII)
_SEPARATOR = re.compile(r"[;\n]")
_DO = re.compile(r"\s*do\s+")
# What branches, loops or ends: none of it may stand in a loop, but for the `done` at its end.
_KEYWORD = re.compile(r"\b(?:for|if|while|until|case|done|break|continue)\b")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_BRACES = re.compile(r"[{}*?\[\]~]")


# How much of a script is read, and what its loops may come to: such Jobs have a few lines.
LONGEST = 100_000


class ShellError(Exception):
    """A text that uses more of the shell than is understood."""


@dataclass(frozen=True, slots=True)
class Command:
    """Words, the operator that stands before them, and whether the shell would expand any of them."""

    words: tuple[str, ...]
    after: str = ""
    expands: bool = False

    def __str__(self) -> str:
        """Write it on one line."""
        return " ".join(self.words)


def split(script: str) -> list[Command]:
    """Split a script into commands; raises ShellError for pipes, groups, background, here-documents."""
    commands: list[Command] = []
    words: list[str] = []
    after, expands = "", False
    for kind, token in chain(_tokens(_unrolled(script)), [("operator", ";")]):
        if kind == "word":
            words.append(_unquoted(token))
            expands = expands or _is_expanded(token)
        elif words:
            commands.append(Command(tuple(words), after, expands))
            words, after, expands = [], token, False
        elif after not in ("&&", "||"):  # a chain goes on over the end of a line
            after = token
    return commands


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop over plain words, with nothing in it that branches or loops itself; `start` and `end` in the script."""

    start: int
    end: int
    name: str
    words: tuple[str, ...]
    body: str


def _unrolled(script: str) -> str:
    """Write the body of each loop for each of its words, with the word where the variable stood."""
    if len(script) > LONGEST:
        raise ShellError(f"a script of {len(script)} characters, where {LONGEST} are read,")
    written: list[str] = []
    place = length = 0
    for loop in _loops(script):
        length += len(loop.words) * (len(loop.body) + max(map(len, loop.words)))
        if length > LONGEST:
            raise ShellError(f"a loop over {len(loop.words)} words, which makes more than {LONGEST} characters,")
        written += [script[place : loop.start], ";\n".join(_put(loop.name, word, loop.body) for word in loop.words)]
        place = loop.end
    return "".join([*written, script[place:]])


def _put(name: str, word: str, body: str) -> str:
    return _VARIABLE.sub(lambda found: word if name in found.groups() else found[0], body)


def _loops(script: str) -> Iterator[_Loop]:
    """Find the loops, one line or `;` after the other; what is read once is not read again."""
    place = 0
    for separator in _SEPARATOR.finditer(script):
        loop = _loop(script, place, separator.start()) if separator.start() >= place else None
        if loop:
            yield loop
        place = loop.end if loop else max(place, separator.end())


def _loop(script: str, start: int, end: int) -> _Loop | None:
    """Read the loop whose words end at a separator; None where there is none."""
    head = _head(script, start, end)
    do = _DO.match(script, end + 1) if head else None
    if not head or not do:
        return None
    words = tuple(script[head.end() : end].split())
    # The next keyword ends the loop or makes it none. As `for` is one, no text is searched twice.
    keyword = _KEYWORD.search(script, do.end())
    if not words or not keyword or keyword[0] != "done":
        return None
    body = script[do.end() : keyword.start()].rstrip()
    gap = script[do.end() + len(body) : keyword.start()]
    if not body.removesuffix(";") or (not body.endswith(";") and "\n" not in gap):
        return None
    return _Loop(head.start(), keyword.end(), head[1], words, body.removesuffix(";"))


def _head(script: str, start: int, end: int) -> re.Match[str] | None:
    """Find the first `for … in` of a line after which plain words alone stand."""
    last = max((found.end() for found in _NO_WORD.finditer(script, start, end)), default=start)
    return next((head for head in _HEAD.finditer(script, start, end) if head.end() >= last), None)


def _tokens(script: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(script):
        found = _TOKEN.match(script, place)
        if not found:
            raise ShellError(f"`{script[place : place + 20].splitlines()[0]}`")
        if found.lastgroup in ("operator", "word"):
            yield found.lastgroup, found.group()
        place = found.end()


def _parts(word: str) -> Iterator[re.Match[str]]:
    """Yield the parts of a word that is one: each begins where the last one ended."""
    place = 0
    while found := _PART.match(word, place):
        yield found
        place = found.end()


def _unquoted(word: str) -> str:
    return "".join(_meant(part) for part in _parts(word))


def _meant(part: re.Match[str]) -> str:
    if part["double"] is not None:
        return _ESCAPED.sub(r"\1", part["double"])
    return part[part.lastgroup or 0]


def _is_expanded(word: str) -> bool:
    return any(_expands(part) for part in _parts(word))


def _expands(part: re.Match[str]) -> bool:
    if part["double"] is not None:
        return _EXPANDED.search(part["double"]) is not None
    bare = part["bare"] or ""
    return "$" in bare or "`" in bare or _BRACES.search(bare) is not None
