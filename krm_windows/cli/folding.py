"""How help is folded to a terminal, so that what it shows of commands can still be copied."""

import re
import textwrap
from collections.abc import Iterator

# Words of a shell, and parts of words: in quotes, where blanks part nothing, or without any.
_PART = re.compile(r"""'[^']*'|"[^"]*"|[^\s'"]+""")
# An option may have its value behind it, but neither another option nor what joins commands.
_OPTION = re.compile(r"--?[a-z][a-z-]*")
_NO_VALUE = ("-", "|", "&", ">")
# An option of a usage with its value, or several that exclude each other.
_BRACKETED = re.compile(r"\[[^\[\]]*\]")
_HARD = "\xa0"
# What ends a line that the next one continues.
_MORE = " \\"
_STEP = 4


def text(lines: str, width: int) -> str:
    """Fold a heading with a list below it: commands, or an example of several lines."""
    folded: list[str] = []
    for line in lines.split("\n"):
        if len(line) <= width:
            folded.append(line)
        elif line.startswith(" "):
            folded += command(line, width)
        else:
            folded += textwrap.wrap(line, width)
    return "\n".join(folded)


def command(line: str, width: int) -> Iterator[str]:
    r"""Fold a line of a shell between words, by a `\` at the end of each line but the last."""
    indent = line[: len(line) - len(line.lstrip())]
    words = _units(line.removesuffix(_MORE))
    # A line that continues another one is as deep as that already.
    further = max(indent, " " * _STEP)
    begun = indent + words[0]
    for word in words[1:]:
        if len(f"{begun} {word}{_MORE}") <= width:
            begun += f" {word}"
        else:
            yield begun + _MORE
            begun = further + word
    yield begun + line[len(line.removesuffix(_MORE)) :]


def _units(line: str) -> list[str]:
    """Part a line of a shell: words, options with their values, and a comment to its end."""
    code, sign, comment = f" {line}".partition(" #")
    units: list[str] = []
    for word in _words(code):
        follows_option = bool(units) and _OPTION.fullmatch(units[-1]) is not None
        if follows_option and not word.startswith(_NO_VALUE):
            units[-1] += f" {word}"
        else:
            units.append(word)
    if sign:
        units.append(f"#{comment}")
    return units


def _words(code: str) -> Iterator[str]:
    word, end = "", 0
    for part in _PART.finditer(code):
        # What follows without a blank is of the same word: --patch='{"a": 1}'.
        if word and part.start() > end:
            yield word
            word = ""
        word += part[0]
        end = part.end()
    if word:
        yield word


def usage(line: str, width: int) -> str:
    """Fold a usage between options and not within them."""
    hard = _BRACKETED.sub(lambda found: found[0].replace(" ", _HARD), line)
    folded = textwrap.wrap(
        hard, width, subsequent_indent=" " * _STEP, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(folded).replace(_HARD, " ")
