"""Findings name file, line and column first, in every command that reads a policy."""

import io
import re
import sys
from pathlib import Path

import pytest
from calls import APPS, CLASSES, POLICY, Run

WRONG = POLICY.replace("Mon 08:00", "Mno 08:00")
LINE = WRONG.splitlines().index("      opens: Mno 08:00") + 1
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
def desk(run: Run) -> None:
    assert run
    Path("policy.yaml").write_text(WRONG)
    Path("good.yaml").write_text(POLICY)
    Path("fleet.yaml").write_text(f"{POLICY}  clusters: {{north: {{}}}}\n")
    Path("classes.yaml").write_text(CLASSES)
    Path("objects.json").write_text('{"kind": "List", "apiVersion": "v1", "items": []}')
    Path("resources").mkdir()
    Path("resources/apps.yaml").write_text(f"{APPS}  suspend: true\n")


@pytest.mark.parametrize("call", COMMANDS)
def test_a_finding_begins_with_file_and_line(call: str, run: Run) -> None:
    """As compilers write it, so that an editor or a terminal leads there."""
    code, out, err = run(*call.split())
    assert code == 1
    found = [line for line in (out + err).splitlines() if "(moment-syntax)" in line]
    assert found
    for line in found:
        assert line.startswith(f"policy.yaml:{LINE}:7: [error] WindowPolicy flux-system/week spec.")


# What is wrong with the head of a policy: how it is written, where that is said, and of what.
HEADS = {
    "a mistyped version": (("apiVersion:", "apiVersino:"), "1:1", "flux-system/week apiVersino: "),
    "no version": (("apiVersion: krm-windows.dev/v1alpha1\n", ""), "1:1", "flux-system/week api"),
    "another version": (("v1alpha1", "v1"), "1:1", "flux-system/week apiVersion: "),
    "mistyped metadata": (("metadata:", "metdata:"), "3:1", "(unnamed) metdata: "),
    "no name": (("  name: week\n", ""), "3:1", "flux-system/(unnamed) metadata.name: "),
    "an empty name": (("name: week", "name: ''"), "4:3", "flux-system/(unnamed) metadata.name: "),
    "no namespace": (("  namespace: flux-system\n", ""), "3:1", "week metadata.namespace: "),
    "a mistyped spec": (("spec:", "spce:"), "6:1", "flux-system/week spce: "),
}


@pytest.mark.parametrize(("change", "place", "said"), HEADS.values(), ids=HEADS)
def test_what_is_wrong_with_a_head_begins_with_its_place(
    change: tuple[str, str], place: str, said: str, run: Run
) -> None:
    """Though it is by the head that a policy is known; and one without a name is no `/`."""
    Path("policy.yaml").write_text(POLICY.replace(*change))
    code, out, _ = run("check", "policy.yaml")
    assert code == 1
    assert f"policy.yaml:{place}: [error] WindowPolicy {said}" in out
    for line in out.splitlines():
        assert "[error]" not in line or re.match(r"policy\.yaml:[0-9]+:[0-9]+: \[", line)
        # A name has something on both sides of it.
        assert not re.search(r"(^| )/|/( |$|,)", line)


def test_a_file_that_a_stream_names_is_not_opened(
    monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    path = '  annotations: {internal.config.kubernetes.io/path: "good.yaml"}\nspec:\n'
    named = Path("resources/apps.yaml").read_text().replace("spec:\n", path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(named.encode())))
    code, _, err = run("render", "good.yaml", "--output-dir", "out", "--resources", "-")
    assert code == 1
    assert "good.yaml: [error] Kustomization flux-system/apps spec.suspend: " in err
    assert "(suspend-true)" in err


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("render good.yaml --output-dir out", "1 warning, 15 files written, zone rules"),
        ("render policy.yaml --output-dir out", "1 error, nothing written"),
        ("render fleet.yaml --output-dir out --all-clusters", "1 cluster, 16 files written, zone"),
        ("verify resources --policy policy.yaml", "1 error"),
    ],
)
def test_the_last_line_says_what_was_done(call: str, said: str, run: Run) -> None:
    last = run(*call.split()).err.splitlines()[-1]
    assert last.startswith("krm-windows: ")
    assert said in last


@pytest.mark.parametrize(
    ("call", "code", "lines"),
    [
        ("check good.yaml policy.yaml -q", 1, 1),
        ("render good.yaml --output-dir out -q", 0, 0),
        ("render good.yaml --output-dir out -q --strict", 1, 1),
        ("verify resources --policy good.yaml --quiet", 1, 1),
    ],
)
def test_quiet_says_only_what_fails(call: str, code: int, lines: int, run: Run) -> None:
    ended = run(*call.split())
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (code, "", lines)
    assert "15 files written" in run("render", "good.yaml", "--output-dir", "other").err


TWICE = "kind: WindowPolicy\n" + POLICY
SPLIT = "split resources --output-dir out --classes"
ONE = "must contain exactly one WindowPolicy, "


@pytest.mark.parametrize(
    ("text", "line", "said", "call"),
    [
        (TWICE, 3, "duplicate key 'kind'", "explain broken.yaml"),
        (TWICE, 3, "duplicate key 'kind'", "diff good.yaml broken.yaml"),
        (TWICE, 3, "duplicate key 'kind'", "override broken.yaml --list"),
        (TWICE, 3, "duplicate key 'kind'", "merge-gate broken.yaml --print-schedule"),
        (TWICE, 3, "duplicate key 'kind'", "simulate broken.yaml --repo . --from 1y"),
        ("a:\n  {{- if x }}\n", 2, "; it looks like an unrendered template", "explain broken.yaml"),
        ("# \udce9\n", 1, "the input is not UTF-8: byte 0xe9", "explain broken.yaml"),
        ("# x\nhello\n", 2, "an object must be a mapping", "explain broken.yaml"),
        ("", 1, f"{ONE}but is empty", "explain broken.yaml"),
        ("# x\na: b\n", 2, f"{ONE}found one without `kind`", "explain broken.yaml"),
        ("a: b\nkind: Secret\n", 1, f"{ONE}found Secret", "explain broken.yaml"),
        (f"{POLICY}---\n{POLICY}", 16, f"{ONE}found 2", "explain broken.yaml"),
        (POLICY, 1, "exactly one ChangeClasses, found WindowPolicy", f"{SPLIT} broken.yaml"),
        (
            POLICY,
            1,
            "exactly one Kustomization, found WindowPolicy",
            f"{SPLIT} classes.yaml --flux-kustomization broken.yaml",
        ),
    ],
)
def test_what_cannot_be_read_begins_with_file_and_line(
    call: str, text: str, line: int, said: str, run: Run
) -> None:
    Path("broken.yaml").write_bytes(text.encode(errors="surrogateescape"))
    code, out, err = run(*call.split())
    assert (code, out) == (1, "")
    assert re.match(rf"broken\.yaml:{line}:[0-9]+: \[error\] ", err)
    assert said in err
    assert err.endswith(" (input-unreadable)\n")
    assert err.count("\n") == 1


# Where Git leaves both sides of a conflict: within a map, around documents, within a text, in JSON.
CONFLICTS = {
    "a field": (f"{POLICY}<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> theirs\n", 15),
    "the first line": (f"<<<<<<< HEAD\n{POLICY}=======\n>>>>>>> theirs\n", 1),
    "a document": (f"<<<<<<< HEAD\n---\n{POLICY}=======\n---\n{POLICY}>>>>>>> theirs\n", 1),
    "the rest of one": (f"{POLICY}=======\n{POLICY}>>>>>>> theirs\n", 30),
    "a text": (f'{POLICY}x: "a\n<<<<<<< HEAD\n b\n=======\n c\n>>>>>>> theirs\n d"\n', 16),
    "line ends of Windows": ("a:\r\n<<<<<<< HEAD\r\n b: c\r\n>>>>>>> theirs\r\n", 2),
    "JSON": ('{"items": [\n<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> theirs\n]}\n', 2),
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
def test_a_merge_conflict_is_said_at_its_line(call: str, case: str, run: Run) -> None:
    text, line = CONFLICTS[case]
    Path("broken").mkdir()
    for path in ("broken.yaml", "broken/north.yaml"):
        Path(path).write_bytes(text.encode())
    code, out, err = run(*call.split())
    assert (code, out) == (1, "")
    assert re.match(rf"broken(/north)?\.yaml:{line}:1: \[error\] ", err)
    assert "is an unresolved merge conflict" in err
