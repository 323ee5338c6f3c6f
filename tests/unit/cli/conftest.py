"""What tests of commands share: a directory with a policy, and a command that runs in it."""

from pathlib import Path

import pytest
from calls import POLICY, Ended, Run

from krm_windows.cli import main


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)

    def command(*argv: object) -> Ended:
        code = main([str(argument) for argument in argv])
        return Ended(code, *capsys.readouterr())

    return command
