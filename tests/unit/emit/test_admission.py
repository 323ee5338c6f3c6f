"""The admission policies as texts: which there are, and for whom."""

import json
import re

import pytest
from calls import emitted, spec
from hypothesis import given
from hypothesis import strategies as st

from krm_windows.emit.admission import cel
from krm_windows.gate.annotations import annotation

HOOK = "{namespace: maintenance, afterClose: {image: 'i:1'}}"
LITERAL = re.compile(r"'[^'\\\n]*'|\"(?:[^\"\\\n]|\\.)*\"")


def held(config: str) -> dict[str, dict]:
    found = emitted(config, "ValidatingAdmissionPolicy")
    names = [item["metadata"]["name"] for item in found]
    bindings = emitted(config, "ValidatingAdmissionPolicyBinding")
    assert [item["spec"]["policyName"] for item in bindings] == names
    return {item["metadata"]["name"].rpartition("gate")[2]: item["spec"] for item in found}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["", "-annotations"]),
        ({"hooks": HOOK}, ["", "-annotations", "-hooks"]),
        ({"actuator": "{type: Kubectl}"}, [""]),
        ({"admissionPolicy": "Disabled"}, []),
    ],
)
def test_which_there_are(fields: dict[str, str], expected: list[str]) -> None:
    config = spec(**fields)
    assert list(held(config)) == expected
    kinds = [item["kind"] for item in emitted(config)]
    assert kinds.index("ServiceAccount") == 2 * len(expected)


def test_they_refuse_what_they_cannot_judge() -> None:
    for found in held(spec(hooks=HOOK)).values():
        assert found["failurePolicy"] == "Fail"
        [condition] = found["matchConditions"]
        assert condition["name"] in ("gate-account", "not-the-gate")
        assert "'system:serviceaccount:flux-system:" in condition["expression"]
        assert "week-gate'" in condition["expression"]


def test_whose_marks_are_kept() -> None:
    [validation] = held(spec(formerNames="[flux-system/old]"))["-annotations"]["validations"]
    for name in ("flux-system/week", "flux-system/old"):
        assert annotation(name) in validation["expression"]
    assert annotation("flux-system/other") not in validation["expression"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_is_one_literal(text: str) -> None:
    quoted = cel.text(text)
    assert LITERAL.fullmatch(quoted)
    assert (quoted[1:-1] if quoted.startswith("'") else json.loads(quoted)) == text
    assert not set(re.findall(r"\\(.)", quoted.replace("\\\\", ""))) - set('"nrtbfu')


def test_elements_of_any_type() -> None:
    """The API server refuses a list or a map of several types, unless each is `dyn`."""
    assert cel.literal({"a": 1, "b": ["x", True], "c": {}}) == (
        "{'a': dyn(1), 'b': dyn([dyn('x'), dyn(true)]), 'c': dyn({})}"
    )
