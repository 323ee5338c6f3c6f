"""What the forges' schemas and linters say of files that are only run where no test of ours is."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from runners import included

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow  # starts linters
EXAMPLE = ROOT / "examples/merge-gate"
OURS = sorted((ROOT / ".github/workflows").glob("*.yaml"))
GITHUB = [*OURS, EXAMPLE / ".github/workflows/windows.yaml"]
GITEA = EXAMPLE / ".gitea/workflows/windows.yaml"
FORMS = [ROOT / f".github/ISSUE_TEMPLATE/{name}.yml" for name in ("defect", "wish")]
COMPONENT = ROOT / "templates/krm-windows.yml"
# The schemas that their programs publish, as the package check-jsonschema carries them.
SCHEMAS = {
    "github-workflows": [*GITHUB, GITEA],
    "github-actions": [ROOT / "action.yml"],
    "github-issue-forms": FORMS,
    "github-issue-config": [ROOT / ".github/ISSUE_TEMPLATE/config.yml"],
    "gitlab-ci": [EXAMPLE / ".gitlab-ci.yml"],
    "renovate": [ROOT / "renovate/images.json"],
}
Tool = Callable[[str], Path]
Found = subprocess.CompletedProcess[str]


def run(program: Path, *arguments: str | Path, folder: Path = ROOT) -> Found:
    command = [program, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def fits(tool: Tool, schema: str, *paths: Path) -> Found:
    return run(tool("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", *paths)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_file_is_of_the_schema_of_its_program(schema: str, tool: Tool) -> None:
    done = fits(tool, schema, *SCHEMAS[schema])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("command", ["check", "render", "diff-comment", "merge-gate", "wait"])
def test_the_jobs_of_the_component_are_of_the_schema(
    command: str, tool: Tool, tmp_path: Path
) -> None:
    text = COMPONENT.read_text()
    inputs = {
        "command": command,
        "policies": "a.yaml b.yaml",
        "source": "$CI_SERVER_URL/platform/krm-windows.git",
        "revision": "0" * 40,
        "rules": [{"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"}],
    }
    head, jobs = tmp_path / "head.yml", tmp_path / "jobs.yml"
    head.write_text(text.partition("\n---\n")[0])
    jobs.write_text(yaml.safe_dump(included(text, inputs)))
    done = fits(tool, "gitlab-ci", head, jobs)
    assert done.returncode == 0, done.stdout


def test_actionlint_finds_nothing(tool: Tool) -> None:
    done = run(tool("actionlint"), "-no-color", *GITHUB, GITEA)
    assert (done.returncode, done.stdout) == (0, "")


def audited(tool: Tool, *paths: Path) -> list[str]:
    options = ("--offline", "--quiet", "--min-severity=medium", "--format=json")
    configuration = ("--config", ROOT / ".github/zizmor.yml")
    # Its exit code says how severe the worst finding is; the findings say that here.
    done = run(tool("zizmor"), *options, *configuration, *paths)
    assert done.stdout, done.stderr
    return [each["ident"] for each in json.loads(done.stdout)]


def test_zizmor_finds_nothing(tool: Tool) -> None:
    assert audited(tool, ROOT / "action.yml", *GITHUB) == []


def test_zizmor_finds_no_more_in_the_workflow_for_gitea(tool: Tool, tmp_path: Path) -> None:
    """It reads workflows of GitHub; that one says no rights, which are those of its token."""
    folder = tmp_path / ".github/workflows"
    folder.mkdir(parents=True)
    (folder / GITEA.name).write_text(GITEA.read_text())
    assert set(audited(tool, folder / GITEA.name)) <= {"excessive-permissions"}
