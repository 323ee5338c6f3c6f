"""`krm-windows check`, as a user and as a pipeline call it."""

import json
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from calls import POLICY, spec

from krm_windows.cli import main
from krm_windows.schedule import zones

FREEZE = '{summer: {starts: "2027-07-02", ends: "2027-08-08", reason: Works holidays}}'
FROM = ("--from", "2027-01-01")


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text("# ours\n---\n" + spec(freezes=FREEZE))
    return "policy.yaml"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["check", *arguments]) == code
    return capsys.readouterr().out


def test_text_is_a_line_for_each_finding_and_one_that_counts(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, policy, *FROM) == (
        "policy.yaml:14:3: [warning] WindowPolicy flux-system/week spec.windows: "
        "are closed from "
        "Thu 2027-07-01 17:00 to Mon 2027-08-09 08:00, 38 days in a row, more than 35: "
        "add a window, or raise "
        "--max-closed if this is intended (times in Europe/Berlin) (closed-long)\n"
        f"flux-system/week, 2027-01-01 to 2036-12-31, zone rules {zones.release()}: 1 warning\n"
    )


def test_a_policy_without_findings(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, policy, *FROM, "--years", "2", "--max-closed", "40", "--strict")
    assert out == (
        f"flux-system/week, 2027-01-01 to 2028-12-31, zone rules {zones.release()}: no findings\n"
    )
    # A pipeline may want no warnings; without a day it is audited from today.
    assert printed(capsys, policy, *FROM, "--strict", code=1).endswith("1 warning\n")
    assert "flux-system/week, 20" in printed(capsys, policy)


def test_a_wrong_policy_is_not_audited(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(policy).write_text(POLICY.replace("Mon 08:00", "Mno 08:00"))
    found = json.loads(printed(capsys, policy, "-o", "json", code=1))
    assert [result["tags"]["rule"] for result in found["results"]] == ["moment-syntax"]


# What cannot be audited: what the file holds, where, and what is said.
UNREAD = {
    "not YAML": (b"a: [b\n", (1, 4), "did not find expected"),
    "no UTF-8": (b"a: b\n  \xe9: c\n", (2, 3), "not UTF-8"),
    "two": (f"{POLICY}---\n{POLICY}".encode(), (POLICY.count("\n") + 2, 1), "found 2"),
}


@pytest.mark.parametrize("case", UNREAD)
def test_what_cannot_be_read_is_a_finding_where_no_person_reads(
    policy: str, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    content, (line, column), said = UNREAD[case]
    Path("odd.yaml").write_bytes(content)
    Path(policy).write_text(POLICY)
    call = (policy, "odd.yaml")

    [command] = printed(capsys, *call, "-o", "github", code=1).splitlines()
    assert command.startswith(f"::error file=odd.yaml,line={line},col={column},title=odd.yaml%3A ")
    assert said.lower() in command.lower()
    assert "input-unreadable" in command

    found = json.loads(printed(capsys, *call, "-o", "json", code=1))
    assert len(found) == 2
    [result] = found[0]["results"]
    assert result["file"] == {"path": "odd.yaml", "index": 0}
    place = {"line": str(line), "column": str(column)}
    assert result["tags"] == {"rule": "input-unreadable", **place}


def test_json_says_what_was_audited(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And its results are as the functions specification has them, with the date."""
    found = json.loads(printed(capsys, policy, *FROM, "-o", "json"))
    [result] = found.pop("results")
    days = {"from": "2027-01-01", "until": "2036-12-31"}
    about = {"policy": "flux-system/week", "clusters": [], "zoneRelease": zones.release()}
    assert found == {**about, **days}
    assert (result["severity"], result["field"]) == ("warning", {"path": "spec.windows"})
    place = {"line": "14", "column": "3"}
    assert result["tags"] == {"rule": "closed-long", "date": "2027-07-01", **place}
    assert result["file"] == {"path": "policy.yaml", "index": 0}


def test_github_annotates_the_line(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the field, in the file as it was named. Signs that would end a property are codes."""
    at = Path(policy).read_text().splitlines().index("  windows:") + 1
    [command] = printed(capsys, policy, *FROM, "-o", "github").splitlines()
    head = (
        f"::warning file=policy.yaml,line={at},col=3,title=flux-system/week%3A "
        "closed-long::spec.windows: are closed from "
    )
    assert command.startswith(head)


def test_a_stream_has_no_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(spec(freezes=FREEZE).encode())))
    out = printed(capsys, "-", *FROM, "-o", "github")
    assert "closed-long" in out
    assert "file=" not in out


def test_clusters_that_have_it_alike_are_one_report(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    short = "{freezes: {summer: {ends: '2027-07-10'}}}"
    clusters = (
        f"{{north: {{interval: 30m}}, south: {short}, east: {{interval: 30m}}, west: {short}}}"
    )
    Path(policy).write_text(spec(freezes=FREEZE, clusters=clusters))
    found = json.loads(printed(capsys, policy, *FROM, "--all-clusters", "-o", "json"))
    assert [each["clusters"] for each in found] == [["north", "east"], ["south", "west"]]
    lines = printed(capsys, policy, *FROM, "--all-clusters").splitlines()
    assert lines[0].startswith("policy.yaml:12:3:")
    rest = f"2027-01-01 to 2036-12-31, zone rules {zones.release()}"
    assert lines[1:] == [
        f"flux-system/week on north, east, {rest}: 1 warning",
        f"flux-system/week on south, west, {rest}: no findings",
        "total: 1 warning",
    ]
