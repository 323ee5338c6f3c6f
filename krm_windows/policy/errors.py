"""What pydantic found wrong with a model of the API, in the user's words.

A path, a rule, what must hold, the fix.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

from pydantic import BaseModel, ValidationError

from krm_windows import rules
from krm_windows.policy.findings import Finding, RefusedError, closest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

# What pydantic calls a value of another type, and what it should have been.
_TYPES = {
    "model_type": "a map",
    "model_attributes_type": "a map",
    "dict_type": "a map",
    "mapping_type": "a map",
    "tuple_type": "a list",
    "list_type": "a list",
}


def findings(error: ValidationError, model: type[BaseModel]) -> Iterator[Finding]:
    """Yield every error of a failed validation of a model, with paths from the object's root."""
    for details in error.errors(include_url=False):
        # The list has entries, and each of them its own error.
        if details["type"] == "too_short" and details["input"]:
            continue
        path = path_of(details["loc"])
        # Our own refusal: pydantic keeps the exception of a validator.
        refused = details.get("ctx", {}).get("error")
        if isinstance(refused, RefusedError):
            yield from (_below(path, finding) for finding in refused.findings)
        else:
            yield _finding(details, path, model)


def path_of(loc: tuple[int | str, ...]) -> str:
    """Write a location as a path: `spec.targets[0].kind`."""
    path = ""
    for part in loc:
        # pydantic says so where the name in a map is wrong, not its value.
        if part == "[key]":
            continue
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}"
    return path.removeprefix(".")


def _below(path: str, finding: Finding) -> Finding:
    """Put the path of a finding behind that of the value that it was found in."""
    # `names[0]` follows without a dot, as an index does.
    if finding.path and not finding.path.startswith("["):
        return finding._replace(path=f"{path}.{finding.path}")
    return finding._replace(path=f"{path}{finding.path}")


def _finding(
    details: "ErrorDetails",
    path: str,
    model: type[BaseModel],
) -> Finding:
    kind = details["type"]
    given = details["input"]
    current = None
    if isinstance(given, str):
        current = given
    if kind == "extra_forbidden":
        return _unknown(details["loc"], path, model)
    if kind == "missing":
        return Finding(rules.FIELD_REQUIRED, "must be given", path=path)
    if kind == "too_short":
        return Finding(rules.FIELD_REQUIRED, "must not be empty", path=path)
    if kind == "literal_error":
        return _other_value(details, path, current)
    must = f"must be right: {details['msg']}"
    if kind in _TYPES:
        must = f"must be {_TYPES[kind]}"
    return Finding(rules.FIELD_TYPE, must, current, path=path)


def _other_value(
    details: "ErrorDetails",
    path: str,
    current: str | None,
) -> Finding:
    # pydantic gives them as one text: `'Open' or 'Closed'`.
    options = re.findall(r"'([^']+)'", str(details.get("ctx", {}).get("expected")))
    *others, last = options or [""]
    must = f"must be {last}"
    if others:
        must = f"must be {', '.join(others)} or {last}"
    proposed = closest(current or "", options)
    return Finding(rules.FIELD_VALUE, must, current, proposed, path)


def _unknown(
    loc: tuple[int | str, ...],
    path: str,
    model: type[BaseModel],
) -> Finding:
    name = str(loc[-1])
    known = _fields_at(loc[:-1], model)
    fix = closest(name, known)
    hint = f"known here: {', '.join(known)}"
    if fix:
        hint = f'did you mean "{fix}"?'
    return Finding(rules.FIELD_UNKNOWN, f"is not a field of the API; {hint}", path=path)


def _fields_at(loc: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    """Return the names of the fields at a location of a model."""
    for part in loc:
        # An index, or a name of a map's own, leads to no other model.
        for name, inner in _models(model):
            if name == part:
                model = inner
                break
    return [field.alias or name for name, field in model.model_fields.items()]


def _models(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield the fields of a model that hold models: one, a list or a map of them."""
    for name, field in model.model_fields.items():
        # `Hooks | None`, `tuple[Target, ...]`, `dict[str, Window]`.
        for inner in (field.annotation, *get_args(field.annotation)):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield field.alias or name, inner
