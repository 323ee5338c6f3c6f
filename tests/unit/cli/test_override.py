"""`krm-windows override`, as whoever has to act at once calls it."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from committed import put_under_git

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
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


def listed(policy: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    capsys.readouterr()
    assert main(["override", str(policy), "--list", "-o", "json"]) == 0
    found: list[dict[str, str]] = json.loads(capsys.readouterr().out)
    return found


def test_open_for_two_hours(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = datetime.now(UTC)
    arguments = ["open", "--for", "2h", "--reason", "CVE", "--ticket", "OPS-1"]
    assert main(["override", str(policy), *arguments, "--requested-by", "Ada"]) == 0
    said = capsys.readouterr().out
    assert "flux-system/week on north, south becomes open until" in said
    assert "  without this change: closed for more than 400 days, by the freeze always" in said
    assert "  targets: Kustomization flux-system/apps" in said
    [made] = listed(policy, capsys)
    assert (made["state"], made["phase"], made["reason"]) == ("Open", "active", "CVE")
    assert made["cluster"] is None
    begins, ends = (datetime.fromisoformat(made[name]) for name in ("begins", "ends"))
    assert begins <= before
    # Not a minute more: a person who chose two hours reads two.
    assert ends - begins == timedelta(hours=2)
    assert "ticket: OPS-1" in policy.read_text()
    assert "requestedBy: Ada" in policy.read_text()
    assert main(["state", str(policy), "--cluster", "north", "--exit-code"]) == 0


def test_closed_on_one_cluster(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["closed", "--until", "2098-01-01", "--reason", "audit", "--name", "stop"]
    assert main(["override", str(policy), *arguments, "--cluster", "south"]) == 0
    [made] = listed(policy, capsys)
    assert (made["name"], made["cluster"], made["state"]) == ("stop", "south", "Closed")
    assert "    north: {}\n    south:\n      overrides:\n        stop:\n" in policy.read_text()


# Of four clusters one has a clock of its own, and the second cluster no override at all.
FLEET = (
    POLICY.partition("  clusters:")[0]
    + """\
  clusters: {c0: {}, c1: {overrides: {fix: null}}, c2: {}, c3: {timeZone: Europe/London}, c4: {},
    c5: {}, c6: {}, c7: {timeZone: Europe/London}}
"""
)


@pytest.mark.parametrize("command", ["override", "set"])
def test_of_a_fleet_the_cluster_that_is_named_is_shown_alone(
    command: str, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever stops one line at 3 a.m. reads of no other; programs are told of all."""
    policy.write_text(FLEET)
    patch = '{"overrides": {"fix": {"state": "Open", "ends": "2027-01-01", "reason": "r"}}}'
    arguments = {"set": ["--patch", patch], "override": ["open", "--for", "2h", "--reason", "r"]}
    call = [command, str(policy), *arguments[command], "--cluster", "c2", "--dry-run"]
    assert main(call) == 0
    said = capsys.readouterr().out
    assert set(re.findall(r"\bc\d+\b", said)) == {"c2"}
    assert len(said.splitlines()) < 10
    assert main([*call, "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["differences"]
    assert [each["cluster"] for each in told] == [f"c{each}" for each in range(8)]


def test_clusters_of_which_the_same_is_said_share_a_line(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy.write_text(FLEET)
    arguments = ["open", "--for", "2h", "--reason", "r", "--name", "fix", "--dry-run"]
    assert main(["override", str(policy), *arguments]) == 0
    said = capsys.readouterr().out
    assert re.search(
        r"(?m)^flux-system/week on 5 clusters like c0, .* [(]Europe/Berlin[)]: opens ", said
    )
    assert "\nonce applied, flux-system/week on 7 clusters like c0 becomes open until " in said
    assert "\nnot changed on c1\n" in said
    assert said.count("without this change: closed for more than 400 days") == 1


@pytest.mark.parametrize(
    ("until", "ends"),
    [
        ("23:59", r"\d{4}-\d\d-\d\dT23:59[+]0[12]:00"),
        ("2098-01-01", "2098-01-02T00:00[+]01:00"),
        ("2098-01-01T10:00Z", "2098-01-01T11:00[+]01:00"),
    ],
)
def test_until_a_moment_of_any_form(until: str, ends: str, policy: Path) -> None:
    arguments = ["open", "--until", until, "--reason", "r", "--name", "o"]
    assert main(["override", str(policy), *arguments]) == 0
    starts = r"\d{4}-\d\d-\d\dT\d\d:\d\d[+-]\d\d:\d\d"
    assert re.search(rf'starts: "{starts}"\n +ends: "?{ends}"?\n', policy.read_text())


def test_the_line_is_stopped_whatever_an_audit_says(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A window that loses its only hours is an error of `check`; but this cannot wait."""
    arguments = ["closed", "--until", "2098-01-01", "--reason", "audit", "--name", "stop"]
    assert main(["override", str(policy), *arguments]) == 0
    assert "(window-never-opens)" in capsys.readouterr().err
    assert "stop:" in policy.read_text()
    patch = '{"spec": {"clusters": {"north": {"closesEarly": "1h"}}}}'
    assert main(["set", str(policy), "--patch", patch]) == 1


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


def test_what_is_over_or_ended_needs_no_reason_to_be_committed(
    policy: Path, tool: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    policy.write_text(POLICY + OVER)
    git = put_under_git(policy.parent, tool("git"))
    # Nobody knows the order of options at 3 a.m.
    making = ["--commit", "--reason", "CVE", str(policy), "open", "--for", "2h"]
    for arguments in (
        [*making, "--name", "fix"],
        [str(policy), "--end", "fix", "--commit"],
        [*making, "--name", "more"],
        [str(policy), "--prune", "--commit"],
        [str(policy), "--end", "more", "--commit", "--cluster", "south"],
    ):
        assert main(["override", *arguments]) == 0
    assert [each["name"] for each in listed(policy, capsys)] == ["more"]
    assert (
        main(["override", str(policy), *making[1:3], "closed", "--for", "2h", "--name", "b"]) == 0
    )
    assert main(["override", str(policy), "--end"]) == 1
    assert "not over yet: b on all clusters, more on all clusters" in capsys.readouterr().err
    assert main(["override", str(policy), "--end", "b"]) == 0
    assert main(["override", str(policy), "--prune"]) == 0
    assert "nothing to write" in capsys.readouterr().out
    assert main(["override", str(policy), "--end", "more", "--commit", "--reason", "Done"]) == 0
    assert git("log", "--reverse", "--format=%s").splitlines() == [
        "first",
        "CVE",
        "End override fix",
        "CVE",
        "Remove the overrides that are over",
        "End override more on south",
        "Done",
    ]


def test_the_list_for_a_person(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["override", str(policy), "--list"]) == 0
    assert capsys.readouterr().out == "no overrides\n"
    policy.write_text(POLICY.replace("spec:\n", "spec:\n  closesEarly: auto\n", 1) + OVER)
    assert main(["override", str(policy), "--list"]) == 0
    assert capsys.readouterr().out == (
        "over  all clusters  Open  over  Wed 2025-01-01 10:00 to Wed 2025-01-01 12:00 "
        "(Europe/Berlin)  past\n"
    )


MAKING = ["open", "--for", "2h", "--reason", "r"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--end", "over", "--from", "soon"], 2, "--from must be a date such as"),
        ([], 2, "give `open` or `closed`, or --list, --end NAME or --prune"),
        (["open"], 2, "an override needs an end"),
        (["open", "--for", "2h"], 2, "an override needs a reason"),
        (["open", "--for", "0h", "--reason", "r"], 2, "must be longer than zero"),
        (["open", "--until", "soon", "--reason", "r"], 1, "'soon' is no end"),
        (["open", "--until", "2025-01-01", "--reason", "r"], 1, "is over: that was Thu 2025-01-02"),
        (["open", "--prune"], 2, "`open` creates an override, so it cannot be used with --prune"),
        (["--end", "fix"], 1, "override 'fix' not found: the policy has over"),
        ([*MAKING, "--cluster", "west"], 1, "cluster 'west' not found"),
        ([*MAKING, "--name", "over"], 1, "override 'over' already exists"),
    ],
)
def test_a_wrong_call_writes_nothing(
    arguments: list[str], code: int, said: str, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy.write_text(POLICY + OVER)
    assert main(["override", str(policy), *arguments]) == code
    assert said in capsys.readouterr().err
    assert policy.read_text() == POLICY + OVER


def test_a_policy_that_is_wrong_has_no_list(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """When its overrides end is not known."""
    policy.write_text(POLICY.replace("Europe/Berlin", "Europe/Nowhere"))
    for arguments in (["--list"], MAKING):
        assert main(["override", str(policy), *arguments]) == 1
        assert "spec.timeZone" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "2098-01-01T20:00", "--for", "2h"], "01T20:00+01:00 2098-01-01T22:00+01:00"),
        (["--from", "20:00", "--for", "2h"], "T22:00+0"),
        (["--from", "2098-01-01T20:00", "--until", "06:00"], "2098-01-02T06:00+01:00"),
        (["--from", "2h", "--for", "2h"], "'2h' is no beginning: give one such as 18:00, tom"),
        (
            ["--from", "2098-03-30T02:30", "--for", "2h"],
            "clocks in Europe/Berlin skip",
        ),
        (["--from", "2098-10-26T02:30", "--for", "2h"], "T02:30+02:00"),
        (["--from", "2025-01-01", "--for", "2h"], "'2025-01-01' is over: that was Wed"),
        (
            ["--from", "2098-01-03T20:00", "--until", "2098-01-01"],
            "and it begins Fri 2098-01-03 20:00 (Europe/Berlin)",
        ),
    ],
)
def test_an_override_may_begin_later(
    arguments: list[str], said: str, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never at once, as if `--from` were of the preview alone."""
    code = main(["override", str(policy), "open", *arguments, "--reason", "r"])
    found = re.findall(r'(?:starts|ends): "(.*T.*)"', policy.read_text())
    assert said in " ".join([*found, capsys.readouterr().err]), found
    assert bool(found) is not bool(code)
