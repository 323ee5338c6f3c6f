"""What the model says, for others: JSON Schema, KRMFunctionDefinition, metadata and the field reference.

All of it is generated and committed; `python -m krm_windows.policy.schema --check` says what is stale.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from krm_windows import __version__
from krm_windows.krm.writer import render
from krm_windows.policy import reference
from krm_windows.policy.model import API_VERSION, KIND, WindowPolicy

Schema: TypeAlias = "str | int | float | bool | list[Schema] | dict[str, Schema] | None"

SOURCE = "https://github.com/krm-windows/krm-windows"
_IMAGE = f"ghcr.io/krm-windows/krm-windows:{__version__}"
SUMMARY = "Reconciliation windows for GitOps: when changes may reach a cluster, as plain CronJobs and rights."
GROUP, _, VERSION = API_VERSION.partition("/")
# Keywords that hold for a value of any type, so for null too.
_OF_ANY_TYPE = frozenset({"enum", "const", "not", "oneOf", "if"})
# What an OpenAPI schema of apiextensions takes, as far as it is needed here.
_STRUCTURAL = frozenset(
    {"type", "description", "properties", "additionalProperties", "items", "required", "enum", "default", "pattern"}
    | {"minLength", "maxLength", "minItems", "minProperties"}
)


def structure() -> dict[str, Schema]:
    """Return the model's schema as one tree: no references, no titles, no null, maps by their names."""
    whole = WindowPolicy.model_json_schema()
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
    plain = {key: _plain(value, definitions) for key, value in node.items() if key != "title" or not _is_text(value)}
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


def json_schema() -> dict[str, Schema]:
    """Return the JSON Schema (2020-12) of a policy as it stands in a file, null and cluster patches included."""
    tree = structure()
    spec = _at(tree, "properties", "spec")
    patches = _at(spec, "properties", "clusters")
    patches["additionalProperties"] = _patch(spec)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{SOURCE}/function-config/windowpolicy.schema.json",
        "title": KIND,
        **_nullable(tree),
    }


def _at(tree: dict[str, Schema], *path: str) -> dict[str, Schema]:
    """Return a map inside a schema."""
    for name in path:
        inner = tree[name]
        if not isinstance(inner, dict):
            raise TypeError(f"{name} is no schema")
        tree = inner
    return tree


def _patch(spec: dict[str, Schema]) -> dict[str, Schema]:
    """Return the schema of a merge patch on `spec`: nothing required, no empty map, no patch inside a patch."""
    properties = {k: v for k, v in _at(spec, "properties").items() if k not in ("clusters", "buildFor")}
    return _partial({"type": "object", "additionalProperties": False, "properties": properties})


def _partial(node: dict[str, Schema]) -> dict[str, Schema]:
    if node.get("type") != "object":
        return node
    kept: dict[str, Schema] = {
        key: value for key, value in node.items() if key not in ("required", "oneOf", "if", "then", "else", "default")
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
    bare: dict[str, Schema] = {key: value for key, value in node.items() if key not in ("description", "default")}
    said: dict[str, Schema] = {key: node[key] for key in ("description", "default") if key in node}
    return {**said, "anyOf": [bare, {"type": "null"}]}


def _given(choice: dict[str, Schema]) -> dict[str, Schema]:
    """Say that a required field is not null either."""
    names = choice["required"]
    listed = names if isinstance(names, list) else []
    return {**choice, "properties": {str(name): {"not": {"type": "null"}} for name in listed}}


def open_api() -> dict[str, Schema]:
    """Return the schema as apiextensions writes it: structural, without what only JSON Schema can say."""
    return _structural(structure())


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


def json_schema_text() -> str:
    """Return the JSON Schema as a file."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def definition_text() -> str:
    """Return the KRMFunctionDefinition (KEP-2906) as a file."""
    version = {
        "name": VERSION,
        "idempotent": True,
        "usage": f"{SOURCE}/blob/main/docs/reference/windowpolicy.md",
        "examples": [f"{SOURCE}/tree/main/examples/no-deploy-friday"],
        "license": "Apache-2.0",
        "schema": {"openAPIV3Schema": open_api()},
        "runtime": {"container": {"image": _IMAGE, "requireNetwork": False, "requireStorageMount": False}},
    }
    definition = {
        "apiVersion": "config.kubernetes.io/v1alpha1",
        "kind": "KRMFunctionDefinition",
        "metadata": {"name": f"windowpolicies.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"kind": KIND},
            "description": SUMMARY,
            "publisher": GROUP,
            "home": SOURCE,
            "maintainers": ["The krm-windows authors"],
            "tags": ["gitops", "flux", "change window", "freeze"],
            "versions": [version],
        },
    }
    return render(definition)


def metadata_text() -> str:
    """Return the catalogue entry as kpt's function catalogue reads it."""
    return render(
        {
            "image": _IMAGE,
            "description": SUMMARY,
            "tags": ["mutator", "generator"],
            "sourceURL": SOURCE,
            "examplePackageURLs": [f"{SOURCE}/tree/main/examples/kpt-pipeline"],
            "emails": [],
            "license": "Apache-2.0",
            "hidden": False,
        }
    )


def reference_text() -> str:
    """Return the field reference as Markdown."""
    return reference.fields(structure(), KIND, API_VERSION)


FILES: Mapping[str, Callable[[], str]] = {
    "function-config/windowpolicy.schema.json": json_schema_text,
    "function-config/windowpolicy.definition.yaml": definition_text,
    "function-config/metadata.yaml": metadata_text,
    "docs/reference/windowpolicy.md": reference_text,
    "docs/reference/rules.md": reference.rules,
}


def stale(root: Path) -> list[str]:
    """Return the generated files below `root` that are not what the model says."""
    files = {name: root / name for name in FILES}
    return [name for name, make in FILES.items() if not files[name].is_file() or files[name].read_text() != make()]


def write(root: Path) -> None:
    """Write every generated file below `root`."""
    for name, make in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(make(), encoding="utf-8")


def main() -> int:
    """Write or check the generated files of a checkout; 1 if one is stale."""
    parser = argparse.ArgumentParser(prog="python -m krm_windows.policy.schema", description=__doc__)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", action="store_true", help="write the files")
    mode.add_argument("--check", action="store_true", help="name the files that are stale")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the checkout (default: here)")
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments.root)
        return 0
    found = stale(arguments.root)
    for name in found:
        sys.stderr.write(f"{name} is stale; make generate\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
