"""Two builders with different zone data: what a tree that another has rendered is said to be."""

from pathlib import Path

import pytest
from calls import POLICY
from effort import mostly_slow

from krm_windows.checks import zone_changes
from krm_windows.cli import main
from krm_windows.schedule import zones

SPRING = '"2027-03-28T01:00Z +02:00 CEST"'
OTHER_SPRING = '"2027-04-04T01:00Z +02:00 CEST"'
CLUSTERS = (
    POLICY
    + "  clusters:\n    north: {}\n    south:\n      windows: {office: {closes: Thu 16:00}}\n"
)


def contents(tree: Path) -> dict[str, str]:
    return {str(path.relative_to(tree)): path.read_text() for path in sorted(tree.rglob("*.yaml"))}


def released(release: str) -> tuple[str, str]:
    return f'zone-data: "{zones.release()}"', f'zone-data: "{release}"'


def rewritten(tree: Path, *replaced: tuple[str, str]) -> None:
    for path in tree.rglob("*.yaml"):
        text = path.read_text()
        for old, new in replaced:
            text = text.replace(old, new)
        path.write_text(text)


@pytest.fixture(params=mostly_slow(["fleet", "single"], every=2))
def call(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    monkeypatch.chdir(tmp_path)
    is_single = request.param == "single"
    Path("policy.yaml").write_text(POLICY if is_single else CLUSTERS)
    every = [] if is_single else ["--all-clusters"]
    return ["render", "policy.yaml", "--output-dir", "out", *every]


@pytest.mark.parametrize("release", ["2025b", "2099a"])
def test_a_release_that_changes_nothing_changes_no_file(
    call: list[str], release: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(call) == 0
    rewritten(Path("out"), released(release))
    before = contents(Path("out"))
    capsys.readouterr()
    assert main([*call, "--check"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "zone-" not in said.err
    assert said.err.count(f", zone rules {zones.release()}\n") == 1
    assert main(call) == 0
    assert contents(Path("out")) == before


def test_changed_rules_are_reported(call: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(call) == 0
    wanted = contents(Path("out"))
    rewritten(Path("out"), released("2025b"), (SPRING, OTHER_SPRING))
    capsys.readouterr()
    assert main([*call, "--check", "--diff"]) == 1
    said = capsys.readouterr()
    assert "(zone-rules-changed)" in said.err
    assert SPRING in said.out
    assert main(call) == 0
    assert main(call) == 0
    assert contents(Path("out")) == wanted


def test_a_builder_that_is_older_is_refused(
    call: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It would bring old rules back."""
    assert main(call) == 0
    rewritten(Path("out"), released("2099a"), (SPRING, OTHER_SPRING))
    before = contents(Path("out"))
    assert main(call) == 1
    assert "(zone-rules-older)" in capsys.readouterr().err
    assert contents(Path("out")) == before


def test_verify_takes_a_release_for_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    assert main(["render", "policy.yaml", "--output-dir", "out"]) == 0
    rewritten(Path("out"), released("2025b"))
    assert main(["verify", "out", "--policy", "policy.yaml"]) == 0
    assert "(stale)" not in capsys.readouterr().err
    rewritten(Path("out"), (SPRING, OTHER_SPRING))
    assert main(["verify", "out", "--policy", "policy.yaml"]) == 1
    said = capsys.readouterr().err
    assert "(stale)" in said
    assert "(zone-rules-changed)" in said


def test_zones_that_changed_are_zones() -> None:
    assert zones.names() >= zone_changes.CHANGED
    assert "Europe/Berlin" not in zone_changes.CHANGED


@pytest.mark.parametrize("zone", mostly_slow(sorted(zone_changes.CHANGED), every=40))
def test_a_zone_that_changed_is_a_finding_of_kubectl(
    zone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    policy = POLICY.replace("Europe/Berlin", zone)
    kubectl = policy.replace("spec:\n", "spec:\n  actuator: {type: Kubectl}\n")
    for text, count in ((kubectl, 1), (policy, 0)):
        Path("policy.yaml").write_text(text)
        for command in (["render", "policy.yaml", "--output-dir", "out"], ["check", "policy.yaml"]):
            main(command)
            printed = capsys.readouterr()
            assert (printed.out + printed.err).count("(kubectl-zone)") == count, command
