"""`krm-windows migrate` as it is called."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from repositories import ADOPT_UNTIL, FIXTURES, carry_out, job, pair, read

from krm_windows.cli import main
from krm_windows.exit_codes import ExitCode

REPOSITORY = FIXTURES / "old-style/repository"


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    folder = tmp_path / "fleet"
    folder.mkdir()
    for name, text in pair("0 8 * * 1", "0 17 * * 4").items():
        (folder / name).write_text(text)
    return folder


def test_it_writes_a_policy_and_says_so(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for out, until in (("deep/a", []), ("b", ["--adopt-until", ADOPT_UNTIL])):
        call = ["migrate", str(fleet), "--output-dir", str(tmp_path / out), "--strict", *until]
        assert main(call) == ExitCode.FINE
        [file] = (tmp_path / out).iterdir()
        said = f"{file.name}: WindowPolicy flux-system/shop\n"
        assert capsys.readouterr().out.startswith(said)
        texts.append(file.read_text())
    [made] = re.findall("adoptUntil: (.*)", texts[0])
    assert texts[1] == texts[0].replace(made, f'"{ADOPT_UNTIL}"')


def test_the_commands_that_render_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, out = tmp_path / "fleet", tmp_path / "out"
    shutil.copytree(REPOSITORY, fleet)
    # What is wrong with the original is a warning.
    assert main(["migrate", str(fleet), "--output-dir", str(out), "--strict"]) == ExitCode.ERROR
    _, _, said = capsys.readouterr().out.partition("not rendered yet, so not in force; ")
    commands = [line.strip() for line in said.splitlines()[1:]]
    assert [path.name for path in out.iterdir()] == ["window.yaml"]
    shutil.copytree(out, fleet, dirs_exist_ok=True)
    carry_out(fleet, read(REPOSITORY).steps)
    monkeypatch.chdir(fleet)
    for command in commands[:-1]:
        assert main(shlex.split(command)[1:]) == 0
    assert commands[-1] == "krm-windows check --repo ."
    capsys.readouterr()
    main(["state", "window.yaml", "--cluster", "bergen", "-o", "json"])
    rendered = json.loads(capsys.readouterr().out)["rendered"]
    assert [each["stale"] for each in rendered] == [False] * 3


def test_what_is_not_understood_fails(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (fleet / "other.yaml").write_text(job("third", "0 9 * * *", "flux suspend kustomization $APPS"))
    assert main(["migrate", str(fleet), "--output-dir", str(tmp_path / "out")]) == ExitCode.ERROR
    assert capsys.readouterr().out.startswith(
        "other.yaml:20:15: [error] CronJob flux-system/third "
    )
    assert not (tmp_path / "out").exists()
    (tmp_path / "empty").mkdir()
    call = ["migrate", str(tmp_path / "empty"), "--output-dir", str(tmp_path / "out")]
    assert main(call) == ExitCode.ERROR
    assert "no policy was made: no CronJob at work" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "--output-dir", "out"], "nowhere: no such directory"),
        (["fleet", "--output-dir", "fleet"], "fleet is in the way"),
    ],
)
def test_a_wrong_call_is_said(
    arguments: list[str],
    said: str,
    fleet: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(fleet.parent)
    assert main(["migrate", *arguments]) == ExitCode.ERROR
    assert said in capsys.readouterr().err
    assert [path.name for path in fleet.parent.iterdir()] == ["fleet"]
