"""What commit 7a38b35a rendered is recognised: updated in place, and what is over is removed."""

import shutil
from pathlib import Path

import pytest

from krm_windows.cli import main
from krm_windows.emit import timetables
from krm_windows.krm import KubeObject

EARLIER = Path(__file__).parents[1] / "fixtures/rendered-7a38b35a"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of that commit, in a repository."""
    shutil.copytree(EARLIER, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()
    return tmp_path


def names(directory: Path) -> set[str]:
    """Name the files in a directory and below it."""
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("options", "output"),
    [(("--cluster", "east"), "rendered"), (("--all-clusters",), "fleet")],
)
def test_it_is_rendered_over(
    tree: Path, options: tuple[str, ...], output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Then there is what would be rendered into an empty directory, and no file besides."""
    assert main(["render", "policy.yaml", *options, "--output-dir", output]) == 0
    assert "[error]" not in capsys.readouterr().err
    over = names(tree / output)
    shutil.rmtree(tree / output)
    assert main(["render", "policy.yaml", *options, "--output-dir", output]) == 0
    assert over == names(tree / output)


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("options", "output"),
    [(("--cluster", "east"), "rendered"), (("--all-clusters",), "fleet")],
)
def test_what_it_held_is_demanded(
    options: tuple[str, ...], output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A target that is dropped, and a name that is another one."""
    text = Path("policy.yaml").read_text()
    changed = text.replace("names: [apps]", "names: [infra]").replace(
        "name: earlier", "name: later"
    )
    Path("policy.yaml").write_text(changed)
    command = ["render", "policy.yaml", *options, "--output-dir", output]
    assert main(command) == 1
    said = capsys.readouterr().err
    assert "flux-system/earlier" in said
    Path("policy.yaml").write_text(
        changed.replace("spec:\n", "spec:\n  formerNames: [flux-system/earlier]\n", 1)
    )
    assert main(command) == 1
    assert "target-dropped" in capsys.readouterr().err


def test_its_timetable_is_read(tree: Path) -> None:
    """Its format is that of today."""
    found = timetables.read(
        KubeObject.parse((tree / "rendered/configmap_earlier-gate.yaml").read_bytes())
    )
    assert found is not None
    assert (found.policy, [each.name for each in found.targets]) == (
        "flux-system/earlier",
        ["apps"],
    )
