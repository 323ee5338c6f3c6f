"""The writer: objects of ours as block YAML that every reader, of YAML 1.1 or 1.2, takes for the same value.

No anchors, no aliases, no tags, no width limit; keys in the order given. Whatever some reader could take for something
other than a string is double-quoted, and the escapes are those that JSON has too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from krm_windows.escape.signs import ALWAYS as HIDDEN
from krm_windows.krm.errors import InputError
from krm_windows.krm.nodes import number

# Letters first, so never a number, a date or a sexagesimal; then only what means nothing to YAML in block style.
_PLAIN = re.compile(
    r"[A-Za-z/](?:[A-Za-z0-9_./@+=;()%-]|[,:](?=[A-Za-z0-9_./@(%-])|,? (?=[A-Za-z0-9_./(]))*\Z"
)
_QUANTITY = re.compile(r"[1-9][0-9]*(?:m|s|h|ms|Ki|Mi|Gi)\Z")
_WORDS = frozenset(
    {"y", "yes", "n", "no", "true", "false", "on", "off", "null", "nan", "inf", "infinity", "none"}
)
# What YAML forbids, and what nobody would see in a file; beyond U+FFFF no code means the same to YAML and to JSON.
_UNPRINTABLE = f"\t{HIDDEN}"
_ESCAPED = re.compile(f'["\\\\\n{_UNPRINTABLE}]')
_UNLITERAL = re.compile(f"[{_UNPRINTABLE}]|(?:^|\n) +(?:\n|$)")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_KEY_LENGTH = 1000  # libyaml reads a key without `?` up to 1024 characters


def render(value: object, indent: int = 0) -> str:
    """Write a value as lines of block YAML, each indented by `indent` columns and ended by a line feed."""
    pad = " " * indent
    return "".join(f"{pad}{line}\n" if line else "\n" for line in lines(value))


def lines(value: object) -> list[str]:
    """Write a value as lines without line feeds, the first at column 0."""
    if isinstance(value, Mapping) and value:
        return [
            line
            for key, entry in value.items()
            for line in entry_lines(f"{_key(str(key))}:", entry)
        ]
    if isinstance(value, list | tuple) and value:
        return [line for item in value for line in entry_lines("-", item)]
    return [inline(value)]


def entry_lines(head: str, value: object) -> list[str]:
    """Write `head` (`key:` or `-`) and the value behind or below it."""
    if isinstance(value, Mapping | list | tuple) and value:
        nested = lines(value)
        if head == "-":
            return [f"- {nested[0]}", *_indented(nested[1:])]
        return [head, *(_indented(nested) if isinstance(value, Mapping) else nested)]
    if isinstance(value, str) and _is_literal(value):
        chomp = "" if value.endswith("\n") else "-"
        return [f"{head} |{chomp}", *_indented(value.removesuffix("\n").split("\n"))]
    return [f"{head} {inline(value)}"]


def inline(value: object) -> str:
    """Write a scalar or an empty collection in block style, or any other collection in flow style."""
    if isinstance(value, str):
        return str(value) if is_plain(value) else quote(value)
    return flow(value)


def flow(value: object) -> str:
    """Write a value on one line in flow style: JSON, but for infinite numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{quote(str(key))}: {flow(entry)}" for key, entry in value.items())
            + "}"
        )
    return "[" + ", ".join(flow(item) for item in _items(value)) + "]"


def is_plain(text: str) -> bool:
    """Say whether a text may stand unquoted: no reader could take it for anything but that string."""
    return bool(_QUANTITY.match(text) or _PLAIN.match(text)) and text.lower() not in _WORDS


def quote(text: str) -> str:
    """Write a text between double quotes."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


@lru_cache(maxsize=1024)
def _key(key: str) -> str:
    text = inline(key)
    if len(text) > _KEY_LENGTH:
        raise InputError(f"the key {text[:40]}… is longer than YAML allows")
    return text


def _is_literal(text: str) -> bool:
    """Say whether a text of several lines is the same as a literal block with its indentation detected."""
    framed = "\n" in text and text[0] not in " \n" and not text.endswith("\n\n")
    return framed and not _UNLITERAL.search(text)


def _items(value: object) -> Iterable[object]:
    if isinstance(value, list | tuple):
        return value
    raise TypeError(f"{type(value).__name__} has no YAML form")


def _indented(block: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" if line else "" for line in block)
