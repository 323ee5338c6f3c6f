"""`krm-windows calendar` and `state`, as a user calls them."""

import json
import re
import subprocess
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import yaml
from calls import POLICY, spec

from krm_windows.cli import inputs, main
from krm_windows.preview import text
from krm_windows.preview.calendar import Period, calendars
from krm_windows.preview.versions import Choice, Source

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def policy(tmp_path: Path) -> str:
    """The file of a policy that is open from Monday to Thursday."""
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    return str(file)


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    """The file of a policy for three clusters, one of which has other hours."""
    file = tmp_path / "fleet.yaml"
    clusters = {
        "north": {"interval": "30m"},
        "south": {"interval": "10m"},
        "east": {"windows": {"office": {"opens": "Tue 08:00"}}},
    }
    file.write_text(spec(clusters=yaml.safe_dump(clusters, sort_keys=False)))
    return str(file)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What a command that ends with `code` prints."""
    assert main(arguments) == code
    return capsys.readouterr().out


def test_one_policy_is_one_object(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """For one policy and cluster, JSON is an object."""
    page = json.loads(printed(capsys, "calendar", policy, "--from", "2026-12-14", "-o", "json"))
    assert list(page) == [
        "policy",
        "cluster",
        "timeZone",
        "zoneRelease",
        "from",
        "until",
        "intervals",
        "exceptions",
    ]
    assert (page["policy"], page["cluster"], page["timeZone"]) == (
        "flux-system/week",
        None,
        "Europe/Berlin",
    )
    assert page["intervals"] == [
        {
            "opens": "2026-12-14T08:00:00+01:00",
            "closes": "2026-12-17T17:00:00+01:00",
            "rules": ["windows.office"],
        }
    ]


def test_several_are_a_list(policy: str, fleet: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All clusters of a policy, or several policies, are a list."""
    call = ("--from", "2026-12-14", "-o", "json", "--all-clusters")
    assert [
        one["cluster"] for one in json.loads(printed(capsys, "calendar", policy, fleet, *call))
    ] == [
        None,
        "north",
        "south",
        "east",
    ]
    assert isinstance(json.loads(printed(capsys, "calendar", policy, *call)), list)


def test_a_cluster_is_chosen(fleet: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--cluster` shows the policy as patched for it; an unknown one is an error."""
    call = ("calendar", fleet, "--from", "2026-12-14", "-o", "json", "--cluster")
    assert (
        json.loads(printed(capsys, *call, "east"))["intervals"][0]["opens"]
        == "2026-12-15T08:00:00+01:00"
    )
    assert printed(capsys, *call, "west", code=1) == ""


def test_a_time_without_an_offset_is_in_the_zone_of_the_policy(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the zone of this machine is; `state` reads one alike."""
    local = printed(capsys, "calendar", policy, "--from", "2026-12-14T10:30")
    assert local == printed(capsys, "calendar", policy, "--from", "2026-12-14T10:30+01:00")
    assert local != printed(capsys, "calendar", policy, "--from", "2026-12-14T10:30Z")
    summer = printed(capsys, "state", policy, "--at", "2026-07-01T10:30")
    assert summer == printed(capsys, "state", policy, "--at", "2026-07-01T10:30+02:00")


def test_text_shows_clusters_that_are_alike_once(
    fleet: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fleet is read by its differences."""
    page = printed(capsys, "calendar", fleet, "--from", "2026-12-14", "--all-clusters")
    heads = [line for line in page.splitlines() if line.startswith("flux-system/week")]
    assert heads == [
        "flux-system/week on north, south, Europe/Berlin, 2026-12-14 to 2026-12-20",
        "flux-system/week on east, Europe/Berlin, 2026-12-14 to 2026-12-20",
    ]
    assert "\x1b" not in page


def test_state_answers_in_json(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All that is known of an instant."""
    assert json.loads(
        printed(capsys, "state", policy, "--at", "2026-12-15T12:00Z", "-o", "json")
    ) == {
        "open": True,
        "rule": "windows.office",
        "reason": "windows.office",
        "since": "2026-12-14T08:00:00+01:00",
        "until": "2026-12-17T17:00:00+01:00",
        "inGit": None,
        "rendered": [],
        "inCluster": None,
    }


def test_state_answers_with_its_exit_code(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A script asks with `--exit-code`; without it, closed is no failure."""
    call = ("state", policy, "--at", "2026-12-18T12:00Z")
    assert "should be closed: no window is open" in printed(capsys, *call)
    assert "since Thu 2026-12-17 17:00, until Mon 2026-12-21 08:00" in printed(
        capsys, *call, "--exit-code", code=10
    )
    assert printed(capsys, "state", policy, "--at", "2026-12-15T12:00Z", "--exit-code")


@pytest.mark.parametrize("width", [60, 80, 101, 200])
@pytest.mark.parametrize("name", ["no-deploy-friday", "every-ten-minutes", "maintenance-mode"])
@pytest.mark.parametrize("day", [2, 6])
def test_text_fits_the_terminal(name: str, width: int, day: int) -> None:
    """The weeks, their scale and the table; a folded line may go on in the next one."""
    config = inputs.policy(str(EXAMPLES / name / f"{name}.yaml"))
    versions, _ = Source(config).versions(Choice())
    period = Period(date(2026, 12, 14), 28)
    every = calendars([version.timetable for version in versions], period)
    now = datetime(2026, 12, 14 + day, 12, 30, tzinfo=UTC)
    lines = text.render(every, width, now).splitlines()
    assert all(len(line) <= max(width, 100) for line in lines)
    weeks = [line for line in lines if re.match(r"\d{4}-|  +(Mon|0) ", line)]
    assert all(len(line) <= width for line in weeks)
    # The mark points into the cell of now, in the week of now.
    at = next(number for number, line in enumerate(lines) if line.endswith(("^ now", "now ^")))
    assert len(lines[at]) <= width
    assert lines[at - 1].startswith("2026-12-14")
    scale = next(line for line in lines if line.lstrip().startswith("0 "))
    begins = [found.start() for found in re.finditer(r"(?<= )0(?= )", scale)][day]
    assert begins < lines[at].index("^") < begins + 13


def test_a_week_of_every_ten_minutes_is_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the calendar and in a difference."""
    policy = str(EXAMPLES / "every-ten-minutes/every-ten-minutes.yaml")
    page = printed(capsys, "calendar", policy, "--from", "2026-12-14")
    assert page.endswith("windows.first-half, every 10 m, 1,008 times\n")
    assert len(page.splitlines()) == 10
    closed = tmp_path / "closed.yaml"
    closed.write_text(Path(policy).read_text().replace("spec:\n", "spec:\n  state: Closed\n"))
    page = printed(capsys, "diff", policy, str(closed), "--from", "2026-12-14", "--days", "7")
    assert "every 10 m, 1,008 times" in page
    assert len(page.splitlines()) == 3


def test_a_picture_is_as_wide_as_is_asked_for(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of SVG alone: a page is as wide as its window, and a text as its terminal."""
    days = ("--from", "2026-12-14")
    assert '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 ' in printed(
        capsys, "calendar", policy, *days, "-o", "svg", "--width", "400"
    )
    assert main(["calendar", policy, *days, "--width", "400"]) == 2
    assert "--width needs `-o svg`" in capsys.readouterr().err


def test_columns_stay_aligned_where_something_is_wider(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A length of weeks, and an instant of an hour that is repeated, which has its offset."""
    long = '{opens: "1st Mon 08:00", closes: "3rd Fri 17:30"}'
    (tmp_path / "wide.yaml").write_text(
        spec(windows=f'{{long: {long}, repeated: {{opens: "Sun 01:30", closes: "02:10"}}}}')
    )
    days = ("--from", "2026-10-01", "--days", "30")
    page = printed(capsys, "calendar", str(tmp_path / "wide.yaml"), *days)
    head, *rows = page[page.index("opens  ") :].splitlines()
    at = head.index("by")
    assert {row[at - 2 : at] for row in rows} == {"  "}
    assert {row[at:].partition(".")[0] for row in rows} == {"windows"}
    assert any("+02:00" in row or "+01:00" in row for row in rows)
    assert any("11 d 9 h 30 m" in row for row in rows)


@pytest.mark.parametrize("committed", [None, False, True])
def test_state_says_from_where_it_is_known(
    policy: str, capsys: pytest.CaptureFixture[str], *, committed: bool | None
) -> None:
    """A file, or Git if that has the file as it is; and never the cluster, which was not asked."""
    folder = Path(policy).parent
    if committed is not None:
        subprocess.run(["git", "init", "--quiet", folder], check=True)
    if committed:
        name = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", "-C", folder, "add", "."], check=True)
        subprocess.run(["git", "-C", folder, *name, "commit", "-qm", "Begin"], check=True)
    said = printed(capsys, "state", policy, "--at", "2026-12-15T12:00Z").splitlines()
    stage = (
        "in Git" if committed else f"in {policy}" + ("" if committed is None else ", not committed")
    )
    assert said[0] == f"{stage}: flux-system/week should be open: windows.office"
    assert said[-1] == "in the cluster: not asked (krm-windows status asks it)"
    found = json.loads(printed(capsys, "state", policy, "-o", "json"))
    assert (found["inGit"], found["inCluster"]) == (committed, None)


@pytest.mark.parametrize(("name", "width"), [("calendar", "960"), ("calendar-narrow", "400")])
def test_the_pictures_of_the_readme_are_what_is_drawn(
    name: str, width: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first thing that a reader sees is what the program does today."""
    policy = str(EXAMPLES / "no-deploy-friday/no-deploy-friday.yaml")
    call = ("calendar", policy, "--from", "2026-12-07", "--days", "35", "-o", "svg")
    kept = EXAMPLES.parent / "docs/assets" / f"{name}.svg"
    assert printed(capsys, *call, "--width", width) == kept.read_text()
