"""Objects as the API server writes them: their JSON, what lies in it, and who wrote it.

Apart from the client of the API server (`kubernetes`), which brings HTTP and TLS with it: a build,
which reads and names what the gate writes, asks no server.
"""

import json

MANAGER = "krm-windows"  # of the fields that are patched
HOLDER = "krm-windows-hold"  # of what `krm-windows hold` writes for a person
_NESTED = 250_000  # maps and lists in a text: a million empty ones are 100 MiB in memory


def parse(text: str) -> object:
    """Read JSON as RFC 8259 has it.

    Raises `ValueError` or `RecursionError` for the rest, so for a key that is given twice.
    """
    # To count takes a while, and few texts are so long.
    if len(text) > _NESTED and text.count("[") + text.count("{") > _NESTED:
        raise ValueError("nested too deeply")
    return _DECODER.decode(text)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate key")
    return found


def _refused(constant: str) -> object:
    raise ValueError(f"{constant} is not a number")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refused)


def cut(text: str, longest: int = 1024) -> str:
    """Return a text, or its beginning where it is longer."""
    if len(text) <= longest:
        return text
    return f"{text[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"


def dig(value: object, *path: str) -> object:
    """Give what lies at `path` in nested mappings; None where there is nothing."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
