"""`krm-windows set`, as a person or a service calls it."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from krm_windows.cli import main

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
    """A file with a policy and another object."""
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


Git = Callable[..., str]


@pytest.fixture
def git(policy: Path, tool: Callable[[str], Path]) -> Git:
    """Git in a repository that has the policy, on the branch `main`."""
    program = tool("git")

    def run(*arguments: str) -> str:
        command = [str(program), "-C", str(policy.parent), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    run("init", "--quiet", "--initial-branch=main")
    run("config", "user.name", "Ada")
    run("config", "user.email", "ada@example.com")
    run("add", ".")
    run("commit", "--quiet", "--message=first")
    return run


def changed_lines(path: Path) -> list[str]:
    """Return the lines of a file that the policy did not have."""
    return [line for line in path.read_text().splitlines() if line not in POLICY.splitlines()]


def test_one_line_changes_and_the_hours_are_shown(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Comments, order and all other lines stay, of another object too."""
    arguments = ["set", str(policy), "--patch", LATER, "--from", "2026-11-23", "--days", "7"]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "opens  Thu 2026-11-26 17:00  Fri 2026-11-27 12:00  19 h  windows.week" in said
    assert f"{policy}: written\n" in said
    assert "in no cluster yet: commit, push, then Flux applies it" in said
    assert changed_lines(policy) == [
        '    week: {opens: Mon 08:00, closes: "Fri 12:00"} # no deploys on Fridays'
    ]
    assert len(policy.read_text().splitlines()) == len(POLICY.splitlines())


def test_nothing_is_written_where_the_result_is_wrong(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The finding is that of a build, and the exit code 1."""
    assert main(["set", str(policy), "--patch", WRONG]) == 1
    shown = capsys.readouterr()
    assert "spec.windows.week.closes" in shown.err
    assert "(moment-syntax)" in shown.err
    assert "not written because of the errors above" in shown.out
    assert policy.read_text() == POLICY


def test_a_dry_run_writes_nothing(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says all the same what would come of it."""
    assert main(["set", str(policy), "--patch", LATER, "--dry-run"]) == 0
    assert "opens" in capsys.readouterr().out
    assert policy.read_text() == POLICY


def test_what_is_there_already_is_not_written(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So a service may ask twice."""
    there = '{"spec": {"windows": {"week": {"opens": "Mon 08:00"}}}}'
    assert main(["set", str(policy), "--patch", there]) == 0
    assert "already up to date" in capsys.readouterr().out
    assert policy.read_text() == POLICY


def test_one_cluster(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Null takes from it what all have; the other clusters stay as they are."""
    patch = '{"freezes": {"xmas": null}, "windows": {"night": null}}'
    arguments = ["set", str(policy), "--cluster", "north", "--patch", patch]
    assert main([*arguments, "--from", "2026-12-01", "--days", "30", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    opened = {each["cluster"]: len(each["opens"]) for each in found["differences"]}
    assert opened == {"north": 2, "south": 0}
    assert changed_lines(policy) == ["    north:", "      freezes:", "        xmas: null"]


def test_hours_are_compared_from_the_minute_on(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the service has it: windows know no seconds, and JSON names none."""
    assert main(["set", str(policy), "--patch", "{}", "--dry-run", "-o", "json"]) == 0
    [found] = {
        (each["from"][16:], each["until"][16:])
        for each in json.loads(capsys.readouterr().out)["differences"]
    }
    assert all(re.fullmatch(r":00(\+\d\d:\d\d|Z)", each) for each in found)


def test_a_patch_from_a_file_and_in_yaml(policy: Path, tmp_path: Path) -> None:
    """JSON is YAML, too."""
    patch = tmp_path / "patch"
    patch.write_text("spec: {windows: {week: {closes: Fri 12:00}}}")
    assert main(["set", str(policy), "--patch", f"@{patch}"]) == 0
    assert "Fri 12:00" in policy.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--patch", "[]"], "a patch must be a JSON object"),
        (["--patch", "{"], "--patch:2:1: [error]"),
        (["--patch", "@nothing.json"], "nothing.json"),
        (
            ["--patch", "{}", "--cluster", "west"],
            "cluster 'west' not found in the policy (it has north, south)",
        ),
        (["--patch", '{"metadata": {"name": "x"}}'], "must not change apiVersion"),
        (["--patch", '{"kind": null}'], "must not change apiVersion"),
    ],
)
def test_a_wrong_call_writes_nothing(
    arguments: list[str], said: str, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what is wrong in a line."""
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
    """Of a file from another system."""
    content = POLICY.rstrip("\n").replace("\n", "\r\n").encode()
    policy.write_bytes(content)
    assert main(["set", str(policy), "--patch", LATER]) == 0
    assert policy.read_bytes() == content.replace(b"closes: Thu 17:00", b'closes: "Fri 12:00"')


def test_a_link_stays_one(policy: Path, tmp_path: Path) -> None:
    """What it leads to is changed."""
    link = tmp_path / "link.yaml"
    link.symlink_to(policy.name)
    assert main(["set", str(link), "--patch", LATER]) == 0
    assert link.is_symlink()
    assert "Fri 12:00" in policy.read_text()


@pytest.mark.parametrize("is_new", [False, True])
def test_a_commit_has_this_file_alone(
    policy: Path,
    git: Git,
    capsys: pytest.CaptureFixture[str],
    is_new: bool,  # noqa: FBT001
) -> None:
    """Whatever else is staged or changed stays as it is."""
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
    assert (said["commit"], said["missing"]) == (
        git("rev-parse", "HEAD").strip(),
        ["push", "reconcile"],
    )


def test_a_hook_that_refuses_fails_the_command(
    policy: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file stays written; what Git says is said."""
    hook = policy.parent / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    assert main(["set", str(policy), "--patch", LATER, "--commit"]) == 1
    said = capsys.readouterr().err
    assert "written, but not committed: git commit failed with exit status 1: not today" in said
    assert git("rev-list", "--count", "HEAD") == "1\n"
    assert git("status", "--porcelain") == " M policy.yaml\n"


@pytest.mark.parametrize(
    ("patch", "said"), [(WRONG, "moment-syntax"), ("{}", "nothing was written")]
)
def test_there_is_no_commit_without_a_change(
    policy: Path, git: Git, capsys: pytest.CaptureFixture[str], patch: str, said: str
) -> None:
    """Nor of what is wrong."""
    assert main(["set", str(policy), "--patch", patch, "--commit"]) == 1
    assert said in capsys.readouterr().err
    assert git("rev-list", "--count", "HEAD") == "1\n"


@pytest.mark.parametrize("in_git", [False, True])
def test_what_cannot_be_committed_alone_is_not_written(
    policy: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    in_git: bool,  # noqa: FBT001
) -> None:
    """Without a repository, or where somebody has changed the file."""
    if in_git:
        request.getfixturevalue("git")
        policy.write_text(f"# mine\n{POLICY}")
    before = policy.read_text()
    assert main(["set", str(policy), "--patch", LATER, "--commit"]) == 1
    said = "has uncommitted changes" if in_git else "not a git repository"
    assert said in capsys.readouterr().err
    assert policy.read_text() == before


@pytest.mark.slow  # starts ten programs
def test_ten_at_once_lose_no_change(policy: Path) -> None:
    """Each has written, or was refused as another run was writing.

    What was written is there.
    """
    command = [str(Path(sys.executable).with_name("krm-windows")), "set", str(policy)]
    runs = []
    for number in range(10):
        freeze = {"starts": "2027-02-01", "ends": "2027-02-02", "reason": f"number {number}"}
        patch = json.dumps({"spec": {"freezes": {f"f{number}": freeze}}})
        runs.append(subprocess.Popen([*command, "--patch", patch], stderr=subprocess.PIPE))
    written = set()
    for number, run in enumerate(runs):
        _, said = run.communicate(timeout=120)
        if run.returncode == 0:
            written.add(f"f{number}")
        else:
            assert b"another run" in said
    assert written
    text = policy.read_text()
    assert {f"f{number}" for number in range(10) if f"f{number}:" in text} == written
