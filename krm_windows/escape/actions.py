"""Workflow commands of GitHub Actions, by which a finding becomes an annotation.

Format: actions/toolkit, packages/core/src/command.ts.
"""

from collections.abc import Iterable, Mapping

from krm_windows.escape.characters import Escaped
from krm_windows.escape.terminal import line

# Those of `escapeData` and `escapeProperty`.
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def command(
    name: str,
    properties: Mapping[str, str],
    message: str,
) -> str:
    """Return a command; nothing in its values ends it or begins another."""
    listed = []
    for key, value in properties.items():
        listed.append(f"{key}={line(value).translate(_PROPERTY)}")
    return f"::{name} {','.join(listed)}::{line(message).translate(_DATA)}"


def commands(found: Iterable[str]) -> Escaped:
    """Return commands that `command` made, a line each."""
    return Escaped("".join(f"{one}\n" for one in found))
