"""Every rule about a repository has a small one that breaks it and one that nearly does."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from krm_windows import rules
from krm_windows.cli import main
from krm_windows.rules import RULES, Rule

FIXTURES = Path(__file__).parents[2] / "fixtures/repositories"
# Those that plan or stream find too, and those that only a repository shows.
SHARED = (
    rules.SELF_LOCK,
    rules.SOURCE_SHARED,
    rules.TARGET_SUSPEND,
    rules.TARGET_MISSING,
    rules.TARGET_UNSEEN,
    rules.TWO_POLICIES,
    rules.ANNOTATION_IN_GIT,
    rules.TARGET_ELSEWHERE,
    rules.ADMISSION_DISABLED,
    rules.DELIVERY_FIELD,
)
OWN = RULES[RULES.index(rules.BUILD_FAILED) : RULES.index(rules.SOURCE_MOVES) + 1]
# A target may be in what is not followed only where something is not followed, and so may what
# stops a build.
BESIDE = {
    rules.TARGET_UNSEEN.id: {rules.NOT_FOLLOWED.id},
    rules.CLUSTER_UNBUILT.id: {rules.NOT_FOLLOWED.id, rules.TARGET_UNSEEN.id},
}
# Most of these repositories do not say which source they are.
HOME = ("--source", "flux-system=.")


@pytest.fixture(autouse=True)
def kustomize(tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tool("kustomize").parent), prepend=":")


def found(
    folder: Path, *options: str, capsys: pytest.CaptureFixture[str]
) -> list[dict[str, object]]:
    main(["check", "--repo", str(folder), "-o", "json", "--no-cache", *options])
    printed = capsys.readouterr()
    assert not printed.err
    results: list[dict[str, object]] = json.loads(printed.out)["results"]
    return results


def fired(rule: Rule, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    folder = FIXTURES / rule.id / name
    options = [] if rule is rules.SOURCE_ASSUMED else [*HOME]
    if (folder / "before").is_dir():
        folder = changed(folder, tmp_path / "repository")
        options += ["--base", "HEAD"]
    results = found(folder, *options, capsys=capsys)
    for result in results:
        check_place(result)
    every = {str(result["tags"]["rule"]) for result in results}  # type: ignore[index]
    # Most of these repositories have nothing of a policy but its file.
    return every if rule is rules.POLICY_FILE_ALONE else every - {rules.POLICY_FILE_ALONE.id}


def changed(folder: Path, repository: Path) -> Path:
    shutil.copytree(folder / "before", repository)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (
        ["init", "--quiet"],
        ["add", "."],
        [*who, "commit", "--quiet", "--message", "before"],
    ):
        subprocess.run(["git", "-C", repository, *command], check=True)
    shutil.rmtree(repository / "windowed")
    shutil.rmtree(repository / "live")
    shutil.copytree(folder / "after", repository, dirs_exist_ok=True)
    return repository


def check_place(result: dict[str, object]) -> None:
    path, tags = result["file"]["path"], result["tags"]  # type: ignore[index]
    lines = Path(path).read_text().splitlines()
    assert 1 <= int(tags["line"]) <= len(lines)
    assert result["message"]


@pytest.mark.parametrize("rule", [*SHARED, *OWN], ids=lambda rule: rule.id)
def test_a_rule_fires_alone(
    rule: Rule, tool: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool("git")
    assert fired(rule, "fires", tmp_path, capsys) - BESIDE.get(rule.id, set()) == {rule.id}


@pytest.mark.parametrize("rule", [*SHARED, *OWN], ids=lambda rule: rule.id)
def test_a_rule_nearly_fires(
    rule: Rule, tool: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool("git")
    assert fired(rule, "nearly", tmp_path, capsys) - BESIDE.get(rule.id, set()) == set()


def test_every_rule_has_both_repositories_and_every_folder_a_rule() -> None:
    folders = {path.name: {each.name for each in path.iterdir()} for path in FIXTURES.iterdir()}
    assert folders == {rule.id: {"fires", "nearly"} for rule in (*SHARED, *OWN)}
