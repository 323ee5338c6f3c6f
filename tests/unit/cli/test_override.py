"""`krm-windows override`, as whoever has to act at once calls it."""

import json
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from effort import mostly_slow

from krm_windows.cli import main

POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: week, namespace: flux-system}
spec:
  timeZone: Europe/Berlin
  targets: [{kind: Kustomization, names: [apps]}]
  windows: {week: {opens: Mon 08:00, closes: Thu 17:00}}
  freezes:
    always: {starts: "2024-01-01", ends: "2030-12-31", reason: long}
  clusters:
    north: {}
    south: {}
"""
OVER = """\
  overrides:
    over: # long ago
      state: Open
      starts: "2025-01-01T10:00"
      ends: "12:00"
      reason: past
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A file with a policy that is closed."""
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


def listed(policy: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    """Return the overrides of a file as the command lists them."""
    capsys.readouterr()
    assert main(["override", str(policy), "--list", "-o", "json"]) == 0
    found: list[dict[str, str]] = json.loads(capsys.readouterr().out)
    return found


def test_open_for_two_hours(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It holds at once and ends by itself; what would hold else is said."""
    before = datetime.now(UTC)
    arguments = ["open", "--for", "2h", "--reason", "CVE", "--ticket", "OPS-1"]
    assert main(["override", str(policy), *arguments, "--requested-by", "Ada"]) == 0
    said = capsys.readouterr().out
    assert "flux-system/week on north, south becomes open until" in said
    assert "  without this change: closed for more than 400 days (freezes.always" in said
    assert "  targets: Kustomization flux-system/apps" in said
    [made] = listed(policy, capsys)
    assert (made["state"], made["phase"], made["reason"]) == ("Open", "active", "CVE")
    assert made["cluster"] is None
    assert datetime.fromisoformat(made["begins"]) <= before
    left = datetime.fromisoformat(made["ends"]) - before
    assert timedelta(hours=2) <= left <= timedelta(hours=2, minutes=2)
    assert "ticket: OPS-1" in policy.read_text()
    assert "requestedBy: Ada" in policy.read_text()
    assert main(["state", str(policy), "--cluster", "north", "--exit-code"]) == 0


def test_closed_on_one_cluster(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others have nothing of it."""
    arguments = ["closed", "--until", "2098-01-01", "--reason", "audit", "--name", "stop"]
    assert main(["override", str(policy), *arguments, "--cluster", "south"]) == 0
    [made] = listed(policy, capsys)
    assert (made["name"], made["cluster"], made["state"]) == ("stop", "south", "Closed")
    assert "    north: {}\n    south:\n      overrides:\n        stop:\n" in policy.read_text()


# Of four clusters one has a clock of its own, and the second cluster no override at all.
FLEET = POLICY.replace("    north: {}\n    south: {}\n", "").replace(
    '  freezes:\n    always: {starts: "2024-01-01", ends: "2030-12-31", reason: long}\n', ""
)


def fleet(policy: Path, number: int) -> None:
    """Give the policy so many clusters, a quarter of them in London."""
    own = ("{}", "{overrides: {fix: null}}", "{}", "{timeZone: Europe/London}")
    lines = [
        f"    c{each}: {own[0 if each > 1 and each % 4 == 1 else each % 4]}"
        for each in range(number)
    ]
    policy.write_text(FLEET + "\n".join(lines) + "\n")


@pytest.mark.parametrize("number", mostly_slow([12, 300], every=2))
@pytest.mark.parametrize("call", ["override", "set"])
def test_of_a_fleet_the_cluster_that_is_named_is_shown_alone(
    call: str, number: int, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever stops one line at 3 a.m. reads of no other; programs are told of all."""
    fleet(policy, number)
    patch = '{"overrides": {"fix": {"state": "Open", "ends": "2027-01-01", "reason": "r"}}}'
    arguments = ["set", str(policy), "--patch", patch, "--cluster", "c2", "--dry-run"]
    if call == "override":
        arguments = ["override", str(policy), "open", "--for", "2h", "--reason", "r"]
        arguments += ["--cluster", "c2", "--dry-run"]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert set(re.findall(r"\bc\d+\b", said)) == {"c2"}
    assert len(said.splitlines()) < 10
    assert main([*arguments, "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["differences"]
    assert [each["cluster"] for each in told] == [f"c{each}" for each in range(number)]


@pytest.mark.parametrize(("number", "alike"), [(12, 8), (300, 224)])
def test_clusters_of_which_the_same_is_said_share_a_line(
    number: int, alike: int, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And one that an override for all does not reach is named."""
    fleet(policy, number)
    arguments = ["open", "--for", "2h", "--reason", "r", "--name", "fix", "--dry-run"]
    assert main(["override", str(policy), *arguments]) == 0
    said = capsys.readouterr().out
    names = f"{alike} clusters like c0"
    assert re.search(
        rf"^flux-system/week on {names}, .* [(]Europe/Berlin[)]: opens 2 h", said, re.MULTILINE
    )
    assert f"\nonce applied, flux-system/week on {names} becomes open until " in said
    assert "\nnot changed on c1\n" in said
    london = "c3, c7, c11" if number == 12 else "75 clusters like c3"
    assert f"once applied, flux-system/week on {london} becomes open until " in said
    assert set(re.findall(r"\bc\d+\b", said)) == {"c0", "c1", *re.findall(r"c\d+", london)}


@pytest.mark.parametrize(
    ("until", "ends"),
    [
        ("23:59", r"\d{4}-\d\d-\d\dT23:59[+]0[12]:00"),
        ("2098-01-01", "2098-01-02T00:00[+]01:00"),
        ("2098-01-01T10:00", "2098-01-01T10:00[+]01:00"),
        ("2098-01-01T10:00Z", "2098-01-01T10:00Z"),
    ],
)
def test_until_a_moment_of_any_form(until: str, ends: str, policy: Path) -> None:
    """Beginning and end are written as instants."""
    arguments = ["open", "--until", until, "--reason", "r", "--name", "o"]
    assert main(["override", str(policy), *arguments]) == 0
    starts = r"\d{4}-\d\d-\d\dT\d\d:\d\d[+-]\d\d:\d\d"
    assert re.search(rf'starts: "{starts}"\n +ends: "?{ends}"?\n', policy.read_text())


def test_the_line_is_stopped_whatever_an_audit_says(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A window that loses its only hours is an error of `check`, and of `set`.

    But this cannot wait.
    """
    arguments = ["closed", "--until", "2098-01-01", "--reason", "audit", "--name", "stop"]
    assert main(["override", str(policy), *arguments]) == 0
    assert "(window-never-opens)" in capsys.readouterr().err
    assert "stop:" in policy.read_text()
    patch = '{"spec": {"clusters": {"north": {"closesEarly": "1h"}}}}'
    assert main(["set", str(policy), "--patch", patch]) == 1


def test_options_may_be_anywhere(policy: Path) -> None:
    """Nobody knows the order at 3 a.m."""
    arguments = ["--reason", "r", "open", "--for", "2h"]
    assert main(["override", "--cluster", "north", str(policy), *arguments]) == 0
    assert "state: Open" in policy.read_text()


def test_end_takes_it_out(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is as before it was made."""
    arguments = ["open", "--for", "2h", "--reason", "r", "--name", "fix"]
    assert main(["override", str(policy), *arguments]) == 0
    capsys.readouterr()
    assert main(["override", str(policy), "--end", "fix"]) == 0
    assert "on north, south becomes closed" in capsys.readouterr().out
    assert policy.read_text() == POLICY


def test_programs_are_told_the_name_and_what_it_does(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of an override that got its name by itself, so that it can be ended by it."""
    arguments = ["closed", "--for", "2h", "--reason", "r", "-o", "json"]
    assert main(["override", str(policy), *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [told["override"]] == [each["name"] for each in listed(policy, capsys)]
    assert "flux-system/week on north, south stays closed" in told["summary"]
    ending = ["--end", told["override"], "-o", "json"]
    assert main(["override", str(policy), *ending]) == 0
    assert json.loads(capsys.readouterr().out)["override"] == told["override"]
    assert policy.read_text() == POLICY
    assert main(["override", str(policy), "--prune", "-o", "json"]) == 0
    assert "override" not in json.loads(capsys.readouterr().out)


def test_they_are_listed_whatever_the_targets_need(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No override closes early."""
    policy.write_text(POLICY.replace("spec:\n", "spec:\n  closesEarly: auto\n", 1) + OVER)
    assert main(["override", str(policy), "--list"]) == 0
    assert "over" in capsys.readouterr().out


def test_what_is_over_or_ended_needs_no_reason_to_be_committed(
    policy: Path, tool: Callable[[str], Path]
) -> None:
    """The message says what was done; a reason takes its place."""
    policy.write_text(POLICY + OVER)

    def git(*arguments: str) -> str:
        command = [str(tool("git")), "-C", str(policy.parent), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    git("init", "--quiet", "--initial-branch=main")
    git("config", "user.name", "Ada")
    git("config", "user.email", "ada@example.com")
    git("add", ".")
    git("commit", "--quiet", "--message=first")
    making = ["open", "--for", "2h", "--reason", "CVE", "--commit"]
    for arguments in (
        [*making, "--name", "fix"],
        ["--end", "fix", "--commit"],
        ["--prune", "--commit"],
        [*making, "--name", "more"],
        ["--end", "more", "--commit", "--reason", "Done"],
    ):
        assert main(["override", str(policy), *arguments]) == 0
    assert git("log", "--reverse", "--format=%s").splitlines() == [
        "first",
        "CVE",
        "End override fix",
        "Remove the overrides that are over",
        "CVE",
        "Done",
    ]


def test_prune_takes_out_what_is_over(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing else; where nothing is over, nothing is written."""
    policy.write_text(POLICY + OVER)
    arguments = ["closed", "--for", "1h", "--reason", "r", "--name", "now"]
    assert main(["override", str(policy), *arguments]) == 0
    assert {each["name"]: each["phase"] for each in listed(policy, capsys)} == {
        "over": "over",
        "now": "active",
    }
    assert main(["override", str(policy), "--prune"]) == 0
    assert [each["name"] for each in listed(policy, capsys)] == ["now"]
    assert main(["override", str(policy), "--prune"]) == 0
    assert "nothing to write" in capsys.readouterr().out


def test_the_list_for_a_person(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each, or one that says that there is none."""
    assert main(["override", str(policy), "--list"]) == 0
    assert capsys.readouterr().out == "no overrides\n"
    policy.write_text(POLICY + OVER)
    assert main(["override", str(policy), "--list"]) == 0
    assert capsys.readouterr().out == (
        "over  all clusters  Open  over  Wed 2025-01-01 10:00 to Wed 2025-01-01 12:00 "
        "(Europe/Berlin)  past\n"
    )


BY_THE_POLICY = (
    "overrides.o.ends",
    "override 'fix' not found: the policy has none",
    "cluster 'west' not found",
)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give `open` or `closed`, or --list, --end NAME or --prune"),
        (["open"], "an override needs an end"),
        (["open", "--for", "2h"], "an override needs a reason"),
        (["open", "--for", "0h", "--reason", "r"], "must be longer than zero"),
        (["open", "--for", "soon", "--reason", "r"], "must be a duration"),
        (["open", "--until", "soon", "--reason", "r"], "overrides.o.ends"),
        (["open", "--until", "2025-01-01", "--reason", "r"], "overrides.o.ends"),
        (["open", "--prune"], "`open` creates an override, so it cannot be used with --prune"),
        (["--end", "fix"], "override 'fix' not found: the policy has none"),
        (["open", "--for", "2h", "--reason", "r", "--cluster", "west"], "cluster 'west' not found"),
        (["--end", "fix", "--cluster", "west"], "cluster 'west' not found"),
    ],
)
def test_a_wrong_call_writes_nothing(
    arguments: list[str], said: str, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what is wrong in a line."""
    # With what the policy says it is wrong, or by itself.
    code = 1 if said in BY_THE_POLICY else 2
    assert main(["override", str(policy), *arguments, "--name", "o"]) == code
    assert said in capsys.readouterr().err
    assert policy.read_text() == POLICY


def test_a_name_that_is_taken(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first one stays as it is."""
    policy.write_text(POLICY + OVER)
    arguments = ["open", "--for", "2h", "--reason", "r", "--name", "over"]
    assert main(["override", str(policy), *arguments]) == 1
    assert "override 'over' already exists" in capsys.readouterr().err
    assert policy.read_text() == POLICY + OVER


def test_a_policy_that_is_wrong_has_no_list(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """When its overrides end is not known."""
    policy.write_text(POLICY.replace("Europe/Berlin", "Europe/Nowhere"))
    assert main(["override", str(policy), "--list"]) == 1
    assert "spec.timeZone" in capsys.readouterr().err
    assert main(["override", str(policy), "open", "--for", "2h", "--reason", "r"]) == 1
    assert "spec.timeZone" in capsys.readouterr().err
