"""Findings name file, line and column first, in every command that reads a policy."""

import io
import re
import sys
from pathlib import Path

import pytest

from krm_windows.cli import main
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
CLASSES = """\
apiVersion: krm-windows.dev/v1alpha1
kind: ChangeClasses
metadata: {name: classes}
spec:
  classes:
  - {name: routine, policy: flux-system/week}
  default: routine
"""
COMMANDS = (
    "check policy.yaml",
    "calendar policy.yaml",
    "state policy.yaml",
    "explain policy.yaml",
    "state policy.yaml --wait open",
    "status policy.yaml -f objects.json",
    "pending policy.yaml -f objects.json",
    "diff good.yaml policy.yaml",
    "render policy.yaml --output-dir out",
    "render policy.yaml --output-dir out --all-clusters",
    "verify resources --policy policy.yaml",
    'set policy.yaml --patch {"spec":{"interval":"30m"}}',
    "override policy.yaml open --for 2h --reason x",
)


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy with a mistake, a good one, and what they are read with."""
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    good = POLICY.replace("Mno", "Mon")
    Path("good.yaml").write_text(good)
    Path("fleet.yaml").write_text(f"{good}  clusters: {{north: {{}}}}\n")
    Path("objects.json").write_text('{"kind": "List", "apiVersion": "v1", "items": []}')
    Path("resources").mkdir()
    Path("resources/apps.yaml").write_text(APPS)


@pytest.mark.parametrize("call", COMMANDS)
def test_a_finding_begins_with_file_and_line(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As compilers write it, so that an editor or a terminal leads there."""
    assert main(call.split()) == 1
    printed = capsys.readouterr()
    found = [line for line in (printed.out + printed.err).splitlines() if "(moment-syntax)" in line]
    assert found
    for line in found:
        assert line.startswith(f"policy.yaml:{LINE}:7: [error] WindowPolicy flux-system/week spec.")


# What is wrong with the head of a policy: how it is written, where that is said, and of what.
HEADS = {
    "a mistyped version": (("apiVersion:", "apiVersino:"), "2:1", "flux-system/week apiVersino: "),
    "no version": (("apiVersion: krm-windows.dev/v1alpha1\n", ""), "2:1", "flux-system/week api"),
    "another version": (("v1alpha1", "v1"), "2:1", "flux-system/week apiVersion: "),
    "mistyped metadata": (("metadata:", "metdata:"), "4:1", "(unnamed) metdata: "),
    "no name": (("  name: week\n", ""), "4:1", "flux-system/(unnamed) metadata.name: "),
    "an empty name": (("name: week", "name: ''"), "5:3", "flux-system/(unnamed) metadata.name: "),
    "no namespace": (("  namespace: flux-system\n", ""), "4:1", "week metadata.namespace: "),
    "a mistyped spec": (("spec:", "spce:"), "8:1", "flux-system/week spce: "),
}


@pytest.mark.parametrize(
    ("call", "case"),
    [
        *(("check policy.yaml", case) for case in HEADS),
        *((call, "no name") for call in COMMANDS),
    ],
)
def test_what_is_wrong_with_a_head_begins_with_its_place(
    call: str, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though it is by the head that a policy is known; and one without a name is no `/`."""
    (old, new), place, said = HEADS[case]
    Path("policy.yaml").write_text(Path("good.yaml").read_text().replace(old, new))
    assert main(call.split()) == 1
    printed = capsys.readouterr()
    lines = (printed.out + printed.err).splitlines()
    assert any(
        line.startswith(f"policy.yaml:{place}: [error] WindowPolicy {said}") for line in lines
    )
    for line in lines:
        assert "[error]" not in line or re.match(r"policy\.yaml:[0-9]+:[0-9]+: \[", line)
        # A name has something on both sides of it.
        assert not re.search(r"(^| )/|/( |$|,)", line)


def test_a_file_that_a_stream_names_is_not_opened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its annotations are anybody's."""
    named = APPS.replace(
        "namespace: flux-system}",
        'namespace: flux-system, annotations: {internal.config.kubernetes.io/path: "good.yaml"}}',
    )
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(named.encode())))
    assert main(["render", "good.yaml", "--output-dir", "out", "--resources", "-"]) == 1
    printed = capsys.readouterr().err
    # It is named, as the orchestrator does; no line of it is looked up.
    assert "good.yaml: [error] Kustomization flux-system/apps spec.suspend: " in printed
    assert "(suspend-true)" in printed


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("render good.yaml --output-dir out", "1 warning, 15 files written, zone rules"),
        ("render policy.yaml --output-dir out", "1 error, nothing written"),
        (
            "render fleet.yaml --output-dir out --all-clusters",
            "1 cluster, 16 files written, zone rules",
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


BROKEN = {
    "not YAML": ("{}x: [1\n", 19, "did not find expected ',"),
    "a key twice": ("{}kind: WindowPolicy\n", 19, "duplicate key 'kind'"),
    "a tab": ("a:\n\tb: c\n", 2, "found character that cannot start any token"),
    "a template": ("a:\n  {{{{- if x }}}}\n", 2, "; it looks like an unrendered template"),
    "control": ('{}x: "\x01"\n', 19, "the character U+0001 is not allowed in YAML"),
    "no UTF-8": ("{}# \udce9\n", 19, "the input is not UTF-8: byte 0xe9"),
    "no mapping": ("# x\nhello\n", 2, "an object must be a mapping"),
}
# What only a file of which one object is expected can be.
OTHERS = {
    "nothing": ("", 1, "must contain exactly one {kind}, but is empty"),
    "no kind": ("# x\na: b\n", 2, "must contain exactly one {kind}, found one without `kind`"),
    "another kind": ("a: b\nkind: Secret\n", 1, "must contain exactly one {kind}, found Secret"),
    "two": ("{}---\n{}", 21, "must contain exactly one {kind}, found 2"),
}
READERS = (
    "check broken.yaml",
    "calendar good.yaml broken.yaml",
    "state broken.yaml",
    "explain broken.yaml",
    "state broken.yaml --wait open",
    "status broken.yaml -f objects.json",
    "pending broken.yaml -f objects.json",
    "diff good.yaml broken.yaml",
    "diff broken.yaml good.yaml",
    "render broken.yaml --output-dir out",
    "render broken.yaml --output-dir out --all-clusters",
    "verify resources --policy broken.yaml",
    'set broken.yaml --patch {"spec":{"interval":"30m"}}',
    "override broken.yaml open --for 2h --reason x",
    "override broken.yaml --list",
    "merge-gate broken.yaml --print-schedule",
    "simulate broken.yaml --repo . --from 1y",
    "split resources --output-dir out --classes broken.yaml",
    "split resources --output-dir out --classes classes.yaml --flux-kustomization broken.yaml",
)


def read(call: str, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a call says of a file that holds a text, in place of a policy."""
    Path("classes.yaml").write_text(CLASSES)
    good = Path("good.yaml").read_text()
    Path("broken").mkdir()
    for path in ("broken.yaml", "broken/north.yaml"):
        Path(path).write_bytes(text.format(good, good).encode(errors="surrogateescape"))
    assert main(call.split()) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


@pytest.mark.parametrize(
    ("call", "case"),
    [
        *(("explain broken.yaml", case) for case in (*BROKEN, *OTHERS)),
        *((call, "a key twice") for call in READERS),
        ("split resources --output-dir out --classes broken.yaml", "two"),
    ],
)
def test_what_cannot_be_read_begins_with_file_and_line(
    call: str, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As findings do, in every command, whatever is wrong."""
    text, line, said = {**BROKEN, **OTHERS}[case]
    kind = "WindowPolicy"
    if "classes broken" in call:
        kind = "ChangeClasses"
    elif "flux-kustomization" in call:
        kind = "Kustomization"
    if case == "two" and kind != "WindowPolicy":
        said = "must contain exactly one {kind}, found WindowPolicy"
        line = 2
    shown = read(call, text, capsys)
    assert re.match(rf"broken\.yaml:{line}:[0-9]+: \[error\] ", shown)
    assert said.format(kind=kind) in shown
    assert shown.endswith(" (input-unreadable)\n")
    assert shown.count("\n") == 1


# Where Git leaves both sides of a conflict: within a map, around documents, within a text, in JSON.
CONFLICTS = {
    "a field": ("{}\n<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> theirs\n", 20),
    "the first line": ("<<<<<<< HEAD\n{}=======\n>>>>>>> theirs\n", 1),
    "a document": ("<<<<<<< HEAD\n---\n{}=======\n---\n{}>>>>>>> theirs\n", 1),
    "the rest of one": ("{}=======\n{}>>>>>>> theirs\n", 38),
    "a text": ('{}x: "a\n<<<<<<< HEAD\n b\n=======\n c\n>>>>>>> theirs\n d"\n', 20),
    "line ends of Windows": ("a:\r\n<<<<<<< HEAD\r\n b: c\r\n>>>>>>> theirs\r\n", 2),
    "JSON": ('{{"items": [\n<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> theirs\n]}}\n', 2),
}


@pytest.mark.parametrize(
    ("call", "case"),
    [
        *(("explain broken.yaml", case) for case in CONFLICTS),
        ("verify broken --policy good.yaml", "a document"),
        ("status good.yaml -f broken.yaml", "JSON"),
        ("import broken.yaml", "a field"),
    ],
)
def test_a_merge_conflict_is_said_at_its_line(
    call: str, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the file is for, and whether or not it could be read all the same."""
    text, line = CONFLICTS[case]
    shown = read(call, text, capsys)
    assert re.match(rf"broken(/north)?\.yaml:{line}:1: \[error\] ", shown)
    assert "is an unresolved merge conflict" in shown


def test_a_rule_leads_to_its_entry() -> None:
    """Which the page has under its id."""
    page = (Path(__file__).parents[3] / "docs/reference/rules.md").read_text()
    for rule in RULES:
        assert f"\n### `{rule.url.rpartition('#')[2]}`\n" in page


@pytest.mark.parametrize(
    ("call", "code", "lines"),
    [
        ("check good.yaml -q", 0, 0),
        ("check policy.yaml --quiet", 1, 1),
        ("check good.yaml policy.yaml -q", 1, 1),
        ("render good.yaml --output-dir out -q", 0, 0),
        ("render good.yaml --output-dir out -q --strict", 1, 1),
        ("render fleet.yaml --output-dir out -q --all-clusters", 0, 0),
        ("render policy.yaml --output-dir out -q", 1, 1),
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
    main(["render", "good.yaml", "--output-dir", "other"])
    assert "15 files written" in capsys.readouterr().err
