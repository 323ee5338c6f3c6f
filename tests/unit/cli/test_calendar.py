"""`krm-windows calendar` and `state`, as a user calls them."""

import json
import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import yaml
from calls import POLICY, spec
from committed import put_under_git

from krm_windows.cli import inputs, main, times
from krm_windows.preview import text
from krm_windows.preview.calendar import Period, calendars
from krm_windows.preview.versions import Choice, PolicySource
from krm_windows.schedule import zones

EXAMPLES = Path(__file__).parents[3] / "examples"

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def policy(tmp_path: Path) -> str:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    return str(file)


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    file = tmp_path / "fleet.yaml"
    clusters = {
        "north": {"interval": "30m"},
        "south": {"interval": "10m"},
        "east": {"windows": {"office": {"opens": "Tue 08:00"}}},
    }
    file.write_text(spec(clusters=yaml.safe_dump(clusters, sort_keys=False)))
    return str(file)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "first"),
    [("Monday", "30"), ("sun", "06"), ("tomorrow", "01"), ("noday", None)],
)
def test_from_a_day_in_words(
    words: str, first: str | None, policy: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """On the policy's clock: in Berlin it is Monday already, and that is today."""
    monkeypatch.setattr(times, "now", lambda: datetime.fromisoformat("2026-11-29T23:30Z"))
    shown = printed(capsys, "calendar", policy, "--from", words, code=0 if first else 2)
    assert shown.partition(", 2026-")[2][3:5] == (first or "")


def test_one_policy_is_one_object(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = json.loads(printed(capsys, "calendar", policy, "--from", "2026-12-14", "-o", "json"))
    assert page.pop("zoneRelease") == zones.release()
    assert page == {
        "policy": "flux-system/week",
        "cluster": None,
        "timeZone": "Europe/Berlin",
        "from": "2026-12-14T00:00:00+01:00",
        "until": "2026-12-21T00:00:00+01:00",
        "intervals": [
            {
                "opens": "2026-12-14T08:00:00+01:00",
                "closes": "2026-12-17T17:00:00+01:00",
                "rules": ["windows.office"],
            }
        ],
        "exceptions": [],
    }


def test_clusters_are_chosen(policy: str, fleet: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = ("--from", "2026-12-14", "-o", "json")
    every = json.loads(printed(capsys, "calendar", policy, fleet, *call, "--all-clusters"))
    assert [one["cluster"] for one in every] == [None, "north", "south", "east"]
    one = json.loads(printed(capsys, "calendar", policy, *call, "--all-clusters"))
    assert isinstance(one, list)
    east = json.loads(printed(capsys, "calendar", fleet, *call, "--cluster", "east"))
    assert east["intervals"][0]["opens"] == "2026-12-15T08:00:00+01:00"
    assert printed(capsys, "calendar", fleet, *call, "--cluster", "west", code=1) == ""


def test_a_time_without_an_offset_is_in_the_zone_of_the_policy(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    local = printed(capsys, "calendar", policy, "--from", "2026-12-14T10:30")
    assert local == printed(capsys, "calendar", policy, "--from", "2026-12-14T10:30+01:00")
    assert local != printed(capsys, "calendar", policy, "--from", "2026-12-14T10:30Z")
    summer = printed(capsys, "state", policy, "--at", "2026-07-01T10:30")
    assert summer == printed(capsys, "state", policy, "--at", "2026-07-01T10:30+02:00")


def test_a_freeze_says_from_when_to_when_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    name = str(EXAMPLES / "no-deploy-friday/no-deploy-friday.yaml")
    page = printed(capsys, "calendar", name, "--from", "2026-12-14", "--days", "28")
    freeze = (
        "\nfreeze Sun 2026-12-20 00:00 to Mon 2027-01-04 00:00 (15 d), by freezes.christmas: Year"
    )
    assert freeze in page
    assert page.count("freeze ") == 2  # and in the legend


def test_state_answers(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = ("state", policy, "--at", "2026-12-15T12:00Z", "--exit-code", "-o", "json")
    assert json.loads(printed(capsys, *call)) == {
        "open": True,
        "rule": "windows.office",
        "reason": "windows.office",
        "since": "2026-12-14T08:00:00+01:00",
        "until": "2026-12-17T17:00:00+01:00",
        "inGit": None,
        "rendered": [],
        "inCluster": None,
    }
    call = ("state", policy, "--at", "2026-12-18T12:00Z")
    said = printed(capsys, *call)
    assert "should be closed: no window is open" in said
    assert "since Thu 2026-12-17 17:00, until Mon 2026-12-21 08:00" in said
    assert printed(capsys, *call, "--exit-code", code=10) == said


@pytest.mark.parametrize("width", [60, 101])
@pytest.mark.parametrize("name", ["every-ten-minutes", "maintenance-mode"])
@pytest.mark.parametrize("day", [2, 6])
def test_text_fits_the_terminal(name: str, width: int, day: int) -> None:
    config = inputs.policy(str(EXAMPLES / name / f"{name}.yaml"))
    versions, _ = PolicySource(config).versions(Choice())
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


@pytest.mark.parametrize("committed", [None, False, True])
def test_state_says_from_where_it_is_known(
    policy: str, capsys: pytest.CaptureFixture[str], *, committed: bool | None
) -> None:
    if committed is not None:
        put_under_git(Path(policy).parent, Path("git"))
    if committed is False:
        Path(policy).write_text(f"# changed\n{POLICY}")
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
    policy = str(EXAMPLES / "no-deploy-friday/no-deploy-friday.yaml")
    call = ("calendar", policy, "--from", "2026-12-07", "--days", "35", "-o", "svg")
    kept = EXAMPLES.parent / "docs/assets" / f"{name}.svg"
    assert printed(capsys, *call, "--width", width) == kept.read_text()
