"""`krm-windows simulate`, as a user calls it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import Run, spec
from past import Past

DAYS = ("--from", "2026-01-05", "--until", "2026-02-02")
LATER = spec(windows="{office: {opens: Mon 08:00, closes: Fri 17:00}}")


@pytest.fixture
def past(run: Run, tmp_path: Path, tool: Callable[[str], Path]) -> Past:
    assert run
    Path("later.yaml").write_text(LATER)
    made = Past(tool("git"), tmp_path / "repository")
    made.commit("2026-01-04T12:00Z", {"apps/a.yaml": "0"})
    made.commit("2026-01-06T12:00Z", {"apps/a.yaml": "1"}, "Open")
    made.commit("2026-01-09T12:00Z", {"infra/c.yaml": "1"}, "Friday")
    made.commit("2026-01-10T12:00Z", {"apps/a.yaml": "2"}, "Saturday")
    made.commit("2026-01-23T16:30Z", {"README": "text"}, "Text")
    return made


Simulate = Callable[..., str]


@pytest.fixture
def simulate(past: Past, run: Run) -> Simulate:
    assert past

    def called(*arguments: str, policies: tuple[str, ...] = ("policy.yaml",)) -> str:
        ended = run("simulate", *policies, "--repo", "repository", *DAYS, *arguments)
        assert ended.code == 0, ended.err
        return ended.out

    return called


def test_json_has_every_figure(simulate: Simulate) -> None:
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
    ("options", "waited"),
    [
        ("--paths apps/ --paths README", ["Saturday", "Text"]),
        # `./apps` is what a shell makes of it.
        ("--paths ./apps", ["Saturday"]),
        ("--paths *.yaml", ["Friday", "Saturday"]),
        # A beginning of a name is neither a directory nor a glob.
        ("--paths app", []),
        # Of a directory in the repository, where paths begin.
        ("--repo repository/apps --paths a.yaml", ["Saturday"]),
    ],
)
@pytest.mark.usefixtures("past")
def test_paths(run: Run, options: str, waited: list[str]) -> None:
    repo = () if "--repo" in options else ("--repo", "repository")
    code, out, err = run("simulate", "policy.yaml", *repo, *DAYS, "-o", "json", *options.split())
    assert (code, [wait["subject"] for wait in json.loads(out)["waits"]]) == (0, waited)
    assert ("no commit in this period changes such a path" in err) is (not waited)


def test_two_policies(simulate: Simulate) -> None:
    both = ("policy.yaml", "later.yaml")
    records = json.loads(simulate("-o", "json", policies=both))
    assert [record["waited"] for record in records] == [3, 2]
    page = simulate(policies=both)
    assert "waited                  3 (75 %)          2 (50 %)" in page
    assert "policy.yaml       later.yaml" in page


def test_what_never_comes_in(simulate: Simulate) -> None:
    Path("policy.yaml").write_text(spec(state="Closed"))
    found = json.loads(simulate("-o", "json"))
    assert (found["waited"], found["withoutOpening"], found["pending"]) == (4, 4, 4)
    assert found["waitSeconds"]["median"] is None
    first = "{first: {opens: '2026-06-01T08:00', closes: '2026-06-01T17:00'}}"
    Path("policy.yaml").write_text(spec(windows=first))
    found = json.loads(simulate("-o", "json"))
    assert (found["waited"], found["withoutOpening"], found["pending"]) == (4, 0, 4)
    assert {wait["opens"] for wait in found["waits"]} == {"2026-06-01T08:00:00+02:00"}


def test_no_line_is_wider_than_the_terminal(
    simulate: Simulate, past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    past.commit("2026-01-24T12:00Z", {"a": "1"}, "A subject that says much more than it has " * 3)
    monkeypatch.setattr("krm_windows.cli.output.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    for policies in (("policy.yaml",), ("policy.yaml", "later.yaml")):
        assert max(map(len, simulate(policies=policies).splitlines())) <= 60


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--since 9999y", "1970"),
        ("--from 2026-03-01 --until 2026-02-01", "must be before"),
        ("--ref nowhere", "is not a commit"),
        ("--cluster north", "north"),
        ("--repo policy.yaml", "is not a directory"),
        ("--repo repository/.git/refs", "is a .git directory"),
        ("--repo bare.git", "not a git repository"),
        ("--repo nowhere", "no such directory"),
    ],
)
def test_what_is_asked_wrongly(past: Past, run: Run, options: str, words: str) -> None:
    """Without a commit, everything would seem to have been at once."""
    past("clone", "--quiet", "--bare", str(past.top), str(past.top.parent / "bare.git"))
    repo = () if "--repo" in options else ("--repo", "repository")
    ended = run("simulate", "policy.yaml", *repo, *options.split())
    assert ended.code == 1
    assert words in ended.err


def test_a_shallow_clone(past: Past, run: Run) -> None:
    past("clone", "--quiet", "--depth=2", past.top.as_uri(), str(past.top.parent / "shallow"))
    code, out, err = run("simulate", "policy.yaml", "--repo", "shallow", *DAYS, "-o", "json")
    assert (code, "the clone is shallow" in err) == (0, True)
    found = json.loads(out)
    assert (found["changes"], found["from"]) == (2, "2026-01-10T13:00:00+01:00")
