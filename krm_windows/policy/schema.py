"""What a model of the API says, for others: as JSON Schema, and as OpenAPI schema of apiextensions."""

from collections.abc import Mapping
from typing import TypeAlias

from pydantic import BaseModel

Schema: TypeAlias = "str | int | float | bool | list[Schema] | dict[str, Schema] | None"

SOURCE = "https://github.com/krm-windows/krm-windows"
# Keywords that hold for a value of any type, so for null too.
_OF_ANY_TYPE = frozenset({"enum", "const", "not", "oneOf", "if"})
# What an OpenAPI schema of apiextensions takes, as far as it is needed here.
_STRUCTURAL = frozenset(
    {
        "type",
        "description",
        "properties",
        "additionalProperties",
        "items",
        "required",
        "enum",
        "default",
        "pattern",
    }
    | {"minLength", "maxLength", "minItems", "minProperties"}
)


def structure(model: type[BaseModel]) -> dict[str, Schema]:
    """Return a model's schema as one tree: no references, no titles, no null, maps by their names."""
    whole = model.model_json_schema()
    definitions = whole.pop("$defs")
    tree = _plain(whole, definitions)
    if not isinstance(tree, dict):
        raise TypeError("the schema of a model is a map")
    return tree


def _plain(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if isinstance(reference_to := node.get("$ref"), str):
        named = _plain(definitions[reference_to.rpartition("/")[2]], definitions)
        own = {key: value for key, value in node.items() if key != "$ref"}
        return {**named, **own} if isinstance(named, dict) else named
    plain = {
        key: _plain(value, definitions)
        for key, value in node.items()
        if key != "title" or not _is_text(value)
    }
    return _by_name(_without_null(plain))


def _is_text(value: Schema) -> bool:
    return isinstance(value, str)


def _without_null(node: dict[str, Schema]) -> dict[str, Schema]:
    """Write an optional value as the value: absent is absent, and null means the same (see `_nullable`)."""
    options = node.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options and isinstance(options[0], dict):
        rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
        return {**options[0], **rest}
    return {key: value for key, value in node.items() if (key, value) != ("default", None)}


def _by_name(node: dict[str, Schema]) -> dict[str, Schema]:
    """Write a map keyed by names as a schema of the names and one of the values."""
    by_pattern = node.get("patternProperties")
    if not isinstance(by_pattern, dict):
        return node
    ((pattern, entry),) = by_pattern.items()
    rest = {key: value for key, value in node.items() if key != "patternProperties"}
    names: dict[str, Schema] = {"pattern": pattern}
    return {**rest, "propertyNames": names, "additionalProperties": entry}


def json_schema(model: type[BaseModel]) -> dict[str, Schema]:
    """Return the JSON Schema (2020-12) of an object as it stands in a file, null and cluster patches included."""
    tree, kind = structure(model), model.__name__
    spec = _at(tree, "properties", "spec")
    has_clusters = "clusters" in _at(spec, "properties")
    if has_clusters:
        _at(spec, "properties", "clusters")["additionalProperties"] = _patch(spec)
    whole = _nullable(tree)
    if has_clusters:
        _name_clusters(_at(whole, "properties", "spec", "properties", "clusters"), _patch(spec))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{SOURCE}/function-config/{kind.lower()}.schema.json",
        "title": kind,
        **whole,
    }


def _name_clusters(clusters: dict[str, Schema], patch: dict[str, Schema]) -> None:
    """Demand a map for each cluster: one with nothing behind its name would be forgotten."""
    names = _dict(clusters.get("patternProperties"))
    clusters["patternProperties"] = dict.fromkeys(names, _nullable(patch))
    clusters["additionalProperties"] = False


def _at(tree: dict[str, Schema], *path: str) -> dict[str, Schema]:
    """Return a map inside a schema."""
    for name in path:
        inner = tree[name]
        if not isinstance(inner, dict):
            raise TypeError(f"{name} is no schema")
        tree = inner
    return tree


def _patch(spec: dict[str, Schema]) -> dict[str, Schema]:
    """Return the schema of a merge patch on `spec`: nothing required, no empty map in it, no patch inside a patch."""
    properties = {
        k: v for k, v in _at(spec, "properties").items() if k not in ("clusters", "buildFor")
    }
    patch = _partial({"type": "object", "additionalProperties": False, "properties": properties})
    return {key: value for key, value in patch.items() if key != "minProperties"}


def _partial(node: dict[str, Schema]) -> dict[str, Schema]:
    if node.get("type") != "object":
        return node
    kept: dict[str, Schema] = {
        key: value
        for key, value in node.items()
        if key not in ("required", "oneOf", "if", "then", "else", "default")
    }
    if isinstance(properties := kept.get("properties"), dict):
        kept["properties"] = {key: _partial(_dict(value)) for key, value in properties.items()}
    if isinstance(entry := kept.get("additionalProperties"), dict):
        kept["additionalProperties"] = _partial(entry)
    return {**kept, "minProperties": 1}


def _dict(node: Schema) -> dict[str, Schema]:
    return node if isinstance(node, dict) else {}


def _nullable(node: dict[str, Schema]) -> dict[str, Schema]:
    """Allow null for everything that may be absent: it means just that."""
    result = dict(node)
    required = node.get("required")
    needed = required if isinstance(required, list) else []
    if isinstance(properties := node.get("properties"), dict):
        result["properties"] = {
            key: _nullable(_dict(value)) if key in needed else _or_null(_nullable(_dict(value)))
            for key, value in properties.items()
        }
    if node.get("type") == "object" and isinstance(entry := node.get("additionalProperties"), dict):
        # A name counts only where something stands under it.
        pattern = str(_dict(result.pop("propertyNames", None)).get("pattern"))
        result["patternProperties"] = {pattern: _or_null(_nullable(entry))}
        result["additionalProperties"] = {"type": "null"}
    if isinstance(items := node.get("items"), dict):
        result["items"] = _nullable(items)
    if isinstance(choices := node.get("oneOf"), list):
        result["oneOf"] = [_given(_dict(choice)) for choice in choices]
    return result


def _or_null(node: dict[str, Schema]) -> dict[str, Schema]:
    """Allow null beside a value, its description kept in front for editors."""
    kind = node.get("type")
    if isinstance(kind, str | list) and not _OF_ANY_TYPE & node.keys():
        return {**node, "type": [*(kind if isinstance(kind, list) else [kind]), "null"]}
    bare: dict[str, Schema] = {
        key: value for key, value in node.items() if key not in ("description", "default")
    }
    said: dict[str, Schema] = {key: node[key] for key in ("description", "default") if key in node}
    return {**said, "anyOf": [bare, {"type": "null"}]}


def _given(choice: dict[str, Schema]) -> dict[str, Schema]:
    """Say that a required field is not null either."""
    names = choice["required"]
    listed = names if isinstance(names, list) else []
    return {**choice, "properties": {str(name): {"not": {"type": "null"}} for name in listed}}


def open_api(model: type[BaseModel]) -> dict[str, Schema]:
    """Return the schema as apiextensions writes it: structural, without what only JSON Schema can say."""
    return _structural(structure(model))


def _structural(node: dict[str, Schema]) -> dict[str, Schema]:
    kept = {key: value for key, value in node.items() if key in _STRUCTURAL}
    if isinstance(kept.get("type"), list):
        kept["type"] = "string"
    if "const" in node:
        kept["enum"] = [node["const"]]
    if "enum" in kept and kept.get("type") is None:
        kept["type"] = "boolean" if True in _list(kept["enum"]) else "string"
    if kept.get("type") == "boolean":
        kept.pop("enum")
    if "(?" in str(kept.get("pattern", "")):
        kept.pop("pattern")
    if isinstance(properties := kept.get("properties"), dict):
        kept["properties"] = {key: _structural(_dict(value)) for key, value in properties.items()}
    for key in ("additionalProperties", "items"):
        if isinstance(inner := kept.get(key), dict):
            kept[key] = _structural(inner)
        elif key in kept:
            kept.pop(key)
    return kept


def _list(node: Schema) -> list[Schema]:
    return node if isinstance(node, list) else []
