"""What `render --check` says of what is out of date: the files."""

from collections.abc import Callable
from pathlib import Path

import pytest
from calls import spec

from krm_windows.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Give what writes a policy and renders it into `out`; returns the code and what was said."""
    monkeypatch.chdir(tmp_path)

    def run(policy: str, *options: str) -> tuple[int, str, str]:
        Path("policy.yaml").write_text(policy)
        code = main(["render", "policy.yaml", "--output-dir", "out", "--quiet", *options])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_stale_files_are_named(run: Run) -> None:
    """The diff is there for whoever asks for it."""
    assert run(spec())[0] == 0
    new = spec(windows="{office: {opens: Mon 08:00, closes: Wed 17:00}}")
    code, said, _ = run(new, "--check")
    assert code == 1
    assert said.startswith("out of date:\n")
    assert "  out/configmap_week-gate.yaml\n" in said
    code, diff, _ = run(new, "--check", "--diff")
    assert code == 1
    assert diff.endswith(said)
    assert "+++ b/configmap_week-gate.yaml\n" in diff


def test_of_a_fleet_some_are_named(run: Run) -> None:
    """Those of clusters that are new or gone among them."""
    assert run(spec(clusters="{a: {}, b: {}}"), "--all-clusters")[0] == 0
    code, said, _ = run(spec(clusters="{b: {}, c: {}}"), "--all-clusters", "--check")
    assert code == 1
    assert {line.split("/")[2] for line in said.splitlines()[1:]} == {"a", "c"}
    clusters = ", ".join(f"c{number}: {{}}" for number in range(30))
    _, said, _ = run(spec(clusters=f"{{{clusters}}}"), "--all-clusters", "--check")
    assert len(said.splitlines()) == 22
    assert said.endswith(" more\n")


def test_a_diff_belongs_to_a_check(run: Run) -> None:
    """What is written needs none: Git has it."""
    code, _, error = run(spec(), "--diff")
    assert code == 2
    assert "--diff needs --check" in error


def test_what_is_up_to_date_is_not_shown(run: Run) -> None:
    """Nothing on standard output."""
    assert run(spec())[0] == 0
    assert run(spec(), "--check") == (0, "", "")
