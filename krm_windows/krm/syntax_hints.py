"""What is likely wrong where libyaml refuses a text, in plain words and at its place.

libyaml says where it could not go on, which is mostly a line below the mistake. Each proposal here
is a correction of the text: it is named only if libyaml then gets further.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import yaml

from krm_windows.krm import limits, lines

# The text is read again for each proposal; in a longer one nothing is looked for.
_MOST = 100_000
# Line breaks to YAML 1.1 and not to an editor, by which the lines would be counted otherwise.
_ODD_BREAKS = re.compile("[\r\x85\u2028\u2029]")
# The first word of a line, behind its indentation and its dashes.
_WORD = re.compile(r"(?P<lead> *(?:- +)*)(?P<key>[A-Za-z][\w./-]{0,62}+)(?P<rest>[^\n]*)")
_DASH = re.compile(r" *(?:- +)*-(?=[^\s-])")
_ENTRY = re.compile(r" *- *(?=\S)")
# A quote at the beginning of a value.
_OPENED = re.compile(r"""(?:: |- |[\[{,] *)(?P<quote>["'])""")
_TAB = "a tab cannot indent in YAML: use spaces"
_TABS = frozenset(
    (
        "found a tab character that violates indentation",
        "found a tab character where an indentation space is expected",
    )
)
_NO_END = "found unexpected end of stream"
# So many lines with a quote may be tried, from the nearest on.
_FEW = 5


class Spot(NamedTuple):
    """A line and a column, both from 0, as libyaml counts them."""

    line: int
    column: int


class Slip(NamedTuple):
    """What is likely wrong, and where."""

    message: str
    spot: Spot


class _Proposal(NamedTuple):
    """A slip, and the lines of the text without it."""

    slip: Slip
    lines: list[str]


@dataclass(frozen=True, slots=True)
class _Refused:
    """A text that libyaml refuses `at` a place, while it read what `began` earlier."""

    lines: list[str]
    at: Spot
    began: Spot

    def proposal(self, message: str, spot: Spot, *corrected: str) -> _Proposal:
        """Return what is wrong in a line, with what is right in its place."""
        right = [*self.lines]
        right[spot.line : spot.line + 1] = corrected
        return _Proposal(Slip(message, spot), right)

    def above(self, line: int) -> Iterator[int]:
        """Yield the lines above a line that are neither blank nor comments, the nearest first."""
        for number in range(line - 1, -1, -1):
            if self.lines[number].strip() and not self.lines[number].lstrip().startswith("#"):
                yield number


def find(text: str, problem: str, at: Spot, began: Spot | None) -> Slip:
    """Return what is likely wrong in a text; `problem` where nothing better can be said.

    `problem` is what libyaml says, `at` where, and `began` where what it was reading began.
    """
    found: Slip | None
    if problem in _TABS:
        found = Slip(_TAB, at)
    elif problem == _NO_END:
        found = _open_end(text, began)
    else:
        found = _corrected(text, _FINDERS.get(problem, ()), at, began)
    return found or Slip(problem, at)


def _corrected(
    text: str,
    finders: Iterable["_Finder"],
    at: Spot,
    began: Spot | None,
) -> Slip | None:
    # In a template, what is odd is mostly a template's.
    if not finders or len(text) > _MOST or "{{" in text:
        return None
    text = text.replace("\r\n", "\n")
    split = text.split("\n")
    if _ODD_BREAKS.search(text) or at.line >= len(split):
        return None
    refused = _Refused(split, at, began or at)
    return _likeliest(refused, chain.from_iterable(finder(refused) for finder in finders))


def _likeliest(refused: _Refused, proposals: Iterable[_Proposal]) -> Slip | None:
    """Return the first proposal with which libyaml can read the text, or at least gets further."""
    further: Slip | None = None
    for proposal in proposals:
        stop = _stops("\n".join(proposal.lines))
        if stop is None:
            return proposal.slip
        # There is another mistake below.
        added = len(proposal.lines) - len(refused.lines)
        if further is None and stop > refused.at.line + added:
            further = proposal.slip
    return further


def _open_end(text: str, began: Spot | None) -> Slip | None:
    """Return the quote that nothing closes up to the end of the text."""
    if began is None:
        return None
    # A line ends here where it does to libyaml, which counted them.
    line = lines.BREAK.split(text, began.line + 1)[began.line]
    quote = line[began.column : began.column + 1]
    if quote not in ('"', "'"):
        return None
    return Slip(_open_quote(quote), began)


def _stops(text: str) -> int | None:
    """Return the line at which libyaml refuses a text, None where it can be read."""
    depth = 0
    loader = yaml.CSafeLoader(text)
    try:
        while (event := loader.get_event()) is not None:
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > limits.DEPTH:
                return 0
    except yaml.MarkedYAMLError as error:
        return error.problem_mark.line if error.problem_mark else 0
    except yaml.YAMLError:
        return 0
    return None


def _key_without_colon(refused: _Refused) -> Iterator[_Proposal]:
    yield from _unpunctuated(refused, refused.began.line)


def _line_above_without_colon(refused: _Refused) -> Iterator[_Proposal]:
    for line in refused.above(refused.at.line):
        yield from _unpunctuated(refused, line)
        return


def _unpunctuated(refused: _Refused, number: int) -> Iterator[_Proposal]:
    """Yield what lacks in a line: a colon, or a space after a colon or a dash."""
    line = refused.lines[number]
    dash = _DASH.match(line)
    if dash is not None:
        corrected = f"{line[: dash.end()]} {line[dash.end() :]}"
        message = "write a space after the dash"
        yield refused.proposal(message, Spot(number, dash.end()), corrected)
        return
    found = _WORD.match(line)
    if found is None:
        return
    lead, key, rest = found["lead"], found["key"], found["rest"]
    spot = Spot(number, len(lead) + len(key))
    if rest.startswith(":") and not rest.startswith((": ", ":\t")):
        message = f'write a space after the colon of "{key}"'
        yield refused.proposal(message, Spot(number, spot.column + 1), f"{lead}{key}: {rest[1:]}")
    elif not rest.startswith(":"):
        message = f'"{key}" has no colon: write a colon after it'
        yield refused.proposal(message, spot, f"{lead}{key}:{rest}")


def _colon_in_value(refused: _Refused) -> Iterator[_Proposal]:
    """Yield a value with a colon in it that needs quotes."""
    number, column = refused.at
    found = _WORD.match(refused.lines[number])
    if found is None or not found["rest"].startswith(": "):
        return
    value = found["rest"][2:].strip()
    # A comment, or quotes within, would need more than quotes around.
    if column <= found.end("key") or '"' in value or " #" in value:
        return
    start = found["lead"] + found["key"] + ": "
    message = "a value that contains a colon and a space needs quotes around it"
    yield refused.proposal(message, Spot(number, len(start)), f'{start}"{value}"')


def _deeper_than_above(refused: _Refused) -> Iterator[_Proposal]:
    """Yield a line that is indented further than the field above it, which has a value."""
    number, _ = refused.at
    line = refused.lines[number]
    indentation = _indentation(line)
    above = next(refused.above(number), None)
    if above is None:
        return
    level = _level(refused.lines[above], dash=_ENTRY.match(line) is not None)
    if level is None or level == indentation:
        return
    key = _WORD.match(refused.lines[above])
    other = "the line"
    if key is not None:
        other = f'"{key["key"]}"'
    message = (
        f"this line is indented by {_spaces(indentation)}, and {other} above it by {level}: "
        "give both the same indentation"
    )
    moved = f"{' ' * level}{line.lstrip(' ')}"
    yield refused.proposal(message, Spot(number, indentation), moved)
    # Or it is the line above that is wrong.
    lead = refused.lines[above]
    if _indentation(lead) == level:
        right = [*refused.lines]
        right[above] = f"{' ' * indentation}{lead.lstrip(' ')}"
        yield _Proposal(Slip(message, Spot(number, indentation)), right)


def _between_levels(refused: _Refused) -> Iterator[_Proposal]:
    """Yield a line whose indentation is none of those above it."""
    number, column = refused.at
    line = refused.lines[number]
    indentation = _indentation(line)
    # In the middle of a line it is no question of indentation.
    if column != indentation:
        return
    possible: list[tuple[int, _Proposal]] = []
    for level in _nearest(_levels(refused, number), indentation):
        moved = refused.proposal("", Spot(number, column), f"{' ' * level}{line.lstrip(' ')}")
        stop = _stops("\n".join(moved.lines))
        if stop is None or stop > number:
            possible.append((level, moved))
    if not possible:
        return
    *others, last = [level for level, _ in possible]
    written = " or ".join([*map(str, others), _spaces(last)])
    message = f"the indentation by {_spaces(indentation)} fits no line above it: write {written}"
    for _, moved in possible:
        yield _Proposal(Slip(message, moved.slip.spot), moved.lines)


def _levels(refused: _Refused, number: int) -> list[int]:
    """Return the columns of the fields and dashes that are open above a line."""
    levels: list[int] = []
    for above in refused.above(number):
        line = refused.lines[above]
        for level in (_level(line, dash=False), _level(line, dash=True)):
            if level is not None and (not levels or level < min(levels)):
                levels.append(level)
        if 0 in levels:
            break
    return levels


def _nearest(levels: list[int], indentation: int) -> list[int]:
    """Return the next deeper level and the next one that is less deep."""
    deeper = [level for level in levels if level > indentation]
    less = [level for level in levels if level < indentation]
    return [*sorted(deeper)[:1], *sorted(less)[-1:]]


def _level(line: str, *, dash: bool) -> int | None:
    """Return the column of the first dash of a line, or of its key; None where it has none."""
    entry = _ENTRY.match(line)
    if dash:
        return None if entry is None else _indentation(line)
    word = _WORD.match(line)
    if word is None or not word["rest"].startswith(":"):
        return None
    return len(word["lead"])


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _spaces(count: int) -> str:
    return "1 space" if count == 1 else f"{count} spaces"


def _quote_above(refused: _Refused) -> Iterator[_Proposal]:
    """Yield the lines with a quote that nothing closes in the same line, the nearest first."""
    tried = 0
    for number in range(refused.at.line, -1, -1):
        opened = _unclosed(refused.lines[number])
        if opened is None:
            continue
        message = _open_quote(opened["quote"])
        line = f"{refused.lines[number].rstrip()}{opened['quote']}"
        yield refused.proposal(message, Spot(number, opened.start("quote")), line)
        tried += 1
        if tried == _FEW:
            return


def _unclosed(line: str) -> re.Match[str] | None:
    for opened in _OPENED.finditer(line):
        if line.count(opened["quote"], opened.start()) % 2:
            return opened
    return None


def _open_quote(quote: str) -> str:
    return f"the quote that begins here is not closed: write {quote} at the end of the value"


def _bracket(refused: _Refused) -> Iterator[_Proposal]:
    """Yield the bracket that is not closed in its line."""
    number, column = refused.began
    line = refused.lines[number]
    closing = {"[": "]", "{": "}"}.get(line[column : column + 1])
    if closing is not None:
        message = f"the bracket that begins here is not closed: write {closing} at its end"
        yield refused.proposal(message, Spot(number, column), f"{line.rstrip()}{closing}")


def _dash_after_key(refused: _Refused) -> Iterator[_Proposal]:
    """Yield a list that begins in the line of its key."""
    number, column = refused.at
    line = refused.lines[number]
    word = _WORD.match(line)
    if word is None or column <= word.end("key"):
        return
    message = (
        f'a list begins on the line after "{word["key"]}:": write each dash on a line of its own'
    )
    indented = f"{' ' * len(word['lead'])}{line[column:]}"
    yield refused.proposal(message, Spot(number, column), line[:column].rstrip(), indented)


_Finder = Callable[[_Refused], Iterator[_Proposal]]
_NOT_HERE = "mapping values are not allowed in this context"
# What libyaml says (scanner.c and parser.c), and what is then looked for, the likeliest first.
_FINDERS: dict[str, tuple[_Finder, ...]] = {
    _NOT_HERE: (_colon_in_value, _line_above_without_colon, _deeper_than_above, _quote_above),
    "could not find expected ':'": (_key_without_colon, _quote_above),
    "did not find expected key": (_quote_above, _between_levels),
    "did not find expected '-' indicator": (_quote_above, _between_levels),
    "did not find expected ',' or ']'": (_quote_above, _bracket),
    "did not find expected ',' or '}'": (_quote_above, _bracket),
    "block sequence entries are not allowed in this context": (_dash_after_key,),
}
