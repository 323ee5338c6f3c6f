"""What the function has to say, as results and on standard error."""

from pathlib import Path

import pytest
from calls import APPS, POLICY, call, spec, wire
from jsonschema import validate

from krm_windows import function
from krm_windows.krm import ResourceList

DOCUMENTS = sorted(Path(__file__).parents[1].glob("fixtures/rules/*/fires.yaml"))
# Two policies are a change, which `diff` is about.
FIXTURES = [path for path in DOCUMENTS if "\n---\n" not in path.read_text()]

TEXT = {"type": "string", "minLength": 1}
REFERENCE = ("apiVersion", "kind", "name")


def shape(*required: str, **properties: object) -> dict[str, object]:
    known = {"additionalProperties": False, "properties": properties}
    return {"type": "object", "required": list(required), **known}


# The functions specification, `ResourceList.results`.
RESULT = shape(
    "message",
    "severity",
    "tags",
    message=TEXT,
    severity={"enum": ["error", "warning", "info"]},
    resourceRef=shape(*REFERENCE, **dict.fromkeys((*REFERENCE, "namespace"), TEXT)),
    field=shape("path", path=TEXT, currentValue={"type": "string"}, proposedValue=TEXT),
    file=shape("path", path=TEXT, index={"type": ["string", "integer"]}),
    tags={
        "type": "object",
        "required": ["rule"],
        "properties": {"rule": {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"}},
        "additionalProperties": {"type": "string"},
    },
)
RESULTS = {"type": "array", "minItems": 1, "items": RESULT}
PLACED = APPS.replace(
    "metadata:\n",
    "metadata:\n  annotations:\n    internal.config.kubernetes.io/path: clusters/x.yaml\n"
    "    internal.config.kubernetes.io/index: '2'\n",
)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.parent.name)
def test_R01_shape(path: Path) -> None:
    text = path.read_text()
    if not text.startswith("apiVersion: config.kubernetes.io"):
        text = wire(APPS, config=text)
    results = call(text).results
    if "mode: Validate" in text:  # it writes nothing
        resources = ResourceList.read(text.encode())
        function.process(resources)
        results = [each.value() for each in resources.results]
    validate(results, RESULTS)
    assert "internal" not in {result["tags"]["rule"] for result in results}
    assert all("\n" not in result["message"] for result in results)


def test_R01_numbers_and_texts() -> None:
    answer = call(wire(f"{PLACED}  suspend: false\n"))
    assert b"\n    index: 2\n" in answer.out
    assert b'\n    currentValue: "false"\n' in answer.out


def test_R02_exit_codes() -> None:
    error, warning = wire(f"{APPS}  suspend: true\n"), wire(f"{APPS}  suspend: false\n")
    assert call(error).code == 1
    assert call(warning).code == 0
    strict = call(warning, "--strict")
    assert strict.code == 1
    assert strict.out.startswith(warning.encode())
    assert call(wire(APPS), "--strict").code == 0


@pytest.mark.parametrize("environ", [{}, {"LOG_TO_STDERR": ""}, {"LOG_TO_STDERR": "true"}])
def test_R03_standard_error(environ: dict[str, str]) -> None:
    loud = bool(environ.get("LOG_TO_STDERR"))
    warning = call(wire(f"{APPS}  suspend: false\n"), **environ)
    assert ("(suspend-false)" in warning.err) == loud
    both = call(
        wire(f"{APPS}  suspend: true\n", config=POLICY.replace("[apps]", "[apps, web]")), **environ
    )
    assert [line.partition(" ")[0] for line in both.err.splitlines()] == ["[error]", "[error]"]
    held = call(wire(f"{APPS}  suspend: true\n", config=spec(state="Open")), **environ)
    assert ("(state-held)" in held.err) == loud
    assert "(suspend-true)" in held.err


def test_R04_the_object_and_its_file() -> None:
    [found] = call(wire(f"{PLACED}  suspend: true\n")).results
    kustomization = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization"}
    assert found["resourceRef"] == {**kustomization, "name": "apps", "namespace": "flux-system"}
    assert found["file"] == {"path": "clusters/x.yaml", "index": "2"}
    assert found["field"] == {"path": "spec.suspend", "currentValue": "true"}


def test_R04_order() -> None:
    items = [
        f"{APPS.replace('name: apps', f'name: a{n}')}  suspend: {flag}\n"
        for n, flag in ((1, "false"), (2, "true"))
    ]
    items.append(APPS.replace("name: apps", "name: a3") + "  suspend: true\n")
    config = POLICY.replace("[apps]", "[a1, a2, a3, a10]")
    answers = [call(wire(*order, config=config)) for order in (items, items[::-1])]
    assert answers[0].results == answers[1].results
    assert answers[0].rules == ["target-missing", "suspend-true", "suspend-true", "suspend-false"]
