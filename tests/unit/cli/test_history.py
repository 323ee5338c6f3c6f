"""`krm-windows history`, as an auditor calls it."""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from calls import Ended, Run, spec
from past import Past

PATH = "windows/week.yaml"
TIME = ("--from", "2026-01-05", "--until", "2026-02-02")
OFFICE = spec()
NIGHTS = spec(windows="{nights: {opens: daily 22:00, closes: '23:00'}}")
CVE = "{cve: {state: Open, starts: '2026-01-16T10:00', ends: '2026-01-16T12:00', reason: CVE-1}}"
OVERRIDDEN = spec(overrides=CVE)
Call, History = Callable[..., Ended], Callable[..., str]


@pytest.fixture
def past(run: Run, tmp_path: Path, tool: Callable[[str], Path]) -> Past:
    assert run
    return Past(tool("git"), tmp_path / "repository")


@pytest.fixture
def called(run: Run) -> Call:
    return lambda path, *options: run("history", path, "--repo", "repository", *options)


@pytest.fixture
def history(called: Call) -> History:
    def printed(*options: str) -> str:
        ended = called(PATH, *TIME, *options)
        assert ended.code == 0, ended.err
        return ended.out

    return printed


def opened(history: History, *arguments: str) -> list[tuple[str, str, str]]:
    found = json.loads(history("-o", "json", *arguments))
    return [
        (each["opens"][5:16], each["closes"][5:16], ",".join(each["rules"]))
        for each in found["open"]
    ]


def test_each_version_counts_from_its_commit(past: Past, history: History) -> None:
    past.commit("2026-01-01T00:00Z", {"README": "nothing"})
    commit = past.commit("2026-01-07T11:00Z", {PATH: OFFICE})
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
    ada, bo = "Ada <ada@example.com>", "Bo <bo@example.com>"
    assert [each["author"] for each in found["versions"]] == [ada, bo, ada]
    assert found["inForce"][0]["commit"] is None
    assert found["withoutPolicySeconds"] == 60 * 60 * 24 * 2 + 60 * 60 * 12
    assert (found["policy"], found["cluster"], found["file"]) == ("flux-system/week", None, PATH)
    # By the digest that Git has, and by one that any other tool can compute.
    version = found["versions"][0]
    assert version["sha256"] == hashlib.sha256(OFFICE.encode()).hexdigest()
    assert version["blob"] == past("rev-parse", f"{commit}:{PATH}")


def test_what_a_shallow_clone_lacks_is_not_called_a_time_without_a_policy(
    past: Past, run: Run
) -> None:
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    past.commit("2026-01-13T11:00Z", {PATH: NIGHTS})
    past.commit("2026-01-16T11:00Z", {PATH: OFFICE})
    past("clone", "--quiet", "--depth=2", past.top.as_uri(), str(past.top.parent / "shallow"))
    call = ("--repo", "shallow", "-o", "json", "--from")
    code, out, err = run("history", PATH, *call, TIME[1], "--until", "2026-02-02")
    found = json.loads(out)
    assert (code, found["from"]) == (0, "2026-01-13T12:00:00+01:00")
    assert found["withoutPolicySeconds"] == 0
    assert "what was before 2026-01-13 11:00Z is unknown" in err
    ended = run("history", PATH, *call, "2026-01-01", "--until", "2026-01-10")
    assert ended.code == 1
    assert "so all of this period, is missing" in ended.err
    ended = run("history", "gone.yaml", *call, "2026-01-01")
    assert ended.code == 1
    assert "not found in any commit of HEAD that this shallow clone has" in ended.err


def test_a_version_that_cannot_be_read(past: Past, history: History) -> None:
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
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    past.commit("2026-01-06T11:00Z", {PATH: None})
    past.commit("2026-01-21T11:00Z", {PATH: OFFICE})
    assert opened(history) == [
        ("01-05T08:00", "01-06T12:00", "windows.office"),
        ("01-21T12:00", "01-22T17:00", "windows.office"),
        ("01-26T08:00", "01-29T17:00", "windows.office"),
    ]
    assert "no policy: nothing is gated" in " ".join(history().split())


def test_renames_are_followed(past: Past, history: History) -> None:
    past.commit("2026-01-01T00:00Z", {"first.yaml": OFFICE})
    past("mv", "first.yaml", "second.yaml")
    past.commit("2026-01-13T11:00Z", {"second.yaml": OFFICE.replace("Thu", "Fri")})
    (past.top / "windows").mkdir()
    past("mv", "second.yaml", PATH)
    past.commit("2026-01-20T11:00Z", {})
    found = json.loads(history("-o", "json"))
    files = [each["file"] for each in found["versions"]]
    assert files == ["first.yaml", "second.yaml", PATH]
    assert opened(history)[:3] == [
        ("01-05T08:00", "01-08T17:00", "windows.office"),
        ("01-12T08:00", "01-13T12:00", "windows.office"),
        ("01-13T12:00", "01-16T17:00", "windows.office"),
    ]


def test_every_override_with_reason_and_author(past: Past, history: History) -> None:
    asked = spec(overrides=CVE.replace("CVE-1", "CVE-1, requestedBy: Di, ticket: SEC-1"))
    past.commit("2025-12-01T00:00Z", {PATH: OVERRIDDEN})
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    past.commit("2026-01-16T09:30Z", {PATH: asked}, who="Bo")
    past.commit("2026-01-16T10:00Z", {PATH: asked.replace("SEC-1", "SEC-2")}, who="Cy")
    override, other = json.loads(history("-o", "json"))["overrides"]
    assert override.pop("made")["author"] == "Bo <bo@example.com>"
    assert override.pop("ended")["author"] == "Cy <cy@example.com>"
    assert override == {
        "name": "cve",
        "cluster": None,
        "state": "Open",
        "reason": "CVE-1",
        "requestedBy": "Di",
        "ticket": "SEC-1",
        "inForce": [{"from": "2026-01-16T10:30:00+01:00", "until": "2026-01-16T11:00:00+01:00"}],
    }
    assert (other["ticket"], other["ended"]) == ("SEC-2", None)
    assert ("01-16T11:00", "01-16T12:00", "overrides.cve") in opened(history)
    for words in ("cve: Open, CVE-1", "by Bo <bo@example.com>"):
        assert words in history()
    for form in ("text", "html"):
        assert "requested by Di, see SEC-2" in history("-o", form)


def test_who_opened_what_in_a_repository(past: Past, run: Run) -> None:
    """Whoever asks it knows neither policy nor cluster; a row has no other rule's time."""
    ends = "{starts: '2026-01-16T10:00', ends: '2026-01-16T12:00', state: Open, reason: r}"
    east = spec(clusters=f"{{east: {{overrides: {{fix: {ends}}}}}, west: {{}}}}", overrides=CVE)
    changed = east.replace("reason: r", "reason: better")
    week = ("--repo", "repository", "--from", "2026-01-13", "--until", "2026-02-02")
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE, "b.yaml": OFFICE.replace("week", "other")})
    past.commit("2026-01-15T09:00Z", {PATH: east}, who="Bo")
    past.commit("2026-01-15T09:30Z", {PATH: changed}, who="Cy")
    bare = spec(clusters="{east: {}, west: {timeZone: Etc/UTC}}")
    past.commit("2026-01-18T09:00Z", {PATH: bare}, who="Di")
    code, shown, notes = run("history", *week)
    assert "shown as it is without a cluster; west may differ (--cluster NAME)" in notes
    for said in (
        "flux-system/week\n",
        "  cve: Open, CVE-1\n    made Thu 2026-01-15 10:00 by Bo <bo@example.com>",
        "  fix on east: Open, r\n",
        "    changed Thu 2026-01-15 10:30 by Cy <cy@example.com>",
        "  fix on east: Open, better\n",
        "    cleaned up Sun 2026-01-18 10:00 by Di <di@example.com>",
        "flux-system/other\n",
        "no overrides",
    ):
        assert said in shown, shown
    assert (code, "opened " in shown, shown.count("cve: ")) == (0, False, 1)
    found = json.loads(run("history", PATH, *week, "-o", "json").out)
    assert [each["cluster"] for each in found["overrides"]] == [None, "east", "east"]
    rows = [(each["opens"][8:16], each["rules"]) for each in found["open"]]
    assert ("16T10:00", ["overrides.cve"]) in rows
    assert run("history", *week, "--cluster", "east").out.count("flux-system/") == 1
    past.commit("2026-01-19T09:00Z", {"c.yaml": OFFICE.replace("Mon 08:00", "Someday")})
    assert run("history", *week).code == 1


def test_clocks_that_go_backwards(past: Past, history: History) -> None:
    """A version cannot count before the one that it follows."""
    past.commit("2026-01-13T11:00Z", {PATH: OFFICE})
    past.commit("2026-01-06T11:00Z", {PATH: NIGHTS})
    found = json.loads(history("-o", "json"))
    assert [each["clockBehind"] for each in found["versions"]] == [False, True]
    assert opened(history)[0] == ("01-13T22:00", "01-13T23:00", "windows.nights")
    assert "its commit time is before" in " ".join(history().split())


def test_a_cluster(past: Past, history: History) -> None:
    patched = spec(clusters="{north: {windows: {office: {opens: Tue 08:00}}}}")
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    past.commit("2026-01-09T11:00Z", {PATH: patched})
    past.commit("2026-01-17T11:00Z", {PATH: patched.replace("north", "south")})
    assert opened(history, "--cluster", "north") == [
        ("01-05T08:00", "01-08T17:00", "windows.office"),
        ("01-13T08:00", "01-15T17:00", "windows.office"),
    ]


def test_a_time_that_is_not_over(past: Past, called: Call) -> None:
    """Of what is in the future nobody knows more than the last version says."""
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    code, _, err = called(PATH, "--from", "2026-01-05", "--until", "2060-01-01", "-o", "json")
    assert (code, "is in the future" in err) == (0, True)
    assert called(PATH, *TIME).err == ""


@pytest.fixture
def fleet(past: Past) -> Past:
    named = spec(clusters="{north: {}, west: {timeZone: America/New_York}}")
    past.commit("2025-11-01T00:00Z", {PATH: named.replace("north", "early")})
    past.commit("2025-12-01T00:00Z", {PATH: OFFICE, "plain.yaml": OFFICE})
    past.commit("2026-01-09T11:00Z", {PATH: named})
    past.commit("2026-01-10T11:00Z", {PATH: "{"})
    past.commit("2026-01-17T11:00Z", {PATH: named.replace("north", "south")})
    past.commit("2026-02-17T11:00Z", {PATH: named.replace("north", "late")})
    return past


@pytest.mark.usefixtures("fleet")
def test_a_cluster_of_another_time(called: Call) -> None:
    """Was not there in this one; while the policy named no clusters, it was there for each."""
    ended = called(PATH, "--cluster", "north", "--from", "2026-01-18", "--until", "2026-01-24")
    assert (ended.code, "in this period" in ended.err) == (1, True)
    for name in ("south", "late"):
        assert called(PATH, "--cluster", name, *TIME).code == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ((PATH, "--from", "2026-03-01", "--until", "2026-02-01"), "must be before the end"),
        ((PATH, "--from", "60y", "--until", "2026-01-01"), "--from must be in 1970 or later"),
        ((PATH, "--cluster", "nort"), "'nort'; found: late, west, south, north, early"),
        (("plain.yaml", "--cluster", "north"), "or any other: remove --cluster"),
        # A directory of the repository, and some that are here.
        (("windows",), "no version of it was in force"),
        (("repository",), "is not the path of a file"),
        (("repository/windows/..",), "is not the path of a file"),
        (("",), "is not the path of a file"),
        (("week\n.yaml",), "not found in any commit"),
        (("../x.yaml",), "outside"),
    ],
)
@pytest.mark.usefixtures("fleet")
def test_a_wrong_call(call: tuple[str, ...], words: str, called: Call) -> None:
    ended = called(*call)
    assert ended.code == 1
    assert words in ended.err


def test_a_page(past: Past, history: History) -> None:
    past.commit("2026-01-01T00:00Z", {PATH: OVERRIDDEN}, "<script>alert(1)</script>")
    past.commit("2026-01-06T00:00Z", {PATH: "{"})
    past.commit("2026-01-07T00:00Z", {PATH: None})
    page = history("-o", "html")
    assert "<script" not in page
    for words in ("&lt;script&gt;", "CVE-1", "windows.office", "cannot be read", "no policy"):
        assert words in page
    # It is told all the same of an override.
    assert "never in force in this period" in history()


def test_what_still_lasts(past: Past, called: Call) -> None:
    past.commit("2026-01-01T00:00Z", {PATH: OVERRIDDEN})
    ended = called(PATH, "--from", "2026-01-15", "--until", "2026-01-16T11:30+01:00")
    assert "in force Fri 2026-01-16 10:00 to Fri 2026-01-16 11:30, 1 h 30 m so far" in ended.out
    assert "Fri 2026-01-16 11:30  1 h 30 m so far  overrides.cve" in ended.out
    assert ended.out.count("so far") == 2


def test_where_the_file_is(past: Past, run: Run) -> None:
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    Path("windows").mkdir()
    Path(PATH).write_text("another")
    for path, repo in (
        (f"repository/{PATH}", "repository"),
        (past.top / PATH, "repository"),
        ("week.yaml", "repository/windows"),
        (PATH, "repository"),
        ("week", "repository"),
    ):
        ended = run("history", path, "--repo", repo, *TIME, "-o", "json")
        assert json.loads(ended.out)["file"] == PATH


def test_a_mistake_that_also_leaves_a_cluster_out(past: Past, history: History) -> None:
    north = spec(clusters="{north: {}}")
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


def test_nothing_to_account_for(past: Past, called: Call) -> None:
    past.commit("2026-01-01T00:00Z", {PATH: "{"})
    ended = called(PATH, *TIME)
    assert ended.code == 1
    assert "no version of it was in force in this period: line 2" in ended.err
    past.commit("2026-03-01T00:00Z", {PATH: OFFICE})
    ended = called(PATH, *TIME)
    assert (ended.code, "in force in this period" in ended.err) == (1, True)


def test_lines_fit_a_terminal(
    past: Past, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    past.commit("2026-01-01T00:00Z", {PATH: OVERRIDDEN}, "A subject that says much more " * 4)
    past.commit("2026-01-20T00:00Z", {PATH: OFFICE.replace("Mon", "Someday")})
    past.commit(
        "2026-01-21T00:00Z", {PATH: OVERRIDDEN.replace("cve", "a-name-that-is-rather-long")}
    )
    monkeypatch.delenv("COLUMNS", raising=False)
    assert max(map(len, history().splitlines())) <= 80
    monkeypatch.setattr("krm_windows.cli.output.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, history().splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        ("Tuesday", "Tue 2026-11-24 00:00"),
        ("mon", "Mon 2026-11-30 00:00"),
        ("Monday 13:00", "Mon 2026-11-23 13:00"),
        ("last Monday", "Mon 2026-11-23 00:00"),
        ("last Sunday", "Sun 2026-11-29 00:00"),
        ("yesterday 06:00", "Sun 2026-11-29 06:00"),
        ("holiday", None),
    ],
)
def test_since_when_in_the_words_of_a_person(
    words: str, begins: str | None, past: Past, called: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    past.commit("2026-01-01T00:00Z", {PATH: OFFICE})
    now = datetime.fromisoformat("2026-11-30T09:20Z")
    monkeypatch.setattr("krm_windows.cli.times.now", lambda: now)
    ended = called(PATH, "--from", words)
    assert (ended.code, begins or "") == (0 if begins else 2, ended.out[17:37])
