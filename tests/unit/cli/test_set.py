"""`krm-windows set`, as a person or a service calls it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from committed import put_under_git

from krm_windows.cli import inputs, main
from krm_windows.system.directories import Directory

POLICY = """\
# Ours.
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: week # the name
  namespace: flux-system
spec:
  timeZone: Europe/Berlin
  targets: [{kind: Kustomization, names: [apps]}]
  windows:
    week: {opens: Mon 08:00, closes: Thu 17:00} # no deploys on Fridays
  # of the year
  freezes:
    xmas: {starts: "2026-12-20", ends: "2027-01-03", reason: holidays}
  clusters:
    north: {}
    south:
      windows:
        week: {opens: Tue 08:00}
---
# Another object.
kind: ConfigMap
apiVersion: v1
metadata: {name: other}
"""
LATER = '{"spec": {"windows": {"week": {"closes": "Fri 12:00"}}}}'
WRONG = '{"spec": {"windows": {"week": {"closes": "Xri 12:00"}}}}'


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


def test_one_line_changes_and_the_hours_are_shown(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["set", str(policy), "--patch", LATER, "--from", "2026-11-23", "--days", "7"]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "opens  Thu 2026-11-26 17:00  Fri 2026-11-27 12:00  19 h  the window week" in said
    assert f"{policy}: written\n" in said
    assert "in no cluster yet: commit, push, then Flux applies it" in said
    assert policy.read_text() == POLICY.replace("closes: Thu 17:00", 'closes: "Fri 12:00"')


THERE = '{"spec": {"windows": {"week": {"opens": "Mon 08:00"}}}}'


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--patch", LATER, "--dry-run"], "opens"), (["--patch", THERE], "already up to date")],
)
def test_nothing_need_be_written(
    options: list[str], said: str, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a dry run, or where it is so: a service may ask twice. It is said what would be."""
    assert main(["set", str(policy), *options]) == 0
    assert said in capsys.readouterr().out
    assert policy.read_text() == POLICY


def test_why_no_hour_moves_yet_is_in_json(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patch = (
        '{"spec": {"freezes": {"x": {"starts": "2099-12-24", "duration": "1d", "reason": "r"}}}}'
    )
    assert main(["set", str(policy), "--patch", patch, "--dry-run", "-o", "json"]) == 0
    said = json.loads(capsys.readouterr().out)["summary"]
    assert "The freeze x (r) first holds on Thu 2099-12-24 00:00\n" in said


def test_one_cluster(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patch = '{"freezes": {"xmas": null}, "windows": {"night": null}}'
    arguments = ["set", str(policy), "--cluster", "north", "--patch", patch]
    assert main([*arguments, "--from", "2026-12-01", "--days", "30", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    opened = {each["cluster"]: len(each["opens"]) for each in found["differences"]}
    assert opened == {"north": 2, "south": 0}
    own = "    north:\n      freezes:\n        xmas: null\n"
    assert policy.read_text() == POLICY.replace("    north: {}\n", own)


@pytest.mark.parametrize(
    ("patch", "written"),
    [
        (
            '{"freezes": {"x": {"reason": "r", "starts": "2026-01-01", "duration": "1d"}}}',
            (
                "    north: # c\n      timeZone: Europe/Rome\n      freezes:\n        x:\n"
                '          reason: r\n          starts: "2026-01-01"\n          duration: "1d"\n'
            ),
        ),
        ('{"timeZone": "Europe/Oslo"}', "    north: {timeZone: Europe/Oslo} # c\n"),
    ],
)
def test_a_line_that_gets_a_map_becomes_lines(patch: str, written: str, policy: Path) -> None:
    text = POLICY.replace("    north: {}\n", "    north: {timeZone: Europe/Rome} # c\n")
    policy.write_text(text)
    assert main(["set", str(policy), "--cluster", "north", "--patch", patch]) == 0
    assert written in policy.read_text()


@pytest.mark.parametrize("rule", ["null", '{"opens": null}'])
def test_what_a_patch_empties_of_a_cluster_is_dropped(
    rule: str, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patch = '{"spec": {"clusters": {"%s": {"windows": {"week": %s}}}}}'
    assert main(["set", str(policy), "--patch", patch % ("south", rule)]) == 0
    assert inputs.policy(str(policy)).get("spec", "clusters") == {"north": {}, "south": {}}
    # What was never there was meant otherwise.
    capsys.readouterr()
    assert main(["set", str(policy), "--patch", patch % ("north", rule)]) == 1
    assert "cluster-empty-map" in capsys.readouterr().err


def test_a_new_cluster_is_said_as_its_name_may_be_mistyped(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patch = ["--dry-run", "--patch", '{"spec": {"clusters": {"suoth": {}, "berlin": {}}}}']
    assert main(["set", str(policy), *patch]) == 0
    said = capsys.readouterr().err
    assert 'suoth is a new cluster; did you mean "south"? (cluster-added)' in said
    assert "berlin is a new cluster (cluster-added)" in said
    # Where there was none, all are meant to be new.
    policy.write_text(re.sub(r"  clusters:\n(    .*\n)+", "", POLICY))
    assert main(["set", str(policy), *patch]) == 0
    assert "cluster-added" not in capsys.readouterr().err


def test_a_patch_from_a_file_and_in_yaml(policy: Path, tmp_path: Path) -> None:
    patch = tmp_path / "patch"
    patch.write_text("spec: {windows: {week: {closes: Fri 12:00}}}")
    assert main(["set", str(policy), "--patch", f"@{patch}"]) == 0
    assert "Fri 12:00" in policy.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--patch", WRONG], "(moment-syntax)"),
        (["--patch", "[]"], "a patch must be a JSON object"),
        (["--patch", "{"], "--patch:2:1: [error]"),
        (["--patch", "@nothing.json"], "nothing.json"),
        (
            ["--patch", "{}", "--cluster", "west"],
            "cluster 'west' not found in the policy (known: north, south)",
        ),
        (["--patch", '{"metadata": {"name": "x"}}'], "must not change apiVersion"),
    ],
)
def test_a_wrong_call_writes_nothing(
    arguments: list[str], said: str, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["set", str(policy), *arguments]) == 1
    assert said in capsys.readouterr().err
    assert policy.read_text() == POLICY


def test_an_entry_that_no_patch_can_say(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A leaf of the cluster that becomes a map would merge with what all clusters have there."""
    text = POLICY.replace("  freezes:", "  hooks: {a: {image: i}}\n  freezes:")
    policy.write_text(text.replace("north: {}", "north: {hooks: x}"))
    patch = '{"hooks": {"b": {"image": "i"}}}'
    assert main(["set", str(policy), "--cluster", "north", "--patch", patch]) == 1
    assert "cannot be written as an entry of cluster 'north'" in capsys.readouterr().err


def test_line_ends_and_the_end_of_the_file_stay(policy: Path) -> None:
    content = POLICY.rstrip("\n").replace("\n", "\r\n").encode()
    policy.write_bytes(content)
    assert main(["set", str(policy), "--patch", LATER]) == 0
    assert policy.read_bytes() == content.replace(b"closes: Thu 17:00", b'closes: "Fri 12:00"')


@pytest.fixture
def git(policy: Path, tool: Callable[[str], Path]) -> Callable[..., str]:
    return put_under_git(policy.parent, tool("git"))


Git = Callable[..., str]


@pytest.mark.parametrize("is_new", [False, True])
def test_a_commit_has_this_file_alone(
    policy: Path, git: Git, capsys: pytest.CaptureFixture[str], *, is_new: bool
) -> None:
    if is_new:
        git("rm", "--quiet", "--cached", "policy.yaml")
        git("commit", "--quiet", "--message=without")
    (policy.parent / "other.txt").write_text("staged\n")
    git("add", "other.txt")
    arguments = ["--commit", "--reason", "Fridays, too", "-o", "json"]
    assert main(["set", str(policy), "--patch", LATER, *arguments]) == 0
    shown = git("show", "--name-only", "--format=%s", "HEAD").splitlines()
    assert shown == ["Fridays, too", "", "policy.yaml"]
    assert git("status", "--porcelain") == "A  other.txt\n"
    said = json.loads(capsys.readouterr().out)
    assert said["commit"] == git("rev-parse", "HEAD").strip()
    assert said["missing"] == ["push", "reconcile"]


def test_a_hook_that_refuses_fails_the_command(
    policy: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    hook = policy.parent / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'not\n\n*** today' >&2\nexit 1\n")
    hook.chmod(0o755)
    assert main(["set", str(policy), "--patch", LATER, "--commit"]) == 1
    seen = capsys.readouterr()
    said = "written, but not committed: git commit failed with exit status 1: not *** today\n"
    assert said in seen.err
    assert "  git commit -m 'Change flux-system/week' -- " in seen.out
    assert git("rev-list", "--count", "HEAD") == "1\n"
    assert git("status", "--porcelain") == " M policy.yaml\n"


@pytest.mark.parametrize(
    ("patch", "said"), [(WRONG, "moment-syntax"), ("{}", "nothing was written")]
)
def test_there_is_no_commit_without_a_change(
    policy: Path, git: Git, capsys: pytest.CaptureFixture[str], patch: str, said: str
) -> None:
    assert main(["set", str(policy), "--patch", patch, "--commit"]) == 1
    assert said in capsys.readouterr().err
    assert git("rev-list", "--count", "HEAD") == "1\n"


def test_what_cannot_be_committed_alone_is_not_written(
    policy: Path, tool: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for text, said in ((POLICY, "not a git repository"), (f"# mine\n{POLICY}", "has uncommitted")):
        if text != POLICY:
            put_under_git(policy.parent, tool("git"))
            policy.write_text(text)
        assert main(["set", str(policy), "--patch", LATER, "--commit"]) == 1
        assert said in capsys.readouterr().err
        assert policy.read_text() == text


def test_another_run_that_writes_is_not_overtaken(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Directory.named(policy.parent).alone():
        assert main(["set", str(policy), "--patch", LATER]) == 1
    assert "another run" in capsys.readouterr().err
    assert policy.read_text() == POLICY
