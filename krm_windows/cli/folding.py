"""How help is folded to a terminal, so that what it shows of commands can still be copied."""

import re
import textwrap
from collections.abc import Iterator

# A word of a shell, in whose quotes blanks part nothing, or an option with its value; a comment
# goes to the end of its line.
_WORD = re.compile(
    r"""(?:^|(?<= ))#.*|(?:(?<= )--?[a-z][a-z-]* (?=[^-|&>]))?(?:'[^']*'|"[^"]*"|\S)+"""
)
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
    words: list[str] = _WORD.findall(line.removesuffix(_MORE))
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


def usage(line: str, width: int) -> str:
    """Fold a usage between options and not within them."""
    hard = _BRACKETED.sub(lambda found: found[0].replace(" ", _HARD), line)
    folded = textwrap.wrap(
        hard, width, subsequent_indent=" " * _STEP, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(folded).replace(_HARD, " ")
