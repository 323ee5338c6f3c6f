"""Now and today on twelve clusters in twelve time zones, by the terminal."""

import json
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml
from effort import mostly_slow
from twelve_zones import INSTANTS, POLICY, ZONES, local

from krm_windows.cli import inputs, times
from krm_windows.cli.main import main
from krm_windows.edit import overrides
from krm_windows.gate.timetable import Decision
from krm_windows.krm import InputError
from krm_windows.preview.versions import Choice, PolicySource
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.zones import zone as zone_of

MINUTE = timedelta(minutes=1)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "week.yaml"
    file.write_text(POLICY)
    return file


@pytest.fixture(params=mostly_slow(INSTANTS, 9), ids=lambda at: at.isoformat(timespec="minutes"))
def now(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> datetime:
    monkeypatch.setattr(times, "now", lambda: request.param)
    at: datetime = request.param
    return at


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:  # noqa: ANN401
    capsys.readouterr()
    main([*map(str, arguments), "-o", "json"])
    return json.loads(capsys.readouterr().out)


def made(policy: Path, *arguments: str, cluster: str | None = None) -> tuple[datetime, datetime]:
    options = ["--reason", "r", "--name", "o"]
    if cluster is not None:
        options += ["--cluster", cluster]
    assert main(["override", str(policy), *arguments, *options]) == 0
    spec = yaml.load(policy.read_text(), yaml.BaseLoader)["spec"]  # noqa: S506 - texts alone
    place = spec["clusters"][cluster] if cluster is not None else spec
    entry = place["overrides"]["o"]
    begins, ends = datetime.fromisoformat(entry["starts"]), datetime.fromisoformat(entry["ends"])
    assert begins.tzinfo is not None
    assert ends.tzinfo is not None
    return begins, ends


def decided(policy: Path, at: datetime) -> dict[str | None, Decision]:
    versions, _ = PolicySource(inputs.policy(str(policy))).versions(Choice(every=True))
    return {each.timetable.cluster: decide(each.timetable, at) for each in versions}


@pytest.mark.parametrize("state", mostly_slow(["closed", "open"], 2))
@pytest.mark.parametrize(
    "end",
    mostly_slow(
        [
            ("--until", "18:00"),
            ("--until", "24:00"),
            ("--until", "2098-12-24T20:00"),
            ("--for", "2h"),
        ],
        every=4,
    ),
)
def test_all_clusters_open_and_close_at_once_and_end_at_one_instant(
    state: str, end: tuple[str, str], policy: Path, now: datetime
) -> None:
    begins, ends = made(policy, state, *end)
    assert begins == now.replace(second=0)
    for at in (now, ends - MINUTE):
        for cluster, decision in decided(policy, at).items():
            assert decision.open is (state == "open"), (cluster, at)
            assert decision.rules == ("overrides.o",)
    assert all(each.rules != ("overrides.o",) for each in decided(policy, ends).values())


@pytest.mark.parametrize("zone", mostly_slow(ZONES.values(), 4))
def test_a_time_of_day_is_the_next_one_that_the_clocks_show(zone: str) -> None:
    # Berlin shows this one 02:30 once more.
    twice = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    for now, clock in product([*INSTANTS, twice], ["18:00", "02:30", "00:00"]):
        begins = now.replace(second=0)
        hour, minute = map(int, clock.split(":"))
        at = begins
        shown = (-1, -1)
        while shown != (hour, minute):
            at += MINUTE
            was, here = ((at - MINUTE).astimezone(ZoneInfo(zone)), at.astimezone(ZoneInfo(zone)))
            shown = here.hour, here.minute
            # Clocks that go forward show a later time where it would be.
            if was.date() == here.date() and (was.hour, was.minute) < (hour, minute) < shown:
                with pytest.raises(InputError, match="skip"):
                    overrides.moment(clock, begins, zone_of(zone))
                break
        else:
            assert overrides.moment(clock, begins, zone_of(zone)) == at, (now, clock)


def test_zones_that_all_clusters_share_are_theirs(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    head = POLICY.partition("  clusters:\n")[0]
    zone = "{timeZone: America/Chicago}"
    file.write_text(f"{head}  clusters:\n    a: {zone}\n    b: {zone}\n")
    _, ends = made(file, "open", "--until", "2098-12-24T20:00")
    assert ends == datetime(2098, 12, 24, 20, tzinfo=ZoneInfo("America/Chicago"))


def test_an_override_is_over_when_it_is_over_everywhere(
    policy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written without an offset, it ends in Pago Pago 25 hours after Kiritimati."""
    times_of_day = "starts: 2026-11-25T08:00, ends: 2026-11-25T18:00"
    policy.write_text(
        f"{POLICY}  overrides:\n    wall: {{state: Closed, {times_of_day}, reason: r}}\n"
    )
    first = datetime(2026, 11, 25, 8, tzinfo=ZoneInfo(ZONES["kiritimati"]))
    last = datetime(2026, 11, 25, 18, tzinfo=ZoneInfo(ZONES["pago-pago"]))
    for at, phase in [
        (first - MINUTE, "coming"),
        (first, "active"),
        (last - MINUTE, "active"),
        (last, "over"),
    ]:
        monkeypatch.setattr(times, "now", lambda at=at: at.astimezone(UTC))
        [listed] = said(capsys, "override", policy, "--list")
        assert listed["phase"] == phase, at
        assert listed["begins"] == first.astimezone(UTC).isoformat()
        assert listed["ends"] == last.astimezone(UTC).isoformat()


def test_calendars_and_differences_begin_with_each_clusters_own_day(
    policy: Path, capsys: pytest.CaptureFixture[str], now: datetime
) -> None:
    every = said(capsys, "calendar", policy, "--all-clusters", "--days", "2")
    every += said(capsys, "diff", policy, policy, "--days", "2")
    for calendar in every:
        day = local(now, calendar["cluster"]).date()
        assert calendar["timeZone"] == ZONES[calendar["cluster"]]
        assert calendar["from"].startswith(f"{day}T0")
        assert calendar["until"].startswith(f"{day + timedelta(days=2)}T0")


@pytest.mark.parametrize("command", ["state", "calendar", "explain"])
def test_what_is_shown_without_a_cluster_says_so(
    command: str, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Berlin's has a patch without a change; the other eleven have clocks of their own."""
    note = f"krm-windows: {policy}: shown as it is without a cluster; "
    assert main([command, str(policy)]) == 0
    assert (
        f"{note}pago-pago, st-johns, kiritimati and 8 more may differ (--cluster NAME)\n"
        in capsys.readouterr().err
    )
    assert main([command, str(policy), "--cluster", "tokyo"]) == 0
    policy.write_text(POLICY.partition("  clusters:")[0])
    assert main([command, str(policy)]) == 0
    assert "without a cluster" not in capsys.readouterr().err
