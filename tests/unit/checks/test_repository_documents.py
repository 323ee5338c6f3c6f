"""Every rule about a repository has a small one that breaks it and one that nearly does."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from krm_windows import rules
from krm_windows.cli import main
from krm_windows.rules import RULES, Rule

pytestmark = pytest.mark.usefixtures("kustomize")

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


@pytest.mark.parametrize("rule", [*SHARED, *OWN], ids=lambda rule: rule.id)
def test_a_rule_fires_alone_and_nearly_does_not(
    rule: Rule, commit: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fired(name: str) -> set[str]:
        folder = FIXTURES / rule.id / name
        options = [] if rule is rules.SOURCE_ASSUMED else [*HOME]
        if (folder / "before").is_dir():
            repository = tmp_path / name
            shutil.copytree(folder / "before", repository)
            commit(repository)
            shutil.rmtree(repository / "windowed")
            shutil.rmtree(repository / "live")
            folder = shutil.copytree(folder / "after", repository, dirs_exist_ok=True)
            options += ["--base", "HEAD"]
        main(["check", "--repo", str(folder), "-o", "json", "--no-cache", *options])
        printed = capsys.readouterr()
        assert not printed.err
        results = json.loads(printed.out)["results"]
        for each in results:
            lines = Path(each["file"]["path"]).read_text().splitlines()
            assert 1 <= int(each["tags"]["line"]) <= len(lines)
            assert each["message"]
        found = {each["tags"]["rule"] for each in results} - BESIDE.get(rule.id, set())
        # Most of these repositories have nothing of a policy but its file.
        return found if rule is rules.POLICY_FILE_ALONE else found - {rules.POLICY_FILE_ALONE.id}

    assert fired("fires") == {rule.id}
    assert fired("nearly") == set()


def test_every_rule_has_both_repositories_and_every_folder_a_rule() -> None:
    folders = {path.name: {each.name for each in path.iterdir()} for path in FIXTURES.iterdir()}
    assert folders == {rule.id: {"fires", "nearly"} for rule in (*SHARED, *OWN)}
