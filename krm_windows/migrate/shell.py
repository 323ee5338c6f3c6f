"""The few lines of shell that such Jobs run, split into commands (POSIX shell, 2.2 and 2.9).

What is more than that is not understood. Nothing is expanded and nothing run: a word that the shell would expand says
so, and so does a command whose running depends on another.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
    r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<bare>[^'"\\]+)""", re.DOTALL
)
# A loop over plain words, with nothing in it that branches or loops itself.
_LOOP = re.compile(
    r"""
    \bfor[ \t]+(?P<name>\w+)[ \t]+in[ \t]+(?P<words>[\w./ \t-]+?)[ \t]*[;\n]\s*do\s+
    (?P<body>(?:(?!\b(?:for|if|while|until|case|done|break|continue)\b).)+?)[;\n]\s*done\b
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACES = re.compile(r"[{}*?\[\]~]")


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
    for kind, token in [*_tokens(_LOOP.sub(_unrolled, script)), ("operator", ";")]:
        if kind == "word":
            words.append(_unquoted(token))
            expands = expands or _is_expanded(token)
        elif words:
            commands.append(Command(tuple(words), after, expands))
            words, after, expands = [], token, False
        elif after not in ("&&", "||"):  # a chain goes on over the end of a line
            after = token
    return commands


def _unrolled(loop: re.Match[str]) -> str:
    """Write the body of a loop for each of its words, with the word where the variable stood."""
    variable = re.compile(rf"\$(?:{loop['name']}\b|{{{loop['name']}}})")
    return ";\n".join(variable.sub(word, loop["body"]) for word in loop["words"].split())


def _tokens(script: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(script):
        found = _TOKEN.match(script, place)
        if not found:
            raise ShellError(f"`{script[place : place + 20].splitlines()[0]}`")
        if found.lastgroup in ("operator", "word"):
            yield found.lastgroup, found.group()
        place = found.end()


def _unquoted(word: str) -> str:
    parts = _PART.finditer(word)
    return "".join(
        re.sub(r"\\([$`\"\\\n])", r"\1", part["double"]) if part["double"] is not None else part[part.lastgroup or 0]
        for part in parts
    )


def _is_expanded(word: str) -> bool:
    for part in _PART.finditer(word):
        if part["double"] is not None and re.search(r"(?<!\\)[$`]", part["double"]):
            return True
        if part["bare"] and ("$" in part["bare"] or "`" in part["bare"] or _BRACES.search(part["bare"])):
            return True
    return False
