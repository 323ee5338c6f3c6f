"""What a model of the API says, as JSON Schema and as OpenAPI schema of apiextensions."""

from typing import TypeAlias

from krm_windows import SOURCE
from krm_windows.policy.parts import Part, resolved

Schema: TypeAlias = "str | int | float | bool | list[Schema] | dict[str, Schema] | None"

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
        "minLength",
        "maxLength",
        "minItems",
        "minProperties",
    }
)


def tree(model: type[Part]) -> dict[str, Schema]:
    """Return pydantic's schema of a model in one piece: no reference, no title, nothing null."""
    whole = model.model_json_schema()
    return _plain(whole, whole.get("$defs", {}))


def _plain(node: dict[str, Schema], definitions: dict[str, dict[str, Schema]]) -> dict[str, Schema]:
    found = _without(resolved(node, definitions), "$defs", "title")
    # pydantic says so of a map with names of a form.
    for pattern, value in _dict(found.pop("patternProperties", None)).items():
        found |= {"propertyNames": {"pattern": pattern}, "additionalProperties": value}
    for key in ("additionalProperties", "items"):
        inner = found.get(key)
        if isinstance(inner, dict):
            found[key] = _plain(inner, definitions)
    if "properties" in found:
        fields = _dict(found["properties"]).items()
        found["properties"] = {name: _plain(_dict(each), definitions) for name, each in fields}
    return dict(sorted(found.items()))


def _without(node: dict[str, Schema], *keys: str) -> dict[str, Schema]:
    return {key: value for key, value in node.items() if key not in keys}


def json_schema(model: type[Part]) -> dict[str, Schema]:
    """Return the JSON Schema (2020-12) of an object in a file, with null and cluster patches."""
    described = tree(model)
    kind = model.__name__
    spec = _at(described, "properties", "spec")
    has_clusters = "clusters" in _at(spec, "properties")
    if has_clusters:
        _at(spec, "properties", "clusters")["additionalProperties"] = _patch(spec)
    # From here on the patches are no longer plain values of a map.
    whole = _nullable(described)
    if has_clusters:
        clusters = _at(whole, "properties", "spec", "properties", "clusters")
        _name_clusters(clusters, _patch(spec))
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
            raise TypeError(f"{name} is not a schema")
        tree = inner
    return tree


def _patch(spec: dict[str, Schema]) -> dict[str, Schema]:
    """Return the schema of a merge patch on `spec`.

    Nothing is required, no map in it is empty, and no patch is inside a patch.
    """
    properties = _without(_at(spec, "properties"), "clusters", "buildFor")
    patch = _partial({"type": "object", "additionalProperties": False, "properties": properties})
    # Empty as a whole, it says that the cluster has the policy unchanged.
    return _without(patch, "minProperties")


def _partial(node: dict[str, Schema]) -> dict[str, Schema]:
    """Return the schema of a patch on a value: a map merges, everything else replaces."""
    # RFC 7386: everything but a map is replaced as a whole.
    if node.get("type") != "object":
        return node
    kept = _without(node, "required", "oneOf", "if", "then", "else", "default")
    properties = kept.get("properties")
    if isinstance(properties, dict):
        # Fields keep their own meaning: `not`, of a duration, say, is no matter of patches.
        parts: dict[str, Schema] = {
            key: _partial(_dict(value)) for key, value in properties.items()
        }
        kept["properties"] = parts
    entry = kept.get("additionalProperties")
    if isinstance(entry, dict):
        kept["additionalProperties"] = _partial(entry)
    # An empty map changes nothing, and is the trace of a null that was dropped.
    return {**kept, "minProperties": 1}


def _dict(node: Schema) -> dict[str, Schema]:
    if isinstance(node, dict):
        return node
    return {}


def _nullable(node: dict[str, Schema]) -> dict[str, Schema]:
    """Allow null for everything that may be absent: it means just that."""
    result = dict(node)
    properties = node.get("properties")
    if isinstance(properties, dict):
        result["properties"] = _nullable_fields(properties, _list(node.get("required")))
    entry = node.get("additionalProperties")
    if node.get("type") == "object" and isinstance(entry, dict):
        # A name counts only where something is under it.
        pattern = str(_dict(result.pop("propertyNames", None)).get("pattern"))
        result["patternProperties"] = {pattern: _or_null(_nullable(entry))}
        result["additionalProperties"] = {"type": "null"}
    items = node.get("items")
    if isinstance(items, dict):
        result["items"] = _nullable(items)
    # Exactly one of two fields: null beside the other must not count as given.
    choices = node.get("oneOf")
    if isinstance(choices, list):
        result["oneOf"] = [_given(_dict(choice)) for choice in choices]
    return result


def _nullable_fields(fields: dict[str, Schema], required: list[Schema]) -> dict[str, Schema]:
    result: dict[str, Schema] = {}
    for name, node in fields.items():
        inner = _nullable(_dict(node))
        if name not in required:
            inner = _or_null(inner)
        result[name] = inner
    return result


def _or_null(node: dict[str, Schema]) -> dict[str, Schema]:
    """Allow null beside a value, its description kept in front for editors."""
    kind = node.get("type")
    # A type of its own can be widened; other keywords would still refuse null.
    if isinstance(kind, str | list) and not _OF_ANY_TYPE & node.keys():
        kinds: list[Schema] = [kind]
        if isinstance(kind, list):
            kinds = list(kind)
        return {**node, "type": [*kinds, "null"]}
    bare = _without(node, "description", "default")
    said: dict[str, Schema] = {}
    for key in ("description", "default"):
        if key in node:
            said[key] = node[key]
    return {**said, "anyOf": [bare, {"type": "null"}]}


def _given(choice: dict[str, Schema]) -> dict[str, Schema]:
    """Say that a required field is not null either."""
    properties: dict[str, Schema] = {}
    for name in _list(choice["required"]):
        properties[str(name)] = {"not": {"type": "null"}}
    return {**choice, "properties": properties}


def open_api(model: type[Part]) -> dict[str, Schema]:
    """Return the schema as apiextensions writes it, without what only JSON Schema can say.

    It is structural: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/
    custom-resource-definitions/#specifying-a-structural-schema.
    """
    return _structural(tree(model))


def _structural(node: dict[str, Schema]) -> dict[str, Schema]:
    kept = {key: value for key, value in node.items() if key in _STRUCTURAL}
    _set_type(kept, node)
    # Go's regular expressions cannot look ahead.
    if "(?" in str(kept.get("pattern", "")):
        kept.pop("pattern")
    properties = kept.get("properties")
    if isinstance(properties, dict):
        parts: dict[str, Schema] = {
            key: _structural(_dict(value)) for key, value in properties.items()
        }
        kept["properties"] = parts
    for key in ("additionalProperties", "items"):
        inner = kept.get(key)
        if isinstance(inner, dict):
            kept[key] = _structural(inner)
        # `additionalProperties: false` is not allowed beside `properties` there.
        elif key in kept:
            kept.pop(key)
    return kept


def _set_type(kept: dict[str, Schema], node: dict[str, Schema]) -> None:
    """Give a schema the one type that a structural one has."""
    # Of several types the text is the one that takes all of them.
    if isinstance(kept.get("type"), list):
        kept["type"] = "string"
    if "const" in node:
        kept["enum"] = [node["const"]]
    if "enum" in kept and kept.get("type") is None:
        # The texts of booleans are beside them, for kustomize.
        is_flag = True in _list(kept["enum"])
        kept["type"] = "string"
        if is_flag:
            kept["type"] = "boolean"
    if kept.get("type") == "boolean":
        kept.pop("enum")


def _list(node: Schema) -> list[Schema]:
    if isinstance(node, list):
        return node
    return []
