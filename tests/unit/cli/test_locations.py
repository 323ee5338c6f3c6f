"""Findings name the file and the line first, in every command that reads a policy."""

import io
import sys
from pathlib import Path

import pytest

from krm_windows.checks import color
from krm_windows.cli import main
from krm_windows.results import File, Result, Severity, again, tally
from krm_windows.rules import RULES

POLICY = """\
# The week
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: week
  namespace: flux-system
  annotations: {config.kubernetes.io/local-config: "true"}
spec:
  timeZone: Europe/Berlin
  actuator:
    image: registry.example.com/krm-windows:1.0
  targets:
  - kind: Kustomization
    names: [apps]
  windows:
    office:
      opens: Mno 08:00
      closes: Thu 17:00
"""
LINE = POLICY.splitlines().index("      opens: Mno 08:00") + 1
APPS = """\
apiVersion: v1
kind: Namespace
metadata: {name: flux-system}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  suspend: true
"""
COMMANDS = (
    "check policy.yaml",
    "calendar policy.yaml",
    "state policy.yaml",
    "explain policy.yaml",
    "wait policy.yaml --until open",
    "status policy.yaml -f objects.json",
    "pending policy.yaml -f objects.json",
    "diff good.yaml policy.yaml",
    "render policy.yaml -o out",
    "render policy.yaml -o out --all-clusters --clusters clusters",
    "verify resources --policy policy.yaml",
    'set policy.yaml --patch {"spec":{"interval":"30m"}}',
    "override policy.yaml open --for 2h --reason x",
)


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy with a mistake, a good one, and what they are read with."""
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    Path("good.yaml").write_text(POLICY.replace("Mno", "Mon"))
    Path("objects.json").write_text('{"kind": "List", "apiVersion": "v1", "items": []}')
    Path("resources").mkdir()
    Path("resources/apps.yaml").write_text(APPS)
    Path("clusters/north").mkdir(parents=True)


@pytest.mark.parametrize("call", COMMANDS)
def test_a_finding_begins_with_file_and_line(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As compilers write it, so that an editor or a terminal leads there."""
    assert main(call.split()) == 1
    printed = capsys.readouterr()
    found = [line for line in (printed.out + printed.err).splitlines() if "(moment-syntax)" in line]
    assert found
    for line in found:
        assert line.startswith(f"policy.yaml:{LINE}: [error] WindowPolicy flux-system/week spec.")


def test_of_two_versions_each_mistake_is_in_its_own_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The older one is wrong, and the newer one is not."""
    assert main(["diff", "policy.yaml", "good.yaml"]) == 1
    assert f"policy.yaml:{LINE}: [error]" in capsys.readouterr().err


@pytest.mark.parametrize(
    "call",
    [
        "render good.yaml -o out --resources resources",
        "render good.yaml -o out --resources resources --all-clusters --clusters clusters",
    ],
)
def test_what_is_wrong_with_a_resource_is_in_its_file(
    call: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the line of the field, counted from the beginning of the file."""
    assert main(call.split()) == 1
    assert "resources/apps.yaml:9: [error] Kustomization flux-system/apps spec.suspend" in (
        capsys.readouterr().err
    )


def test_a_file_that_a_stream_names_is_not_opened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its annotations are anybody's."""
    named = APPS.replace(
        "namespace: flux-system}",
        'namespace: flux-system, annotations: {internal.config.kubernetes.io/path: "good.yaml"}}',
    )
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(named.encode())))
    assert main(["render", "good.yaml", "-o", "out", "--resources", "-"]) == 1
    printed = capsys.readouterr().err
    assert "good.yaml:" not in printed
    assert "(suspend-true)" in printed


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("render good.yaml -o out", "1 warning, 14 files written, zone rules"),
        ("render policy.yaml -o out", "1 error, nothing written"),
        (
            "render good.yaml -o out --all-clusters --clusters clusters",
            "1 cluster, 15 files written, zone rules",
        ),
        ("verify resources --policy policy.yaml", "1 error"),
    ],
)
def test_the_last_line_says_what_was_done(
    call: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was found, and how many files were written."""
    main(call.split())
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("krm-windows: ")
    assert said in last


def finding(severity: Severity, number: int = 0) -> Result:
    """Return a finding with a rule and a location."""
    file = File(path="policy.yaml")
    tags = {"rule": "field-type", "line": str(number)}
    return Result(message="must be a map", severity=severity, file=file, tags=tags)


def test_errors_come_last_too_where_the_list_is_long() -> None:
    """Whoever looks at the end of a log sees them."""
    errors = [finding(Severity.ERROR, number) for number in range(12)]
    notes = [finding(Severity.INFO, number) for number in range(30)]
    assert again([*errors, *notes]) == errors[:10]
    assert again([*errors, *notes[:10]]) == ()
    assert again([*errors, *errors, *errors]) == ()
    assert again(notes * 2) == []


def test_findings_are_counted_the_worst_first() -> None:
    """In words."""
    found = [finding(Severity.INFO), *[finding(Severity.ERROR)] * 2, finding(Severity.WARNING)]
    assert tally(found) == "2 errors, 1 warning, 1 info"
    assert tally([]) == "no findings"


@pytest.mark.parametrize("severity", Severity)
def test_a_terminal_shows_severities_in_colour_and_rules_as_links(severity: Severity) -> None:
    """And the text is the same as without."""
    line = f"{finding(severity, 7)}\n"
    painted = color.paint(line)
    assert painted.plain == line
    styles = {painted.plain[span.start : span.end]: str(span.style) for span in painted.spans}
    assert list(styles) == ["policy.yaml:7: ", f"[{severity}]", "field-type"]
    [url] = [rule.url for rule in RULES if rule.id == "field-type"]
    assert styles["field-type"] == f"link {url}"


def test_a_rule_with_clusters_behind_it_is_a_link() -> None:
    """They stand in brackets, as the severity does."""
    painted = color.paint("policy.yaml:7: [error] must be a map (field-type) [one, two, 3 more]\n")
    assert "field-type" in [painted.plain[span.start : span.end] for span in painted.spans]


def test_text_that_is_no_finding_has_no_colour() -> None:
    """Nor a link that a file's author made up."""
    page = "flux-system/week: no findings\n[error] (not-a-rule)\n"
    assert [str(span.style) for span in color.paint(page).spans] == ["bold red"]


def test_a_rule_leads_to_its_entry() -> None:
    """Which the page has under its id."""
    page = (Path(__file__).parents[3] / "docs/reference/rules.md").read_text()
    for rule in RULES:
        assert f'<a id="{rule.url.rpartition("#")[2]}">' in page


@pytest.mark.parametrize(
    ("call", "code", "lines"),
    [
        ("check good.yaml -q", 0, 0),
        ("check policy.yaml --quiet", 1, 1),
        ("check good.yaml policy.yaml -q", 1, 1),
        ("render good.yaml -o out -q", 0, 0),
        ("render good.yaml -o out -q --strict", 1, 1),
        ("render good.yaml -o out -q --all-clusters --clusters clusters", 0, 0),
        ("render policy.yaml -o out -q", 1, 1),
        ("verify resources --policy good.yaml -q", 1, 1),
    ],
)
def test_quiet_says_only_what_fails(
    call: str, code: int, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """No summary, and no warning unless it fails the command; the next call is not quiet."""
    assert main(call.split()) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == lines
    main(["render", "good.yaml", "-o", "other"])
    assert "14 files written" in capsys.readouterr().err
