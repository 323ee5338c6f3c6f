"""`krm-windows migrate` as it is called."""

import json
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
    """Where nothing is wrong, it exits 0 even with --strict, and no file of the fleet is lost."""
    out = tmp_path / "deep/out"
    assert main(["migrate", str(fleet), "--output-dir", str(out), "--strict"]) == ExitCode.FINE
    assert [path.name for path in out.iterdir()] == ["windows-shop.yaml"]
    assert capsys.readouterr().out.startswith("windows-shop.yaml: WindowPolicy flux-system/shop\n")


def test_suspensions_are_taken_over_for_thirty_days_or_until_a_date(
    fleet: Path, tmp_path: Path
) -> None:
    """Only this depends on the day on which it runs."""
    main(["migrate", str(fleet), "--output-dir", str(tmp_path / "a")])
    main(["migrate", str(fleet), "--output-dir", str(tmp_path / "b"), "--adopt-until", ADOPT_UNTIL])
    dated, given = ((tmp_path / name / "windows-shop.yaml").read_text() for name in "ab")
    assert f'  adoptUntil: "{ADOPT_UNTIL}"\n' in given
    without = [
        [line for line in text.splitlines() if "adoptUntil" not in line] for text in (dated, given)
    ]
    assert without[0] == without[1]


def test_the_commands_that_render_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is rendered yet; once the steps are done, the commands do it."""
    fleet, out = tmp_path / "fleet", tmp_path / "out"
    shutil.copytree(REPOSITORY, fleet)
    main(["migrate", str(fleet), "--output-dir", str(out)])
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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "--output-dir", "out"], "nowhere: no such directory"),
        (["fleet", "--output-dir", "fleet"], "fleet is in the way"),
        (
            ["fleet", "--output-dir", "out", "--adopt-until", "soon"],
            "must be a date such as 2026-12-20, got 'soon'",
        ),
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
    code = ExitCode.USAGE if "soon" in arguments else ExitCode.ERROR
    assert main(["migrate", *arguments]) == code
    assert said in capsys.readouterr().err
    assert [path.name for path in fleet.parent.iterdir()] == ["fleet"]
