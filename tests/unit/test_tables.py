"""A row of a table is not alone.

Kinds, rules, commands, formats, moments and rooms have tests and pages. Whoever adds a row reads
here what else it wants. What the cluster tests run is read from their text, so that this works on a
laptop without a cluster.
"""

import re
from pathlib import Path

import pytest

from krm_windows import gateable
from krm_windows.checks import formats
from krm_windows.cli import calendar
from krm_windows.cli.main import COMMANDS
from krm_windows.rules import RULES

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
DOCS = "\n".join(page.read_text() for page in PAGES)
TESTS = "\n".join(path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py")))


@pytest.mark.parametrize("row", gateable.TABLE, ids=lambda row: row.kind)
def test_a_kind_has_a_fixture_and_an_end_to_end_test(row: gateable.Gateable) -> None:
    """What is emitted for it is compared with a golden file, and the real API server is asked."""
    config = (FIXTURES / "every-kind/config.yaml").read_text()
    wanted = "add it to config.yaml and input.yaml of tests/fixtures/every-kind"
    assert f"kind: {row.kind}\n" in config, wanted
    cluster = (ROOT / "tests/cluster/test_kinds.py").read_text()
    assert f'"{row.kind}"' in cluster, "add it to KINDS of tests/cluster/test_kinds.py"


@pytest.mark.parametrize("kind", [kind for kind, _ in gateable.REFUSED])
def test_a_refused_kind_has_a_fixture(kind: str) -> None:
    """The reason is printed, and compared."""
    config = (FIXTURES / "refused-kinds/config.yaml").read_text()
    assert f"kind: {kind}," in config, "tests/fixtures/refused-kinds"


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_a_rule_has_a_test(rule: str) -> None:
    """By a folder of its name, of what fires and of what nearly does; or a test that names it."""
    folders = (FIXTURES / "rules" / rule, FIXTURES / "repositories" / rule)
    is_named = f'"{rule}"' in TESTS or f"rules.{rule.replace('-', '_').upper()}" in TESTS
    assert is_named or any(folder.is_dir() for folder in folders)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_a_test_and_a_page(command: str) -> None:
    """A page shows how it is called; a test calls it."""
    assert re.search(rf"krm-windows {command}\b", DOCS), "no page shows it"
    assert f'"{command}"' in TESTS or f"cli.{command.replace('-', '_')}" in TESTS, "no test"


@pytest.mark.parametrize("name", calendar.FORMATS)
def test_a_calendar_format_has_a_test_and_a_page(name: str) -> None:
    """The page lists what each is good for."""
    is_listed = f"| `{name}` |" in page("how-to/see-what-opens-when.md")
    assert is_listed, "docs/how-to/see-what-opens-when.md lists the formats: add a row"
    is_imported = re.search(rf"krm_windows\.preview(?: import [^\n]*)?\b{name}\b", TESTS)
    assert f'"{name}"' in TESTS or is_imported, "no test"


@pytest.mark.parametrize("name", formats.FORMATS)
def test_a_report_format_has_a_test_and_a_page(name: str) -> None:
    """Of `check`, for people and for machines."""
    [listed] = re.findall(r"^\| `-o ([a-z\\|]+)`", page("how-to/check-in-ci.md"), re.MULTILINE)
    assert name in listed.split("\\|")
    assert f'"{name}"' in TESTS, "no test"


# Code in the page about rooms that is no module: fields, a package, a list of the policy.
NO_MODULES = {"extras", "kind", "suspend", "tzdata"}
MODULES = {path.stem for path in (ROOT / "krm_windows").rglob("*")}
ROOMS = re.findall(
    r"^\*\*(\w+)\*\* (.*?)(?=\n\n|\Z)",
    (ROOT / "docs/explanation/architecture.md").read_text(),
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize(("room", "text"), ROOMS, ids=[room for room, _ in ROOMS])
def test_every_module_of_the_page_about_rooms_exists(room: str, text: str) -> None:
    """The page names no module that was renamed or removed."""
    named = {part for name in re.findall(r"`([a-z_.]+)`", text) for part in name.split(".")}
    assert {room, *named} - NO_MODULES <= MODULES


def page(name: str) -> str:
    """Return a page below docs/."""
    return (ROOT / "docs" / name).read_text()
