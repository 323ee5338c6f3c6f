"""What the models of the API have in common, and the words for what pydantic refuses.

A model is validated from a tree of texts (`policy.document`): a leaf reads one text, all else is
pydantic's own. What it refuses comes back as findings, each with its path.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Self

from pydantic import (
    BaseModel,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from krm_windows import rules
from krm_windows.policy.findings import Finding, RefusedError, closest

Schema = dict[str, Any]

# What a policy means depends on no plugin of pydantic that some other package brings along.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


class Context(NamedTuple):
    """What a part has to know of the rest of its object; None where that is wrong or missing."""

    time_zone: str | None = None
    namespace: str | None = None


# Annotations are hashed, and a schema cannot be.
@dataclass(frozen=True, eq=False)
class Leaf:
    """How a leaf is made of the text that was written, and its JSON schema.

    `read` raises `RefusedError`.
    """

    read: Callable[[str], object]
    schema: Schema

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Read the text, and nothing else of the annotated type."""
        return core_schema.no_info_after_validator_function(
            self.read, core_schema.str_schema(strict=True)
        )

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> Schema:
        """Describe what may be written."""
        return self.schema.copy()


class Part(
    BaseModel,
    frozen=True,
    extra="forbid",
    alias_generator=to_camel,
    validate_by_name=True,
    defer_build=True,
):
    """A part of the API."""

    @classmethod
    def read(cls, tree: object, context: Context | None = None) -> Self:
        """Read a part from a tree; raises `RefusedError` with all that is wrong."""
        try:
            return cls.model_validate(tree, context=context, by_alias=True, by_name=False)
        except ValidationError as error:
            raise RefusedError(*_findings(error, cls)) from None

    def __hash__(self) -> int:
        """Hash the fields; of a map its entries, in whatever order."""
        values = self.__dict__.values()
        return hash(
            tuple(frozenset(each.items()) if isinstance(each, dict) else each for each in values)
        )


def context(info: ValidationInfo) -> Context:
    """Return the context of a validation, an empty one where a part is made in a program."""
    return info.context or Context()


def _findings(error: ValidationError, part: type[Part]) -> Iterator[Finding]:
    """Yield what is wrong in our words, with paths from the root of the part."""
    for each in error.errors(include_url=False):
        path = "".join(map(_step, each["loc"]))
        for finding in _worded(each, part):
            rest = finding.path
            # What refuses a value names a field in it without a dot: `ends`, `cronJobs.open`.
            if rest and not rest.startswith((".", "[")):
                rest = f".{rest}"
            yield finding._replace(path=f"{path}{rest}".removeprefix("."))


def _step(step: int | str) -> str:
    # pydantic has this behind the name of an entry where the name itself is wrong.
    if step == "[key]":
        return ""
    return f"[{step}]" if isinstance(step, int) else f".{step}"


def _worded(error: ErrorDetails, part: type[Part]) -> Iterator[Finding]:
    loc = error["loc"]
    written = error["input"] if isinstance(error["input"], str) else None
    match error["type"]:
        case "missing":
            yield Finding(rules.FIELD_REQUIRED, "is required")
        case "too_short":
            # Entries that are wrong do not count for pydantic; each is reported itself.
            if not error["input"]:
                yield Finding(rules.FIELD_REQUIRED, "must not be empty")
        case "extra_forbidden":
            yield _unknown(str(loc[-1]), _at(part, loc[:-1]))
        case "literal_error":
            # pydantic has them as `'Open', 'Closed' or 'Scheduled'`.
            expected = error["ctx"]["expected"]
            meant = closest(written or "", expected.split("'")[1::2])
            must = "must be " + expected.replace("'", "")
            yield Finding(rules.FIELD_VALUE, must, written, meant)
        case "string_type":
            # YAML makes a list of `- a`, and a map of `a: b`, where a text was meant.
            kinds: dict[type, str] = {dict: "a map", list: "a list"}
            kind = kinds.get(type(error["input"]), "nothing")
            yield Finding(rules.FIELD_TYPE, f"must be a string, not {kind}")
        case "tuple_type":
            yield Finding(rules.FIELD_TYPE, "must be a list", written)
        case "dict_type" | "model_type":
            yield Finding(rules.FIELD_TYPE, "must be a map", written)
        case _:
            yield from error["ctx"]["findings"]


def _unknown(key: str, schema: Schema) -> Finding:
    known = list(schema["properties"])
    meant = closest(key, known)
    hint = f'did you mean "{meant}"?' if meant else f"must be one of {', '.join(known)}"
    return Finding(rules.FIELD_UNKNOWN, f"unknown field; {hint}")


@cache
def json_schema(part: type[Part]) -> Schema:
    """Return the JSON schema of a part: it takes long to make, and each finding asks for it."""
    return part.model_json_schema()


def _at(part: type[Part], loc: Sequence[int | str]) -> Schema:
    """Return what the schema of a part says of a place in it."""
    schema = json_schema(part)
    node = schema
    for step in loc:
        if isinstance(step, int):
            node = node["items"]
        elif step in node.get("properties", {}):
            node = node["properties"][step]
        elif "patternProperties" in node:
            (node,) = node["patternProperties"].values()
        else:
            node = node["additionalProperties"]
        node = resolved(node, schema.get("$defs", {}))
    return node


def resolved(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return a schema without null for what may be absent, and without a reference."""
    if "anyOf" in node and {"type": "null"} in node["anyOf"]:
        given, _null = node["anyOf"]
        kept = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
        node = {**given, **kept}
    if "$ref" in node:
        *_path, name = node["$ref"].split("/")
        kept = {key: value for key, value in node.items() if key != "$ref"}
        node = {**definitions[name], **kept}
    return node
