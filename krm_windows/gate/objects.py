"""Objects as the API server writes them: what lies in them, and who wrote it."""

from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

MANAGER = "krm-windows"  # of the fields that are patched
HOLDER = "krm-windows-hold"  # by which a person sets a hold


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
