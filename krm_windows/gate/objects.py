"""Objects as the API server writes them: their JSON, what lies in it, and who wrote it."""

import json
from typing import Any

MANAGER = "krm-windows"  # of the fields that are patched
HOLDER = "krm-windows-hold"  # by which a person sets a hold
_NESTED = 250_000  # maps and lists in a text: a million empty ones are 100 MiB in memory


def parse(text: str) -> Any:  # noqa: ANN401 - whatever it is
    """Read JSON; raise `ValueError` or `RecursionError` for what is none, or too much."""
    if text.count("[") + text.count("{") > _NESTED:
        raise ValueError("nested too deeply")
    return json.loads(text)


def cut(text: str, longest: int = 1024) -> str:
    """Return a text, or its beginning where it is longer."""
    return text if len(text) <= longest else f"{text[: longest - 1]}\u2026"


def dig(value: Any, *path: str) -> Any:  # noqa: ANN401
    """Give what lies at `path` in nested mappings; None where there is nothing."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
