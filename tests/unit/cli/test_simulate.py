"""`krm-windows simulate`, as a user calls it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import POLICY, spec
from past import Past

from krm_windows.cli import main

DAYS = ("--from", "2026-01-05", "--until", "2026-02-02")
LATER = spec(windows="{office: {opens: Mon 08:00, closes: Fri 17:00}}")


def manifest(kind: str, name: str, text: str) -> str:
    """An object with a text in it."""
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\ndata: {{a: '{text}'}}\n"


@pytest.fixture
def past(tmp_path: Path, tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Past:
    """A repository with changes on several days, beside a policy that is open Mon to Thu."""
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    Path("later.yaml").write_text(LATER)
    made = Past(tool("git"), tmp_path / "repository")
    made.commit("2026-01-04T12:00Z", {"apps/a.yaml": manifest("Secret", "a", "0")})
    made.commit("2026-01-06T12:00Z", {"apps/a.yaml": manifest("Secret", "a", "1")}, "Open")
    made.commit("2026-01-09T12:00Z", {"infra/c.yaml": manifest("ConfigMap", "c", "1")}, "Friday")
    made.commit("2026-01-10T12:00Z", {"apps/a.yaml": manifest("Secret", "a", "2")}, "Saturday")
    made.commit("2026-01-23T16:30Z", {"README": "text"}, "Text")
    return made


Simulate = Callable[..., str]


@pytest.fixture
def simulate(past: Past, capsys: pytest.CaptureFixture[str]) -> Simulate:
    """Call it, and return what it printed."""

    def called(*arguments: str, policies: tuple[str, ...] = ("policy.yaml",)) -> str:
        argv = ["simulate", *policies, "--repo", str(past.top), *DAYS, *arguments]
        assert main(argv) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return called


def test_json_has_every_figure(simulate: Simulate) -> None:
    """And every change that waited, with its opening."""
    found = json.loads(simulate("-o", "json"))
    waits = found.pop("waits")
    assert [(wait["subject"], wait["offered"], wait["opens"]) for wait in waits] == [
        ("Friday", "2026-01-09T13:00:00+01:00", "2026-01-12T08:00:00+01:00"),
        ("Saturday", "2026-01-10T13:00:00+01:00", "2026-01-12T08:00:00+01:00"),
        ("Text", "2026-01-23T17:30:00+01:00", "2026-01-26T08:00:00+01:00"),
    ]
    assert found == {
        "policy": "flux-system/week",
        "cluster": None,
        "timeZone": "Europe/Berlin",
        "from": "2026-01-05T00:00:00+01:00",
        "until": "2026-02-02T00:00:00+01:00",
        "changes": 4,
        "atOnce": 1,
        "waited": 3,
        "pending": 0,
        "withoutOpening": 0,
        "waitSeconds": {
            "median": 225000,
            "percentile95": 241200,
            "longest": 241200,
            "total": 241200 + 154800 + 225000,
        },
        "openings": 2,
        "largestOpening": {"opens": "2026-01-12T08:00:00+01:00", "changes": 2},
        "months": [
            {"month": "2026-01", "changes": 4, "waited": 3, "totalSeconds": 621000},
            {"month": "2026-02", "changes": 0, "waited": 0, "totalSeconds": 0},
        ],
    }


@pytest.mark.parametrize(
    ("paths", "waited"),
    [
        (("apps",), ["Saturday"]),
        (("apps/", "README"), ["Saturday", "Text"]),
        (("*.yaml",), ["Friday", "Saturday"]),
        (("app",), []),
    ],
)
def test_paths(simulate: Simulate, paths: tuple[str, ...], waited: list[str]) -> None:
    """A directory, a file, or a glob; a beginning of a name is none of these."""
    given = [word for path in paths for word in ("--paths", path)]
    found = json.loads(simulate("-o", "json", *given))
    assert [wait["subject"] for wait in found["waits"]] == waited


def test_a_directory_of_the_repository(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what changes something in it counts, and paths begin there."""
    place = str(past.top / "apps")
    argv = ["simulate", "policy.yaml", "--repo", place, *DAYS, "-o", "json", "--paths", "a.yaml"]
    assert main(argv) == 0
    found = json.loads(capsys.readouterr().out)
    assert [wait["subject"] for wait in found["waits"]] == ["Saturday"]


def test_two_policies(simulate: Simulate) -> None:
    """Side by side; where both have one name, by their files."""
    both = ("policy.yaml", "later.yaml")
    records = json.loads(simulate("-o", "json", policies=both))
    assert [record["waited"] for record in records] == [3, 2]
    page = simulate(policies=both)
    assert "waited                  3 (75 %)          2 (50 %)" in page
    assert "policy.yaml       later.yaml" in page


def test_what_never_comes_in(simulate: Simulate) -> None:
    """A policy that is closed for good, and one whose first window is far away."""
    Path("policy.yaml").write_text(spec(state="Closed"))
    found = json.loads(simulate("-o", "json"))
    assert (found["waited"], found["withoutOpening"], found["pending"]) == (4, 4, 4)
    assert found["waitSeconds"]["median"] is None
    first = "{first: {opens: '2026-06-01T08:00', closes: '2026-06-01T17:00'}}"
    Path("policy.yaml").write_text(spec(windows=first))
    found = json.loads(simulate("-o", "json"))
    assert (found["waited"], found["withoutOpening"], found["pending"]) == (4, 0, 4)
    assert {wait["opens"] for wait in found["waits"]} == {"2026-06-01T08:00:00+02:00"}


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("policies", [("policy.yaml",), ("policy.yaml", "later.yaml")])
def test_no_line_is_wider_than_the_terminal(
    simulate: Simulate,
    past: Past,
    columns: int,
    policies: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever subjects say."""
    past.commit(
        "2026-01-24T12:00Z", {"a": "1"}, "A subject that says much more than it has to " * 3
    )
    monkeypatch.setattr("krm_windows.cli.output.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = simulate(policies=policies).splitlines()
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "1969-12-31"], "1970"),
        (["--since", "9999y"], "1970"),
        (["--from", "yesterday"], "must be"),
        (["--from", "2026-03-01", "--until", "2026-02-01"], "must be before"),
        (["--ref", "nowhere"], "is not a commit"),
        (["--cluster", "north"], "north"),
    ],
)
def test_what_is_asked_wrongly(
    past: Past, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said in a line."""
    # A text that no option takes is a wrong call; the rest is found when it is looked for.
    code = 2 if arguments[1] in ("1969-12-31", "yesterday") else 1
    assert main(["simulate", "policy.yaml", "--repo", str(past.top), *arguments]) == code
    assert words in capsys.readouterr().err


def test_a_shallow_clone(
    past: Past, tool: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """What is missing of the period is said."""
    elsewhere = Past(tool("git"), Path("elsewhere").absolute())
    elsewhere("clone", "--quiet", "--depth=2", past.top.as_uri(), "shallow")
    call = ["simulate", "policy.yaml", "--repo", "elsewhere/shallow", *DAYS, "-o", "json"]
    assert main(call) == 0
    shown = capsys.readouterr()
    assert "the clone is shallow" in shown.err
    # Of what was before nobody knows how many changes there were.
    found = json.loads(shown.out)
    assert found["changes"] == 2
    assert found["from"] == "2026-01-10T13:00:00+01:00"


def test_paths_that_nothing_changed(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    """A line says it, as they may be mistyped; `./apps` is what a shell makes of it."""
    argv = ["simulate", "policy.yaml", "--repo", str(past.top), *DAYS, "-o", "json", "--paths"]
    assert main([*argv, "appps"]) == 0
    assert "no commit in this period changes such a path" in capsys.readouterr().err
    assert main([*argv, "./apps"]) == 0
    printed = capsys.readouterr()
    assert (json.loads(printed.out)["changes"], printed.err) == (2, "")


@pytest.mark.parametrize(
    ("repository", "words"),
    [
        ("policy.yaml", "is not a directory"),
        ("repository/README", "is not a directory"),
        ("repository/.git", "is a .git directory"),
        ("repository/.git/refs", "is a .git directory"),
        ("bare.git", "not a git repository"),
        ("nowhere", "no such directory"),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "history"])
def test_what_is_no_clone(
    past: Past, command: str, repository: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Is said to be none: without a commit, everything would seem to have been at once."""
    past("clone", "--quiet", "--bare", str(past.top), str(past.top.parent / "bare.git"))
    assert main([command, "policy.yaml", "--repo", repository]) == 1
    assert words in capsys.readouterr().err
