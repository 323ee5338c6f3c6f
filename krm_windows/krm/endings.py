"""The end of a text that stops without a line break, in a block scalar.

What is put behind it must not change it:

    a: |
      x⏎      is "x" and a line break, and without that ⏎ it is "x" alone.

So the scalar is closed before anything follows: its header says that no line break belongs to it
(`|-`). Where nothing follows, the text stays as it came.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

import yaml

from krm_windows.krm import layout
from krm_windows.krm.errors import InputError

Chunk: TypeAlias = bytes | memoryview

# Of `key: !tag &name |2-  # comment` all up to the comment, in three parts.
_HEADER = re.compile(r"((?:[!&]\S*+\s++)*+[|>][0-9]*+)([+-]?)([0-9]*+)")
# Whatever begins a block scalar is in front of a line break, a comment, or the end: hardly ever
# in JSON.
_MAY_BE_HEADER = re.compile(rb"[|>][0-9+-]*+[ \t]*+(?:[#\r\n\xc2\xe2]|\Z)")
# Ends every block scalar, and is nothing itself.
_PROBE = "\n#\n"


class Ending(NamedTuple):
    """The last bytes of a text: as they came, and so that more can follow.

    Both are empty where it makes no difference.
    """

    raw: bytes = b""
    closed: bytes = b""

    def close(self, data: bytes) -> bytes:
        """Give the text so that more can be put behind it."""
        if not self.raw:
            return data
        return data.removesuffix(self.raw) + self.closed

    def restore(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Give an output with its last bytes as they came, if nothing was put behind them."""
        # The last piece is held back until it is known to be the last.
        held: Chunk = b""
        for chunk in chunks:
            if len(chunk):
                yield held
                held = chunk
        # Most texts have no such ending, and the last piece of one may be large.
        if self.raw and bytes(held[-len(self.closed) :]) == self.closed:
            yield held[: -len(self.closed)]
            held = self.raw
        yield held


ORDINARY = Ending()
"""That of a text to which more can be put as it is."""


def of(data: bytes) -> Ending:
    """Look at the end of a text; one that ends with a line break is never read for it."""
    if not data or data.endswith(b"\n"):
        return ORDINARY
    # Most texts have no block scalar at all, and none is read for this alone.
    if not _MAY_BE_HEADER.search(data):
        return ORDINARY
    try:
        return _found(data.decode())
    except (InputError, UnicodeDecodeError):
        return ORDINARY


def _found(text: str) -> Ending:
    """Look at the last scalar, and find how it means the same with more behind it."""
    last = _last(text)
    if last is None:
        return ORDINARY
    start, _ = last
    head = text[:start]
    scalar = text[start:]
    for closed in _candidates(scalar):
        probe = head + closed.removesuffix("\n") + _PROBE
        # The same place and the same value, with something behind it: so it is closed.
        if _last(probe) == last:
            return Ending(scalar.encode(), closed.encode())
    return ORDINARY


def _last(text: str) -> tuple[int, str] | None:
    """Give place and content of the last scalar, if it is a block scalar at the very end."""
    found: tuple[int, str] | None = None
    content = text.removeprefix("\ufeff")
    # libyaml does not count a byte order mark.
    shift = len(text) - len(content)
    for event in layout.events(content):
        if isinstance(event, yaml.ScalarEvent) and event.style in {"|", ">"}:
            found = (layout.starts(event).index + shift, event.value)
        elif isinstance(event, yaml.NodeEvent):
            found = None
    return found


def _candidates(scalar: str) -> Iterator[str]:
    """Give a block scalar with a line break behind it, which is a part of it or is not."""
    # As it is, with a line break of its own: right for `|-`.
    yield scalar + "\n"
    header = _HEADER.match(scalar)
    if header is None:
        return
    rest = scalar[header.end() :]
    # With a header that keeps none: right for `|`.
    yield f"{header.group(1)}{header.group(3)}-{rest}\n"
    # A last line of blanks alone, which no header keeps out.
    yield scalar.rstrip(" \t")
