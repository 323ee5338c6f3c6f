"""CEL, the language of admission policies: literals, and maps whose keys may be missing.

An object is a plain map to CEL at run time (k8s.io/apiserver, plugin/policy/validating), so keys
are asked for with `in` and read with `[]`, whatever its kind.
"""

import json
from collections.abc import Iterable

# What stands for a value that is missing, so that every expression has one.
NOTHING = "''"
NO_MAP = "dyn({})"
NO_LIST = "dyn([])"


def literal(value: object) -> str:
    """Return JSON-like data as CEL.

    Every element is `dyn`: the API server refuses a list or a map whose elements are of different
    types (`HomogeneousAggregateLiterals`). The escapes of JSON's strings are CEL's too, but for
    surrogates, so no text is turned into ASCII.
    """
    if isinstance(value, dict):
        entries = []
        for key, entry in value.items():
            entries.append(f"{text(str(key))}: dyn({literal(entry)})")
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list | tuple):
        elements = [f"dyn({literal(entry)})" for entry in value]
        return f"[{', '.join(elements)}]"
    if isinstance(value, str):
        return text(value)
    return json.dumps(value)


def text(value: str) -> str:
    """Return a text as a string literal, in single quotes where it needs no escapes."""
    quoted = json.dumps(value, ensure_ascii=False)
    # Within YAML a text in single quotes needs no escapes of its own.
    if quoted == f'"{value}"' and "'" not in value:
        return f"'{value}'"
    return quoted


def texts(values: Iterable[str]) -> str:
    """Return a list of texts, all of one type."""
    return f"[{', '.join(map(text, values))}]"


def get(holder: str, key: str, absent: str = NO_MAP) -> str:
    """Return what a map holds under a key that may be missing."""
    name = text(key)
    return f"({name} in {holder} ? {holder}[{name}] : {absent})"


def every(*conditions: str) -> str:
    """Return that all conditions hold."""
    return " && ".join(conditions)


def bound(value: str, name: str, holds: str) -> str:
    """Return what holds of a value under a name.

    CEL has no `let`, but a list of one element does.
    """
    return f"[{value}].all({name}, {holds})"
