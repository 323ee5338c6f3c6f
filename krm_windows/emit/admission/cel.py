"""CEL, the language of admission policies: data as literals."""

import json
from collections.abc import Iterable


def literal(value: object) -> str:
    """Return JSON-like data as CEL.

    What is not of one type is `dyn`: the API server refuses a list or a map whose elements are of
    different types (`HomogeneousAggregateLiterals`). The escapes of JSON's strings are CEL's too,
    but for surrogates, so no text is turned into ASCII.
    """
    if isinstance(value, dict):
        values = _elements(value.values())
        entries = (f"{text(str(key))}: {each}" for key, each in zip(value, values, strict=True))
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_elements(value))}]"
    if isinstance(value, str):
        return text(value)
    return json.dumps(value)


def _elements(values: Iterable[object]) -> list[str]:
    found = list(values)
    kinds = {type(each) for each in found}
    if len(kinds) == 1 and kinds <= {str, int, bool}:
        return list(map(literal, found))
    return [f"dyn({literal(each)})" for each in found]


def text(value: str) -> str:
    """Return a text as a string literal, in single quotes where it needs no escapes."""
    quoted = json.dumps(value, ensure_ascii=False)
    # Within YAML a text in single quotes needs no escapes of its own.
    if quoted == f'"{value}"' and "'" not in value:
        return f"'{value}'"
    return quoted


def texts(values: Iterable[str]) -> str:
    """Return a list of texts."""
    return literal(list(values))
