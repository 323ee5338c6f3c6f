"""The writer: objects of ours as block YAML.

Every reader, of YAML 1.1 or 1.2, takes it for the same value.

No anchors, no aliases, no tags, no width limit; keys in the order given. Whatever some reader could
take for something other than a string is double-quoted, and the escapes are those that JSON has
too.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from krm_windows.escape.characters import ALWAYS as HIDDEN
from krm_windows.krm.errors import InputError
from krm_windows.krm.nodes import number

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
_UNPRINTABLE = re.compile(f"[\t{HIDDEN}]")
# In a literal block a line of blanks alone would lose them.
_BLANK_LINE = re.compile("(?:^|\n) +(?:\n|$)")
_SHORT = {"\t": "\\t", "\r": "\\r"}
_BOOLEANS = {True: "true", False: "false"}
# libyaml reads a key without `?` up to 1024 characters.
_KEY_LENGTH = 1000


def render(value: object, indent: int = 0) -> str:
    """Write a value as lines of block YAML, indented by `indent` columns, with line feeds."""
    return "".join(f"{line}\n" for line in _indented(lines(value), " " * indent))


def lines(value: object) -> list[str]:
    """Write a value as lines without line feeds, the first at column 0."""
    written: list[str] = []
    if isinstance(value, Mapping):
        for key, entry in value.items():
            written += entry_lines(f"{_key(str(key))}:", entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            written += entry_lines("-", entry)
    # What is empty has no lines of its own.
    return written or [inline(value)]


def entry_lines(head: str, value: object) -> list[str]:
    """Write `head` (`key:` or `-`) and the value behind or below it."""
    if isinstance(value, str) and _is_literal(value):
        # `|` keeps the one line break at its end, `|-` has none.
        chomp = "" if value.endswith("\n") else "-"
        return [f"{head} |{chomp}", *_indented(value.removesuffix("\n").split("\n"))]
    first, *rest = below = lines(value)
    if not value or not isinstance(value, Mapping | list | tuple):
        return [f"{head} {first}"]
    # The first entry is behind the dash.
    if head == "-":
        return [f"- {first}", *_indented(rest)]
    # As kustomize writes it: the dashes of a list are at the column of its key.
    return [head, *(_indented(below) if isinstance(value, Mapping) else below)]


def inline(value: object) -> str:
    """Write a scalar or an empty collection, or any other collection in flow style."""
    if not isinstance(value, str):
        return flow(value)
    if is_plain(value):
        # A subclass of str, such as an enum, may print itself otherwise.
        return str(value)
    return quote(value)


def quote(text: str) -> str:
    """Write a text between double quotes."""
    shown = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{_UNPRINTABLE.sub(_escape, shown)}"'


def flow(value: object, text: Callable[[str], str] = quote) -> str:
    """Write a value on one line in flow style: JSON, but for infinite numbers.

    `text` writes keys and strings.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return _BOOLEANS[value]
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        entries = [f"{text(str(key))}: {flow(entry, text)}" for key, entry in value.items()]
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(item, text) for item in value) + "]"
    raise TypeError(f"{type(value).__name__} has no YAML form")


def is_plain(text: str) -> bool:
    """Say whether a text may be unquoted: every reader takes it for that string."""
    if text.lower() in _WORDS:
        return False
    return _PLAIN.match(text) is not None or _QUANTITY.match(text) is not None


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
    return not _UNPRINTABLE.search(text) and not _BLANK_LINE.search(text)


def _indented(block: Iterable[str], pad: str = "  ") -> Iterator[str]:
    """Put blanks before each line; an empty line of a literal block has none."""
    return (pad + line if line else line for line in block)
