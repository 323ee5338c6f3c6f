"""The names that docs/reference/compatibility.md promises to keep: tests/fixtures/promised.json.

`python tests/promised.py` writes what there is today. Before a release that is free; after one, a
line that goes from the file is a promise that is broken, and wants the next major version.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from krm_windows import inventory
from krm_windows.cli import arguments
from krm_windows.cli.main import COMMANDS
from krm_windows.emit import labels
from krm_windows.exit_codes import ExitCode
from krm_windows.function import catalogue, dispatch
from krm_windows.gate import annotations
from krm_windows.rules import RULES

FIXTURES = Path(__file__).resolve().parent / "fixtures"
FILE = FIXTURES / "promised.json"
# Those that end in a slash are followed by a digest of the policy's name.
MARKS = (
    annotations.CLOSED_BY,
    annotations.HOLD,
    annotations.HOOKS,
    dispatch.MODE,
    inventory.CHANGE_CLASS,
    labels.GOVERNED_BY,
    labels.POLICY,
    labels.WINDOW,
)


def current() -> dict[str, list[str]]:
    """Return all names of today, by what they are names of."""
    return {
        "commands and options": sorted(_options()),
        "exit codes": [f"{code.value} {code.name}" for code in ExitCode],
        "fields": sorted({field for kind in catalogue.KINDS for field in _fields_of(kind)}),
        "labels and annotations": sorted(MARKS),
        "rules": sorted(rule.id for rule in RULES),
    }


def _options() -> Iterator[str]:
    whole = arguments.parser(COMMANDS, ["--help", *COMMANDS])
    for name, parser in arguments.subparsers(whole).items():
        yield name
        for action in parser._actions:
            yield from (f"{name} {option}" for option in action.option_strings)


def _fields_of(kind: str) -> Iterator[str]:
    schema = json.loads(catalogue.Kind.json_schema(catalogue.KINDS[kind]))
    yield from _fields(schema, kind, schema)


def _fields(node: object, path: str, whole: Mapping[str, object]) -> Iterator[str]:
    """Yield every field below a schema, `*` for a name of the user's and `[]` for an entry."""
    if not isinstance(node, dict):
        return
    for name, below in node.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from _fields(below, f"{path}.{name}", whole)
    yield from _fields(node.get("additionalProperties"), f"{path}.*", whole)
    for below in node.get("patternProperties", {}).values():
        yield from _fields(below, f"{path}.*", whole)
    yield from _fields(node.get("items"), f"{path}[]", whole)
    for word in ("anyOf", "oneOf", "allOf"):
        for below in node.get(word, ()):
            yield from _fields(below, path, whole)
    if "$ref" in node:
        yield from _fields(whole["$defs"][node["$ref"].rpartition("/")[2]], path, whole)


def main() -> None:
    """Write the file."""
    FILE.write_text(json.dumps(current(), indent=1) + "\n")


if __name__ == "__main__":
    main()
