"""`krm-windows diff` and `explain`, as a user calls them."""

import json
from pathlib import Path

import pytest
from calls import POLICY, spec
from forges import TOKEN, Pull, serving

from krm_windows.cli import main

LATER = "{later: {state: Open, starts: '2026-12-20T12:00', ends: '2098-01-01', reason: r}}"
DAYS = ("--from", "2026-12-14", "--days", "7")


def diff(old: str, new: str, folder: Path, *arguments: str, code: int = 0) -> None:
    (folder / "old.yaml").write_text(old)
    (folder / "new.yaml").write_text(new)
    assert (
        main(["diff", str(folder / "old.yaml"), str(folder / "new.yaml"), *DAYS, *arguments])
        == code
    )


def test_clusters_on_which_nothing_changes_share_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    zones = ("Europe/Berlin", "Europe/London", "America/Chicago", "Asia/Tokyo")
    same = [f"c{number}: {{timeZone: {zones[number % 4]}}}" for number in range(12)]
    new = [*same, "c12: {state: Open}"]
    old = [*same, "c12: {}"]
    before, after = (spec(clusters=f"{{{', '.join(each)}}}") for each in (old, new))
    diff(before, after, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    days = "2026-12-14 to 2026-12-20"
    assert lines[0] == f"flux-system/week on 12 clusters like c0, {days}: nothing opens or closes"
    assert lines[2].startswith("flux-system/week on c12, 2026-12-14 to 2026-12-20 (Europe/Berlin)")


def test_a_reason_of_several_lines_stays_in_its_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    freezes = '{audit: {starts: "2026-12-15", ends: "2026-12-15", reason: "r\\nopens  all"}}'
    diff(POLICY, spec(freezes=freezes), tmp_path)
    assert [line[:6] for line in capsys.readouterr().out.splitlines()[2:]] == ["closes"]


def test_json_says_what_opens_and_what_closes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    freezes = '{audit: {starts: "2026-12-15T12:00", ends: "2026-12-16", reason: r}}'
    diff(
        POLICY,
        spec(
            windows="{office: {opens: Mon 08:00, closes: Thu 19:00}}",
            clusters=f"{{c: {{freezes: {freezes}, overrides: {LATER}}}}}",
        ),
        tmp_path,
        *("--cluster", "c", "-o", "json"),
    )
    said = json.loads(capsys.readouterr().out)
    assert (said["policy"], said["cluster"]) == ("flux-system/week", "c")
    assert said["timeZone"] == "Europe/Berlin"
    assert said["from"] == "2026-12-14T00:00:00+01:00"
    assert said["until"] == "2026-12-21T00:00:00+01:00"
    assert [tuple(each.values()) for each in said["opens"]] == [
        ("2026-12-17T17:00:00+01:00", "2026-12-17T19:00:00+01:00", ["windows.office"], []),
        ("2026-12-20T12:00:00+01:00", None, ["overrides.later"], []),
    ]
    assert said["closes"] == [
        {
            "from": "2026-12-15T12:00:00+01:00",
            "until": "2026-12-17T00:00:00+01:00",
            "rules": ["freezes.audit"],
            "instead": ["windows.office"],
        }
    ]


def test_what_was_forgotten_is_demanded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    diff(POLICY, POLICY.replace("[apps]", "[infra]"), tmp_path, "-o", "markdown", code=1)
    seen = capsys.readouterr()
    assert "nothing opens or closes" in seen.out
    assert "- **error**: `spec.released: must list Kustomization flux-system/apps" in seen.out
    assert "(target-dropped)" in seen.err


def test_a_wrong_policy_is_reported_and_nothing_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = POLICY.replace("Mon 08:00", "Mno 08:00")
    for pair in ((wrong, POLICY), (POLICY, wrong)):
        diff(*pair, tmp_path, code=1)
        seen = capsys.readouterr()
        assert (seen.out, "moment-syntax" in seen.err) == ("", True)
    diff(POLICY, POLICY, tmp_path, "--cluster", "nowhere", code=1)
    said = 'must be one of the policy\'s clusters (it names none), got "nowhere" (cluster-unknown)'
    assert said in capsys.readouterr().err


def test_a_policy_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    windows = "{office: {opens: '0 8 1 * MON', duration: 90m}}"
    freezes = '{end: {starts: "2026-12-20", ends: "2027-01-03", reason: Year end}}'
    fix = '{state: Open, ends: "2026-12-24T12:00Z", reason: Patch, requestedBy: Ada, ticket: 7}'
    text = spec(windows=windows, freezes=freezes, overrides=f"{{fix: {fix}}}", closesEarly="10m")
    (tmp_path / "policy.yaml").write_text(text.replace("'7'", "7"))
    assert main(["explain", str(tmp_path / "policy.yaml")]) == 0
    said = capsys.readouterr().out.splitlines()
    for line in (
        "windows.office: changes may reach them 0 8 1 * MON for 1 hour 30 minutes.",
        "  opens    0 8 1 * MON          08:00; Monday or day 1 of the month",
        "freezes.end: nothing may reach them 2026-12-20 to 2027-01-03, whatever the windows say.",
        "  ends     2027-01-03           Mon 2027-01-04 00:00, the instant 2027-01-03T23:00:00Z",
        "  Patch, requested by Ada, see 7",
        "  2. freezes: they close the part of a window that they overlap; the rest stays open",
    ):
        assert line in said
    assert any(line.startswith("overrides.fix: changes may reach them until") for line in said)
    assert any(line.startswith("Windows close 10 minutes early, ") for line in said)


def test_a_change_is_told_what_it_moves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITEA_TOKEN", TOKEN)
    later = spec(windows="{office: {opens: Mon 08:00, closes: Thu 19:00}}")
    with serving("gitea", Pull(7, "a" * 40)) as server:
        where = ("--forge", "gitea", "--repo", "acme/fleet", "--url", server.address)
        diff(POLICY, POLICY, tmp_path, "--comment", "7", *where)
        assert server.comments == []
        for new, words in ((later, "opens 2 h"), (POLICY, "nothing opens or closes")):
            diff(POLICY, new, tmp_path, "--comment", "7", *where)
            [(number, _, said)] = server.comments
            assert number == 7
            assert "### `flux-system/week`: what this change opens and closes" in said
            assert words in said
    said = capsys.readouterr()
    assert said.err == "krm-windows: commented on #7\n" * 2
    # In the log it is as it is without.
    assert "opens 2 h" in said.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--comment", "7"), "--comment needs --forge and --repo OWNER/NAME"),
        (("--comment", "0", "--forge", "github", "--repo", "a/b"), "must be a number"),
        (("--comment", "7", "--forge", "gitea", "--repo", "a/b"), "give --url"),
    ],
)
def test_a_comment_has_a_place(
    options: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The name of the forge says what is missing, which is the business of who connects.
    diff(POLICY, POLICY, tmp_path, *options, code=1 if said == "give --url" else 2)
    assert said in capsys.readouterr().err
