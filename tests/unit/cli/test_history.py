"""`krm-windows history`, as an auditor calls it."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import spec
from past import Past

from krm_windows.cli import main

PATH = "windows/week.yaml"
TIME = ("--from", "2026-01-05", "--until", "2026-02-02")
OFFICE = spec(windows="{office: {opens: Mon 08:00, closes: Thu 17:00}}")
NIGHTS = spec(windows="{nights: {opens: daily 22:00, closes: '23:00'}}")
CVE = "{cve: {state: Open, starts: '2026-01-16T10:00', ends: '2026-01-16T12:00', reason: CVE-1}}"
OVERRIDDEN = spec(windows="{office: {opens: Mon 08:00, closes: Thu 17:00}}", overrides=CVE)
History = Callable[..., str]


@pytest.fixture
def past(tmp_path: Path, tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Past:
    """A repository without a commit, beside the current directory."""
    monkeypatch.chdir(tmp_path)
    return Past(tool("git"), tmp_path / "repository")


@pytest.fixture
def history(past: Past, capsys: pytest.CaptureFixture[str]) -> History:
    """Call it, and return what it printed."""

    def called(*arguments: str, path: str = PATH) -> str:
        assert main(["history", path, "--repo", str(past.top), *TIME, *arguments]) == 0, (
            capsys.readouterr().err
        )
        return capsys.readouterr().out

    return called


def opened(history: History, *arguments: str) -> list[tuple[str, str, str]]:
    """Return what was open: from, until, and by which rules; without year and offset."""
    found = json.loads(history("-o", "json", *arguments))
    return [
        (each["opens"][5:16], each["closes"][5:16], ",".join(each["rules"]))
        for each in found["open"]
    ]


def test_each_version_counts_from_its_commit(past: Past, history: History) -> None:
    """Up to the next one, and before the first one there was no policy."""
    past.commit("2026-01-01T00:00Z", {"README": "nothing"})
    past.commit("2026-01-07T11:00Z", {PATH: OFFICE})
    past.commit("2026-01-13T11:00Z", {PATH: NIGHTS}, who="Bo")
    past.commit("2026-01-16T11:00Z", {PATH: OFFICE})
    assert opened(history) == [
        ("01-07T12:00", "01-08T17:00", "windows.office"),
        ("01-12T08:00", "01-13T12:00", "windows.office"),
        ("01-13T22:00", "01-13T23:00", "windows.nights"),
        ("01-14T22:00", "01-14T23:00", "windows.nights"),
        ("01-15T22:00", "01-15T23:00", "windows.nights"),
        ("01-19T08:00", "01-22T17:00", "windows.office"),
        ("01-26T08:00", "01-29T17:00", "windows.office"),
    ]
    found = json.loads(history("-o", "json"))
    assert [each["author"] for each in found["versions"]] == [
        "Ada <ada@example.com>",
        "Bo <bo@example.com>",
        "Ada <ada@example.com>",
    ]
    assert found["inForce"][0]["commit"] is None
    assert found["withoutPolicySeconds"] == 60 * 60 * 24 * 2 + 60 * 60 * 12
    assert (found["policy"], found["cluster"], found["file"]) == ("flux-system/week", None, PATH)


def test_what_a_shallow_clone_lacks_is_not_called_a_time_without_a_policy(
    past: Past, tool: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """What was before is unknown; where that is all of the period, there is no account."""
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    past.commit("2026-01-13T11:00Z", {PATH: NIGHTS})
    past.commit("2026-01-16T11:00Z", {PATH: OFFICE})
    elsewhere = Past(tool("git"), Path("elsewhere").absolute())
    elsewhere("clone", "--quiet", "--depth=2", past.top.as_uri(), "shallow")
    call = ["history", PATH, "--repo", "elsewhere/shallow", "-o", "json"]
    assert main([*call, *TIME]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert found["from"] == "2026-01-13T12:00:00+01:00"
    assert found["withoutPolicySeconds"] == 0
    assert "what was before 2026-01-13 11:00Z is unknown" in shown.err
    assert main([*call, "--from", "2026-01-01", "--until", "2026-01-10"]) == 1
    assert "so all of this period, is missing" in capsys.readouterr().err
    assert main(["history", "gone.yaml", *call[2:]]) == 1
    assert "not found in any commit of HEAD that this shallow clone has" in capsys.readouterr().err


def test_a_version_that_cannot_be_read(past: Past, history: History) -> None:
    """Nothing is rendered of it: the previous version stays in force."""
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    wrongs = [
        OFFICE.replace("Mon 08:00", "Mon 8 o'clock"),
        "{",
        "kind: ConfigMap\n",
        OFFICE + "---\n" + OFFICE,
        "# " * (3 << 20),
    ]
    for day, wrong in enumerate(wrongs, 10):
        past.commit(f"2026-01-{day}T11:00Z", {PATH: wrong}, f"Wrong {day}")
    past.commit("2026-01-20T11:00Z", {PATH: NIGHTS})
    assert opened(history)[:4] == [
        ("01-05T08:00", "01-08T17:00", "windows.office"),
        ("01-12T08:00", "01-15T17:00", "windows.office"),
        ("01-19T08:00", "01-20T12:00", "windows.office"),
        ("01-20T22:00", "01-20T23:00", "windows.nights"),
    ]
    found = json.loads(history("-o", "json"))
    states = [each["state"] for each in found["versions"]]
    assert states == ["InForce", *["Unreadable"] * 5, "InForce"]
    assert all(each["problems"] for each in found["versions"][1:6])
    assert "the previous version stays in force" in " ".join(history().split())


def test_a_policy_that_was_removed(past: Past, history: History) -> None:
    """Nothing is gated until it is there again."""
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    past.commit("2026-01-06T11:00Z", {PATH: None})
    past.commit("2026-01-21T11:00Z", {PATH: OFFICE})
    assert opened(history) == [
        ("01-05T08:00", "01-06T12:00", "windows.office"),
        ("01-21T12:00", "01-22T17:00", "windows.office"),
        ("01-26T08:00", "01-29T17:00", "windows.office"),
    ]
    assert "no policy: nothing is gated" in history()


def test_renames_are_followed(past: Past, history: History) -> None:
    """With what was changed in the same commit, through a merge, and more than once."""
    past.commit("2026-01-01T00:00Z", {"first.yaml": OFFICE})
    past("checkout", "--quiet", "-b", "side")
    past("mv", "first.yaml", "second.yaml")
    past.commit("2026-01-02T00:00Z", {"second.yaml": OFFICE.replace("Thu", "Fri")})
    past("checkout", "--quiet", "main")
    past.commit("2026-01-03T00:00Z", {"README": "x"})
    past("merge", "--quiet", "--no-ff", "side", "-m", "Merge", at="2026-01-13T11:00Z")
    (past.top / "windows").mkdir()
    past("mv", "second.yaml", PATH)
    past.commit("2026-01-20T11:00Z", {})
    found = json.loads(history("-o", "json"))
    assert [(each["file"], each["at"][5:16]) for each in found["versions"]] == [
        ("first.yaml", "01-01T01:00"),
        ("second.yaml", "01-13T12:00"),
        (PATH, "01-20T12:00"),
    ]
    assert opened(history)[:3] == [
        ("01-05T08:00", "01-08T17:00", "windows.office"),
        ("01-12T08:00", "01-13T12:00", "windows.office"),
        ("01-13T12:00", "01-16T17:00", "windows.office"),
    ]


def test_every_override_with_reason_and_author(past: Past, history: History) -> None:
    """Who made it, who ended it, and when it was in force."""
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    past.commit("2026-01-16T09:30Z", {PATH: OVERRIDDEN}, who="Bo")
    past.commit("2026-01-16T10:30Z", {PATH: OFFICE}, who="Cy")
    [override] = json.loads(history("-o", "json"))["overrides"]
    assert override.pop("made")["author"] == "Bo <bo@example.com>"
    assert override.pop("ended")["author"] == "Cy <cy@example.com>"
    assert override == {
        "name": "cve",
        "state": "Open",
        "reason": "CVE-1",
        "requestedBy": None,
        "ticket": None,
        "inForce": [{"from": "2026-01-16T10:30:00+01:00", "until": "2026-01-16T11:30:00+01:00"}],
    }
    assert ("01-16T10:30", "01-16T11:30", "overrides.cve") in opened(history)
    page = history()
    assert "cve: Open, CVE-1" in page
    assert "by Bo <bo@example.com>" in page


def test_who_asked_for_an_override(past: Past, history: History) -> None:
    """By name and ticket, in every form; another ticket is another override."""
    override = CVE.replace("CVE-1", "CVE-1, requestedBy: Di, ticket: SEC-1")
    asked = spec(windows="{office: {opens: Mon 08:00, closes: Thu 17:00}}", overrides=override)
    past.commit("2026-01-16T09:30Z", {PATH: asked}, who="Bo")
    past.commit("2026-01-16T10:00Z", {PATH: asked.replace("SEC-1", "SEC-2")}, who="Cy")
    found = json.loads(history("-o", "json"))["overrides"]
    said = [(each["requestedBy"], each["ticket"], bool(each["ended"])) for each in found]
    assert said == [("Di", "SEC-1", True), ("Di", "SEC-2", False)]
    assert [each["inForce"][0]["until"][11:16] for each in found] == ["11:00", "12:00"]
    for form in ("text", "html"):
        assert "requested by Di, see SEC-2" in history("-o", form)


def test_an_override_that_was_never_in_force(past: Past, history: History) -> None:
    """It is told all the same; one of another time is not."""
    past.commit("2026-01-01T00:00Z", {PATH: OVERRIDDEN})
    past.commit("2026-01-06T00:00Z", {PATH: OFFICE})
    assert json.loads(history("-o", "json"))["overrides"][0]["inForce"] == []
    assert "never in force in this period" in history()
    later = ["history", PATH, "--repo", str(past.top), "--from", "2026-01-10", "--until"]
    assert main([*later, "2026-02-01"]) == 0


def test_clocks_that_go_backwards(past: Past, history: History) -> None:
    """A version cannot count before the one that it follows."""
    past.commit("2026-01-13T11:00Z", {PATH: OFFICE})
    past.commit("2026-01-06T11:00Z", {PATH: NIGHTS})
    found = json.loads(history("-o", "json"))
    assert [each["clockBehind"] for each in found["versions"]] == [False, True]
    assert opened(history)[0] == ("01-13T22:00", "01-13T23:00", "windows.nights")
    assert "its commit time is before" in " ".join(history().split())


def test_a_cluster(past: Past, history: History, capsys: pytest.CaptureFixture[str]) -> None:
    """By its patch; where a version names others and not this one, nothing was gated there."""
    patched = spec(
        windows="{office: {opens: Mon 08:00, closes: Thu 17:00}}",
        clusters="{north: {windows: {office: {opens: Tue 08:00}}}}",
    )
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    past.commit("2026-01-09T11:00Z", {PATH: patched})
    past.commit("2026-01-17T11:00Z", {PATH: patched.replace("north", "south")})
    assert opened(history, "--cluster", "north") == [
        ("01-05T08:00", "01-08T17:00", "windows.office"),
        ("01-13T08:00", "01-15T17:00", "windows.office"),
    ]
    past.commit("2026-01-18T11:00Z", {"other.yaml": patched})
    other = ["history", "other.yaml", "--repo", str(past.top), "--cluster", "east"]
    assert main(other) == 1
    assert "the cluster 'east'; found: north" in capsys.readouterr().err


def test_a_time_that_is_not_over(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    """Of what is in the future nobody knows more than the last version says."""
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    argv = ["history", PATH, "--repo", str(past.top), "--from", "2026-01-05", "--until"]
    assert main([*argv, "2060-01-01", "-o", "json"]) == 0
    assert "is in the future" in capsys.readouterr().err
    assert main([*argv, "2026-02-01", "-o", "json"]) == 0
    assert capsys.readouterr().err == ""


FLEET = spec(
    windows="{office: {opens: Mon 08:00, closes: Thu 17:00}}",
    clusters="{north: {windows: {office: {opens: Tue 08:00}}}, west: {timeZone: America/New_York}}",
)


@pytest.fixture
def fleet(past: Past) -> Past:
    """A policy whose clusters come and go."""
    past.commit("2025-11-01T00:00Z", {PATH: FLEET.replace("north", "early")})
    past.commit("2025-12-01T00:00Z", {PATH: OFFICE})
    past.commit("2026-01-09T11:00Z", {PATH: FLEET})
    past.commit("2026-01-10T11:00Z", {PATH: "{"})
    past.commit("2026-01-17T11:00Z", {PATH: FLEET.replace("north", "south")})
    past.commit("2026-02-17T11:00Z", {PATH: FLEET.replace("north", "late")})
    return past


def test_a_cluster_of_another_time(fleet: Past, capsys: pytest.CaptureFixture[str]) -> None:
    """Was not there in this one; while the policy named no clusters, it was there for each."""
    argv = ["history", PATH, "--repo", str(fleet.top), "-o", "json", "--cluster"]
    assert main([*argv, "north", "--from", "2026-01-18", "--until", "2026-01-24"]) == 1
    assert "in this period" in capsys.readouterr().err
    for name in ("south", "late"):
        assert main([*argv, name, "--from", "2026-01-05", "--until", "2026-01-24"]) == 0
        assert json.loads(capsys.readouterr().out)["cluster"] == name


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            ("--from", "2026-03-01", "--until", "2026-02-01"),
            "must be before the end",
        ),
        (("--from", "1969-12-31"), "--from/--since: must be in 1970 or later"),
        (("--from", "60y", "--until", "2026-01-01"), "--from must be in 1970 or later"),
        (("--cluster", "nort"), "the cluster 'nort'; found: late, west, south, north, early"),
        (("--from", "0d"), "got '0d'"),
    ],
)
@pytest.mark.usefixtures("fleet")
def test_a_wrong_call(
    past: Past, given: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Is told by the names of its options."""
    try:
        code = main(["history", PATH, "--repo", str(past.top), *given])
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr().err
    assert code in (1, 2)
    assert words in said


def test_the_contents_of_versions(past: Past, history: History) -> None:
    """By the digest that Git has, and by one that any other tool can compute."""
    commit = past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    [version] = json.loads(history("-o", "json"))["versions"]
    assert version["sha256"] == hashlib.sha256(OFFICE.encode()).hexdigest()
    assert version["blob"] == past("rev-parse", f"{commit}:{PATH}")


def test_a_page(past: Past, history: History) -> None:
    """With the same facts, and nothing of a subject that a browser would obey."""
    past.commit("2026-01-01T00:00Z", {PATH: OVERRIDDEN}, "<script>alert(1)</script>")
    past.commit("2026-01-20T00:00Z", {PATH: "{"})
    past.commit("2026-01-25T00:00Z", {PATH: None})
    page = history("-o", "html")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    for words in ("CVE-1", "windows.office", "cannot be read", "no policy"):
        assert words in page


def test_where_the_file_is(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    """From here, or from the directory of the repository; one that is elsewhere is neither."""
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    top = str(past.top)
    for path, repo in (
        (f"repository/{PATH}", top),
        (str(past.top / PATH), top),
        ("week.yaml", f"{top}/windows"),
    ):
        assert main(["history", path, "--repo", repo, *TIME, "-o", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["file"] == PATH
    Path("windows").mkdir()
    Path(PATH).write_text("another")
    assert main(["history", PATH, "--repo", top, *TIME]) == 0
    for path, words in (("nowhere.yaml", "not found in any commit"), ("../x.yaml", "outside")):
        assert main(["history", path, "--repo", top, *TIME]) == 1
        assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "words"),
    [
        # A directory of the repository, and one that is here.
        ("windows", "no version of it was in force"),
        ("repository", "is not the path of a file"),
        ("windows/", "is not the path of a file"),
        ("repository/windows/..", "is not the path of a file"),
        ("", "is not the path of a file"),
        ("week\n.yaml", "not found in any commit"),
    ],
)
def test_what_is_no_file(
    past: Past, path: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Is said to be none, whether it is here or in the repository."""
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    assert main(["history", path, "--repo", str(past.top), *TIME]) == 1
    assert words in capsys.readouterr().err


def test_a_mistake_that_also_leaves_a_cluster_out(past: Past, history: History) -> None:
    """Nothing is rendered of it for any cluster, so the previous version stays in force."""
    north = spec(windows="{office: {opens: Mon 08:00, closes: Thu 17:00}}", clusters="{north: {}}")
    south = north.replace("north", "south")
    past.commit("2026-01-01T00:00Z", {PATH: north})
    past.commit("2026-01-06T11:00Z", {PATH: south.replace("Mon 08:00", "Someday")}, "A mistake")
    past.commit("2026-01-20T11:00Z", {PATH: south})
    assert opened(history, "--cluster", "north") == [
        ("01-05T08:00", "01-08T17:00", "windows.office"),
        ("01-12T08:00", "01-15T17:00", "windows.office"),
        ("01-19T08:00", "01-20T12:00", "windows.office"),
    ]
    found = json.loads(history("-o", "json", "--cluster", "north"))["versions"]
    states = [each["state"] for each in found]
    assert states == ["InForce", "Unreadable", "OtherCluster"]
    assert "Someday" in found[1]["problems"][0]


def test_a_cluster_of_a_policy_that_names_none(
    past: Past, capsys: pytest.CaptureFixture[str]
) -> None:
    """Is a mistake, as it is for the other commands."""
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    argv = ["history", PATH, "--repo", str(past.top), *TIME, "--cluster", "north"]
    assert main(argv) == 1
    assert "or any other: remove --cluster" in capsys.readouterr().err


def test_nothing_to_account_for(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said why."""
    past.commit("2026-01-01T00:00Z", {PATH: "{"})
    assert main(["history", PATH, "--repo", str(past.top), *TIME]) == 1
    assert "no version of it was in force in this period: line 2" in capsys.readouterr().err
    past.commit("2026-03-01T00:00Z", {PATH: OFFICE})
    assert main(["history", PATH, "--repo", str(past.top), *TIME]) == 1
    assert "in force in this period" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [80, 100])
def test_lines_fit_a_terminal(
    past: Past, history: History, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for rules with long names."""
    past.commit("2026-01-01T00:00Z", {PATH: OVERRIDDEN}, "A subject that says much more " * 4)
    past.commit("2026-01-20T00:00Z", {PATH: OFFICE.replace("Mon", "Someday")})
    monkeypatch.setattr("krm_windows.cli.output.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert max(map(len, history().splitlines())) <= columns
