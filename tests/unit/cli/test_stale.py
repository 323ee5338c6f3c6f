"""What `render --check` says of what is out of date: the hours that move, then the files."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from calls import spec
from effort import mostly_slow

from krm_windows.cli import main

Run = Callable[..., tuple[int, str, str]]
NAMES = (
    "berlin bremen cologne dresden essen hamburg kiel leipzig mainz munich trier ulm".split()  # noqa: SIM905
)
FIX = "{fix: {state: Open, starts: '2025-01-01', ends: '%s', reason: r}}"


def clusters(names: list[str]) -> str:
    """Return clusters of which every fourth is in London."""
    own = ("{}", "{}", "{}", "{timeZone: Europe/London}")
    return f"{{{', '.join(f'{name}: {own[number % 4]}' for number, name in enumerate(names))}}}"


def in_hours(hours: int) -> str:
    """Return the full hour of UTC in some hours."""
    return f"{datetime.now(UTC) + timedelta(hours=hours):%Y-%m-%dT%H:00Z}"


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


def test_an_override_is_told_by_its_hours(run: Run) -> None:
    """In a few lines, of which none is a manifest; the diff is there for whoever asks for it."""
    assert run(spec(state="Closed"))[0] == 0
    new = spec(overrides=FIX % in_hours(3), outsideWindows="Closed", windows="{}")
    assert run(spec(outsideWindows="Closed", windows="{}"))[0] == 0
    code, said, _ = run(new, "--check")
    first, head, period, line, *files = said.splitlines()
    assert code == 1
    assert re.fullmatch(
        r"flux-system/week, \S+ to \S+ [(]Europe/Berlin[)]: opens [23] h( \d+ m)?", first
    )
    assert head.split() == ["from", "until", "for", "by"]
    assert period.startswith("opens  ")
    assert period.endswith("  overrides.fix")
    assert line == "out of date:"
    assert "  out/configmap_week-gate.yaml" in files
    code, diff, _ = run(new, "--check", "--diff")
    assert code == 1
    assert diff.endswith(said)
    assert "+++ b/configmap_week-gate.yaml\n" in diff


@pytest.mark.parametrize("number", mostly_slow([12, 300], every=2))
def test_clusters_that_change_alike_share_a_part(run: Run, number: int) -> None:
    """Twelve fill a screen of a terminal, and three hundred no more."""
    names = NAMES if number == 12 else [f"c{each:03}" for each in range(number)]
    assert run(spec(clusters=clusters(names)), "--all-clusters")[0] == 0
    new = spec(clusters=clusters(names), windows="{office: {opens: Mon 08:00, closes: Wed 17:00}}")
    code, said, _ = run(new, "--all-clusters", "--check")
    berlin, london = (line for line in said.splitlines() if line.startswith("flux-system"))
    assert code == 1
    assert berlin.startswith(f"flux-system/week on {number * 3 // 4} clusters like {names[0]}, ")
    of_london = "dresden, leipzig, ulm" if number == 12 else "75 clusters like c003"
    assert london.startswith(f"flux-system/week on {of_london}, ")
    assert "(Europe/Berlin): closes " in berlin
    assert "(Europe/London): closes " in london
    assert len(said.splitlines()) < 45
    assert f"  out/clusters/{names[0]}/reconciliation-window/kustomization.yaml\n" in said
    assert (re.search(r"^  and \d+ more$", said, re.MULTILINE) is not None) is (number == 300)


def test_only_the_cluster_that_changes_is_shown(run: Run) -> None:
    """As with `override --cluster`."""
    own = clusters(NAMES)
    assert run(spec(clusters=own), "--all-clusters")[0] == 0
    new = own.replace("kiel: {}", "kiel: {state: Closed}")
    code, said, _ = run(spec(clusters=new), "--all-clusters", "--check")
    assert code == 1
    assert {name for name in NAMES if name in said} == {"kiel"}


def test_a_freeze_of_another_month_is_seen(run: Run) -> None:
    """Where nothing changes in the next four weeks, a year is looked at."""
    day = (datetime.now(UTC) + timedelta(days=70)).date()
    assert run(spec())[0] == 0
    freeze = f"{{later: {{starts: '{day}', ends: '{day + timedelta(days=14)}', reason: r}}}}"
    _, said, _ = run(spec(freezes=freeze), "--check")
    assert "closes" in said.splitlines()[0]
    assert "freezes.later" in said


def test_many_periods_are_counted(run: Run) -> None:
    """Four are shown."""
    assert run(spec(windows="{night: {opens: 'daily 22:00', closes: '04:00'}}"))[0] == 0
    _, said, _ = run(spec(windows="{night: {opens: 'daily 22:00', closes: '05:00'}}"), "--check")
    assert said.count("\nopens  ") == 4
    assert re.search(r"^and 2\d more$", said, re.MULTILINE)


def test_of_files_that_move_no_hours_that_is_said(run: Run) -> None:
    """A file edited by hand, or of an older release."""
    assert run(spec())[0] == 0
    path = Path("out/serviceaccount_week-gate.yaml")
    path.write_text(f"{path.read_text()}# edited\n")
    code, said, _ = run(spec(), "--check")
    assert code == 1
    first, *files = said.splitlines()
    assert first.endswith(": nothing opens or closes")
    assert files == ["out of date:", "  out/serviceaccount_week-gate.yaml"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"formatVersion": 2', '"formatVersion": 99'),
        # The format of rules, which an earlier release has rendered.
        ('"formatVersion": 2', '"formatVersion": 1'),
        ('"patterns": {', '"patterns": [], "of rules": {'),
        ('".": [', '".": [3'),
        ("00-24:00 windows.", "00-25:00 windows."),
        ('"days": {', '"days": {"1000-01": "ABC", '),
        ('"days": {', '"dates": {"": []}, "days": {'),
        ('"clocks": [', '"clocks": [["x"], '),
        ('"policy": "flux-system/week"', '"policy": {"a": []}'),
    ],
)
def test_what_is_there_may_be_anything(run: Run, old: str, new: str) -> None:
    """Whoever opens a pull request may have edited it: then its hours are not known."""
    assert run(spec())[0] == 0
    path = Path("out/configmap_week-gate.yaml")
    program, key, timetable = path.read_text().partition("  timetable.json:")
    assert old in timetable
    path.write_text(program + key + timetable.replace(old, new, 1))
    code, said, _ = run(spec(), "--check")
    assert code == 1
    assert said.startswith("flux-system/week: its hours were not rendered, or cannot be read\n")
    assert "  out/configmap_week-gate.yaml\n" in said


def test_what_is_new_and_what_is_gone(run: Run) -> None:
    """A cluster that was not rendered has no hours to compare, nor one that is left out."""
    assert run(spec(clusters="{a: {}, b: {}}"), "--all-clusters")[0] == 0
    code, said, _ = run(spec(clusters="{b: {}, c: {}}"), "--all-clusters", "--check")
    assert code == 1
    assert said.startswith(
        "flux-system/week on a: no longer rendered\n"
        "flux-system/week on c: its hours were not rendered, or cannot be read\n"
        "out of date:\n"
    )


def test_a_diff_belongs_to_a_check(run: Run) -> None:
    """What is written needs none: Git has it."""
    code, _, error = run(spec(), "--diff")
    assert code == 2
    assert "--diff needs --check" in error


def test_what_is_up_to_date_is_not_shown(run: Run) -> None:
    """Nothing on standard output."""
    assert run(spec())[0] == 0
    assert run(spec(), "--check") == (0, "", "")
