"""A row of a table of kinds, rules or formats is not alone: what else it wants.

What the cluster tests run is read from their text, so that this works without a cluster.
"""

import ast
import re
from pathlib import Path

import pytest

from krm_windows import gateable
from krm_windows.cli import calendar
from krm_windows.cli.main import main
from krm_windows.rules import RULES

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures"
TESTS = "\n".join(path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py")))


def cluster_kinds() -> dict[str, set[str]]:
    tree = ast.parse((ROOT / "tests/cluster/test_kinds.py").read_text())
    found = {}
    for call in ast.walk(tree):
        match call:
            case ast.Call(ast.Name("Kind"), [ast.Constant(str(kind)), *_], keywords):
                found[kind] = {str(keyword.arg) for keyword in keywords}
    return found


CLUSTER_KINDS = cluster_kinds()


@pytest.mark.parametrize("row", gateable.TABLE, ids=lambda row: row.kind)
def test_a_kind_has_a_fixture_and_an_end_to_end_test(row: gateable.Gateable) -> None:
    assert f"kind: {row.kind}\n" in (FIXTURES / "every-kind/config.yaml").read_text()
    objects = (FIXTURES / "every-kind/input.yaml").read_text()
    assert re.search(rf"^kind: {row.kind}$", objects, re.MULTILINE)
    # It is a target of nearly every other test on the cluster.
    if row.kind != "Kustomization":
        assert row.kind in CLUSTER_KINDS
        # Without the status of an object that was applied the gate takes it for a new one.
        assert not row.applied or "status" in CLUSTER_KINDS[row.kind]


def test_a_refused_kind_has_a_fixture() -> None:
    config = (FIXTURES / "refused-kinds/config.yaml").read_text()
    for kind, _ in gateable.REFUSED:
        assert f"kind: {kind}," in config


def test_a_rule_has_a_test() -> None:
    for rule in (rule.id for rule in RULES):
        folders = (FIXTURES / "rules" / rule, FIXTURES / "repositories" / rule)
        is_named = f'"{rule}"' in TESTS or f"rules.{rule.replace('-', '_').upper()}" in TESTS
        wanted = f"no test has the finding {rule}: add tests/fixtures/rules/{rule}"
        assert is_named or any(folder.is_dir() for folder in folders), wanted


@pytest.mark.parametrize("name", calendar.FORMATS)
def test_a_calendar_format_is_escaped_for_its_own_medium(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = str(ROOT / "examples/no-deploy-friday/no-deploy-friday.yaml")
    assert main(["calendar", policy, "--from", "2026-11-02", "-o", name]) == 0
    assert "\\x" not in capsys.readouterr().out
