"""The names that docs/reference/compatibility.md promises to keep: tests/fixtures/promised.json.

`python tests/promised.py` writes what there is today. Before a release that is free; after one, a
line that goes from the file is a promise that is broken, and wants the next major version.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import commands_page
from calls import call, wire

from krm_windows import inventory
from krm_windows.cli.commands import COMMANDS
from krm_windows.emit import labels
from krm_windows.exit_codes import ExitCode
from krm_windows.function import dispatch, kinds
from krm_windows.gate import annotations, events
from krm_windows.rules import RULES
from krm_windows.service import description

FIXTURES = Path(__file__).resolve().parent / "fixtures"
FILE = FIXTURES / "promised.json"
# Those that end in a slash are followed by a digest of the policy's name.
MARKS = (
    annotations.CLOSED_BY,
    annotations.HOLD,
    dispatch.MODE,
    inventory.CHANGE_CLASS,
    labels.GOVERNED_BY,
    labels.POLICY,
    labels.WINDOW,
)
# A promise about these is that no more of what is there already is so: a field that becomes
# required, a finding that becomes an error. Each with the list that says what is there.
NO_MORE = {"required fields": "fields", "rules that are errors": "rules"}
NO_MORE["rules that are not only information"] = "rules"

# What is emitted and printed of these two is named below.
POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: week, namespace: flux-system}
spec:
  timeZone: Europe/Berlin
  targets:
  - {kind: Kustomization, names: [apps]}
  - {kind: HelmRelease, namespace: shop, names: [web]}
  crossNamespaceTargets: Allow
  windows:
    office: {opens: Mon 08:00, closes: Thu 17:00}
    once: {opens: "2026-01-06T02:00", duration: 2h}
  freezes:
    inventory: {starts: 2026-01-07, ends: 2026-01-08, reason: Inventory}
  overrides:
    fix: {state: Open, starts: "2026-01-09T10:00", ends: "2026-01-09T12:00", reason: Fix}
"""
ALL = f"""\
{POLICY}\
  events: true
  extras: [StateMetrics, PrometheusRule, NetworkPolicy, AlertmanagerTimeIntervals]
  hooks:
    namespace: hooks
    beforeOpen: {{image: "registry.test/a:1"}}
    afterApply: {{image: "registry.test/a:1", rollback: {{image: "registry.test/a:1"}}}}
    afterClose: {{image: "registry.test/a:1"}}
"""
KUBECTL = f"""\
{POLICY[: POLICY.index("    once:")]}\
  actuator: {{type: Kubectl}}
"""
# What each command that prints JSON is asked, in a repository with the policy and another one.
ASKED = (
    "calendar week.yaml -o json --from 2026-01-05 --days 7",
    "check week.yaml -o json --from 2026-01-01 --years 1",
    "diff week.yaml other.yaml -o json --from 2026-01-05",
    "history week.yaml --repo . --from 2026-01-05 --until 2026-01-12 -o json",
    "override closed.yaml open --for 1h --reason Fix --dry-run -o json",
    "set week.yaml --patch {} --dry-run -o json --from 2026-01-05",
    "simulate week.yaml --repo . --from 2025-12-01 -o json",
    "state week.yaml -o json --at 2026-01-05T12:00:00Z",
)


def current() -> dict[str, list[str]]:
    """Return all names of today, by what they are names of."""
    emitted = [each for text in (ALL, KUBECTL) for each in _emitted(text)]
    fields = [field for kind in dispatch.KINDS for field in _fields_of(kind)]
    return {
        "commands and options": sorted(_options()),
        "exit codes": [f"{code.value} {code.name}" for code in ExitCode],
        "fields": sorted({path for path, _, _ in fields}),
        "types and values of fields": sorted({each for field in fields for each in _said(*field)}),
        "required fields": sorted({path for path, _, is_required in fields if is_required}),
        "names of the objects": sorted({_named(each) for each in emitted}),
        "labels and annotations": sorted({*MARKS, *_labels(emitted)}),
        "metrics, events": sorted({*_metrics(), *_reasons()}),
        "rules": sorted(rule.id for rule in RULES),
        "rules that are errors": sorted(rule.id for rule in RULES if rule.severity == "error"),
        "rules that are not only information": sorted(
            rule.id for rule in RULES if rule.severity != "info"
        ),
        "HTTP API": sorted(set(_operations(description.document()))),
        "JSON that a command prints": sorted(set(_printed())),
    }


def broken(what: str, kept: Mapping[str, list[str]], now: Mapping[str, list[str]]) -> list[str]:
    """Return what has gone from a list, or come to one that promises not to grow."""
    if what in NO_MORE:
        return sorted(set(now[what]) & set(kept[NO_MORE[what]]) - set(kept[what]))
    return sorted(set(kept[what]) - set(now[what]))


def _options() -> Iterator[str]:
    for name in COMMANDS:
        parser = commands_page.parser(name)
        yield name
        # What is refused with what to do instead is no promise.
        for action in (each for each in parser._actions if each.help != argparse.SUPPRESS):
            yield from (f"{name} {option}" for option in action.option_strings)
            # Those of a number are its limits.
            choices = [choice for choice in action.choices or () if isinstance(choice, str)]
            shown = action.option_strings[-1] if action.option_strings else action.dest
            yield from (f"{name} {shown} {choice}" for choice in choices)


Field = tuple[str, Mapping[str, Any], bool]


def _fields_of(kind: str) -> Iterator[Field]:
    schema = json.loads(kinds.read(kind, "json"))
    yield from _fields(schema, kind, schema)


def _fields(node: object, path: str, whole: Mapping[str, Any]) -> Iterator[Field]:
    """Yield every field below a schema, its own schema, and whether it is required.

    In its path stands `*` for a name of the user's and `[]` for an entry.
    """
    if not isinstance(node, dict):
        return
    for name, below in node.get("properties", {}).items():
        yield f"{path}.{name}", below, name in node.get("required", ())
        yield from _fields(below, f"{path}.{name}", whole)
    yield from _fields(node.get("additionalProperties"), f"{path}.*", whole)
    for below in node.get("patternProperties", {}).values():
        yield from _fields(below, f"{path}.*", whole)
    yield from _fields(node.get("items"), f"{path}[]", whole)
    for word in ("anyOf", "oneOf", "allOf"):
        for below in node.get(word, ()):
            yield from _fields(below, path, whole)
    if "$ref" in node and node["$ref"].rpartition("/")[2] not in dispatch.KINDS:
        yield from _fields(_resolved(node, whole), path, whole)


def _resolved(node: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a schema
    """Return what `$ref` names, `#/a/b`."""
    found: Any = whole
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def _said(path: str, schema: Mapping[str, Any], _: bool) -> Iterator[str]:  # noqa: FBT001 - a row
    """Yield the types, the values and the default of a field."""
    types = schema.get("type", ())
    for name in [types] if isinstance(types, str) else types:
        yield f"{path}: {name}"
    for value in (*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])):
        yield f"{path}: {json.dumps(value)}"
    if "default" in schema:
        yield f"{path} = {json.dumps(schema['default'])}"
    for word in ("anyOf", "oneOf", "allOf"):
        for below in schema.get(word, ()):
            yield from _said(path, below, _)


def _emitted(policy: str) -> list[dict[str, Any]]:
    answer = call(wire(config=policy))
    assert answer.code == 0, answer.results
    return answer.objects


def _named(item: Mapping[str, Any]) -> str:
    """Return kind, namespace and name, `*` for a digest."""
    meta = item["metadata"]
    where = f"{meta['namespace']}/" if "namespace" in meta else ""
    return re.sub(r"[0-9a-f]{16}", "*", f"{item['kind']} {where}{meta['name']}")


def _labels(emitted: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the labels of each kind with the form of their values; annotations are words."""
    for item in emitted:
        for key, value in item["metadata"].get("labels", {}).items():
            yield f"{item['kind']} {key}: {value}"
        for key in item["metadata"].get("annotations", {}):
            # What only Kubernetes, kustomize and kpt are told is theirs.
            if "krm-windows.dev" in key:
                yield f"{item['kind']} {re.sub(r'[0-9a-f]{16}', '*', key)}"


def _metrics() -> Iterator[str]:
    """Yield the metrics of targets and of the service, and the alerts."""
    text = "".join(json.dumps(item) for item in _emitted(ALL))
    yield from re.findall(r"\bkrm_windows[_:][a-z_:]*[a-z]\b", text)
    yield from (f"alert {name}" for name in re.findall(r'"alert": "(\w+)"', text))
    for path in sorted(Path(description.__file__).parent.glob("*.py")):
        yield from re.findall(r"\bkrm_windows_[a-z_]*[a-z]\b", path.read_text())


def _reasons() -> Iterator[str]:
    for reason in (*events.REASONS.values(), events.HOOK_FAILED):
        yield f"event {reason}"


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the HTTP API takes and answers: operations, parameters, fields, statuses."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            called = f"{method.upper()} {path}"
            yield called
            for given in operation.get("parameters", ()):
                yield f"{called} {given['in']} {given['name']}"
            yield from _bodies(f"{called} body", operation.get("requestBody", {}))
            for status, response in operation["responses"].items():
                yield f"{called} {status}"
                yield from _bodies(f"{called} {status}", response)
    yield from _schemas(document["components"]["schemas"])


def _bodies(where: str, body: Mapping[str, Any]) -> Iterator[str]:
    for media_type, content in body.get("content", {}).items():
        yield f"{where} {media_type} {content.get('schema', {}).get('$ref', '').rpartition('/')[2]}"


def _schemas(schemas: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of each schema of the HTTP API; those of a policy are its own."""
    for name, schema in schemas.items():
        if name not in dispatch.KINDS:
            whole = {"components": {"schemas": schemas}}
            for field in _fields(schema, name, whole):
                yield field[0]
                yield from _said(*field)


def _printed() -> Iterator[str]:
    """Yield the keys of the JSON that commands print of the policy, each with its path."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "week.yaml").write_text(POLICY)
        (place / "other.yaml").write_text(POLICY.replace("Thu 17:00", "Fri 17:00"))
        # Which an override opens at whatever time this runs.
        (place / "closed.yaml").write_text(f"{POLICY}  state: Closed\n")
        _committed(place)
        for asked in ASKED:
            name = asked.split(maxsplit=1)[0]
            command = [sys.executable, "-m", "krm_windows", *asked.split()]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            printed = json.loads(done.stdout)
            if name != "check":
                # As `check` has them; of what it finds some depends on the day.
                printed.pop("results", None)
            yield from (f"{name} {path}" for path in _keys(printed, ""))


def _committed(place: Path) -> None:
    """Put what is there into Git, at the beginning of 2026."""
    when = {f"GIT_{who}_DATE": "2026-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    somebody = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message=Add")):
        command = ["git", "-C", place, *somebody, *words]
        subprocess.run(command, env={**os.environ, **when, **settings}, check=True)


def _keys(value: object, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _keys(each, f"{path}[]")
    if isinstance(value, dict):
        for key, each in value.items():
            yield f"{path}.{key}"
            yield from _keys(each, f"{path}.{key}")


def main() -> None:
    """Write the file."""
    FILE.write_text(json.dumps(current(), indent=1) + "\n")


if __name__ == "__main__":
    main()
