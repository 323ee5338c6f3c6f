"""What a command and the launcher say to each other.

Frames of a length and groups of texts, over pipes. This, and all that the launcher imports, keeps
to modules that load in no time: no dataclasses, no enum, no typing.
"""

import os
from collections.abc import Sequence

Groups = list[list[str]]

_LENGTH = 4


def write_frame(descriptor: int, groups: Sequence[Sequence[str]]) -> None:
    """Write groups of texts to a pipe."""
    texts: list[str] = []
    for group in groups:
        texts.append(str(len(group)))
        texts.extend(group)
    # No path, argument or variable has a zero byte in it (execve(2)); surrogateescape keeps bytes
    # that are no UTF-8 (PEP 383).
    content = "\0".join(texts).encode("utf-8", "surrogateescape")
    rest = len(content).to_bytes(_LENGTH, "big") + content
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def read_frame(descriptor: int) -> Groups | None:
    """Return the groups of texts that come next on a pipe, None at its end."""
    length = _read(descriptor, _LENGTH)
    if length is None:
        return None
    content = _read(descriptor, int.from_bytes(length, "big"))
    if content is None:
        return None
    texts = content.decode("utf-8", "surrogateescape").split("\0")
    groups = []
    while texts:
        size = int(texts[0])
        groups.append(texts[1 : size + 1])
        texts = texts[size + 1 :]
    return groups


def _read(descriptor: int, length: int) -> bytes | None:
    content = b""
    # A pipe gives what is there, which may be less than was asked for (pipe(7)).
    while len(content) < length:
        part = os.read(descriptor, length - len(content))
        if not part:
            return None
        content += part
    return content
