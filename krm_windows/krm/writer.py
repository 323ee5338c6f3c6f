"""The writer: objects of ours as block YAML.

Every reader, of YAML 1.1 or 1.2, takes it for the same value.

No anchors, no aliases, no tags, no width limit; keys in the order given. Whatever some reader could
take for something other than a string is double-quoted, and the escapes are those that JSON has
too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias, TypeGuard

from krm_windows.escape.characters import ALWAYS as HIDDEN
from krm_windows.krm.errors import InputError
from krm_windows.krm.nodes import number

_Collection: TypeAlias = Mapping[object, object] | list[object] | tuple[object, ...]

# Letters first, so never a number, a date or a sexagesimal; then only what means nothing to YAML in
# block style.
_PLAIN = re.compile(
    r"[A-Za-z/](?:[A-Za-z0-9_./@+=;()%-]|[,:](?=[A-Za-z0-9_./@(%-])|,? (?=[A-Za-z0-9_./(]))*\Z"
)
# Resources and durations, such as `64Mi` and `30s`: a number for no reader.
_QUANTITY = re.compile(r"[1-9][0-9]*(?:m|s|h|ms|Ki|Mi|Gi)\Z")
# Booleans, nulls and numbers of YAML 1.1 and 1.2, in lower case.
_WORDS = frozenset(
    {
        "y",
        "yes",
        "n",
        "no",
        "true",
        "false",
        "on",
        "off",
        "null",
        "nan",
        "inf",
        "infinity",
        "none",
    }
)
# What YAML forbids, and what nobody would see in a file; beyond U+FFFF no code means the same to
# YAML and to JSON.
_UNPRINTABLE = f"\t{HIDDEN}"
_ESCAPED = re.compile(f'["\\\\\n{_UNPRINTABLE}]')
_UNLITERAL = re.compile(f"[{_UNPRINTABLE}]")
# In a literal block a line of blanks alone would lose them.
_BLANK_LINE = re.compile("(?:^|\n) +(?:\n|$)")
_SHORT = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
}
_BOOLEANS = {True: "true", False: "false"}
_STEP = "  "
# libyaml reads a key without `?` up to 1024 characters.
_KEY_LENGTH = 1000


def render(value: object, indent: int = 0) -> str:
    """Write a value as lines of block YAML, indented by `indent` columns, with line feeds."""
    written = _lines(value, " " * indent)
    # Behind the last line, too.
    written.append("")
    return "\n".join(written)


def lines(value: object) -> list[str]:
    """Write a value as lines without line feeds, the first at column 0."""
    return _lines(value, "")


def entry_lines(head: str, value: object) -> list[str]:
    """Write `head` (`key:` or `-`) and the value behind or below it."""
    written: list[str] = []
    _add_entry(written, "", head, value)
    return written


def _lines(value: object, pad: str) -> list[str]:
    """Write a value as lines, each behind the blanks `pad`."""
    if _is_filled(value):
        written: list[str] = []
        _add_collection(written, pad, value)
        return written
    return [pad + inline(value)]


def _is_filled(value: object) -> TypeGuard[_Collection]:
    """Say whether a value is a mapping or a list with something in it."""
    # The usual types first: to ask for `Mapping` takes much longer, and most values are texts.
    if isinstance(value, str):
        return False
    return isinstance(value, dict | list | tuple | Mapping) and bool(value)


# The lines of all levels are added to one list, each with its blanks at once: a text of the gate's
# program is many lines deep in a ConfigMap, which is itself an entry of a list.
def _add_collection(written: list[str], pad: str, value: _Collection) -> None:
    if isinstance(value, Mapping):
        for key, entry in value.items():
            _add_entry(written, pad, f"{_key(str(key))}:", entry)
        return
    for entry in value:
        _add_entry(written, pad, "-", entry)


def _add_entry(written: list[str], pad: str, head: str, value: object) -> None:
    """Add the lines of an entry of a mapping (`key:`) or of a list (`-`)."""
    if _is_filled(value):
        _add_nested(written, pad, head, value)
    elif isinstance(value, str) and _is_literal(value):
        # `|` keeps the one line break at its end, `|-` has none.
        chomp = "-"
        if value.endswith("\n"):
            chomp = ""
        written.append(f"{pad}{head} |{chomp}")
        text = value.removesuffix("\n")
        written.extend(_indented(text.split("\n"), pad + _STEP))
    else:
        written.append(f"{pad}{head} {inline(value)}")


def _add_nested(written: list[str], pad: str, head: str, value: _Collection) -> None:
    inner = pad + _STEP
    if head == "-":
        first = len(written)
        _add_collection(written, inner, value)
        # The first entry of a mapping is behind the dash.
        written[first] = f"{pad}- {written[first][len(inner) :]}"
        return
    written.append(pad + head)
    # As kustomize writes it: the dashes of a list are at the column of its key.
    if not isinstance(value, Mapping):
        inner = pad
    _add_collection(written, inner, value)


def inline(value: object) -> str:
    """Write a scalar or an empty collection, or any other collection in flow style."""
    if not isinstance(value, str):
        return flow(value)
    if is_plain(value):
        # A subclass of str, such as an enum, may print itself otherwise.
        return str(value)
    return quote(value)


def flow(value: object) -> str:
    """Write a value on one line in flow style: JSON, but for infinite numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return _BOOLEANS[value]
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Mapping):
        entries = [f"{quote(str(key))}: {flow(entry)}" for key, entry in value.items()]
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, list | tuple):
        items = [flow(item) for item in value]
        return "[" + ", ".join(items) + "]"
    raise TypeError(f"{type(value).__name__} has no YAML form")


def is_plain(text: str) -> bool:
    """Say whether a text may be unquoted: every reader takes it for that string."""
    if text.lower() in _WORDS:
        return False
    return _PLAIN.match(text) is not None or _QUANTITY.match(text) is not None


def quote(text: str) -> str:
    """Write a text between double quotes."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    # `\u0000` has four digits in JSON and in YAML.
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def _key(key: str) -> str:
    text = inline(key)
    if len(text) > _KEY_LENGTH:
        raise InputError(f"the key {text[:40]}… is longer than YAML allows")
    return text


def _is_literal(text: str) -> bool:
    """Say whether a text of several lines can be a literal block, its indentation detected."""
    if "\n" not in text or text.endswith("\n\n"):
        # `|` keeps one line break at the end; `|+` would keep more, but also those of an edit below
        # it.
        return False
    # A reader detects the indentation from the first line.
    if text[0] in " \n":
        return False
    return not _UNLITERAL.search(text) and not _BLANK_LINE.search(text)


def _indented(block: Iterable[str], pad: str) -> Iterator[str]:
    """Put blanks before each line; an empty line of a literal block has none."""
    return (pad + line if line else line for line in block)
