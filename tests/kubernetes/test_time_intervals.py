"""The extra `AlertmanagerTimeIntervals`: amtool takes it, and `verify` looks at it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from calls import APPS, POLICY, call, spec, wire

from krm_windows.cli import main

EXTRA = "  extras: [AlertmanagerTimeIntervals]\n"
HOLIDAYS = {
    f"h{year}-{month}": {
        "starts": f"{year}-{month:02}-24",
        "ends": f"{year}-{month:02}-26",
        "reason": "Holidays",
    }
    for year in range(2026, 2036)
    for month in (1, 4, 5, 10, 12)
}
POLICIES = {
    "a week": POLICY,
    "nights": spec(windows="{n: {opens: Mon-Fri 22:00, closes: '04:00'}}"),
    "a last day": spec(windows="{n: {opens: last day 18:00, duration: 8h}}"),
    "a last workday": spec(windows="{n: {opens: last workday 22:00, closes: '04:00'}}"),
    "a last Friday": spec(windows="{n: {opens: last Fri 08:00, closes: '18:00'}}"),
    "days of months": spec(windows="{n: {opens: '0 8 1,15 2,7 *', duration: 30h}}"),
    "holidays of ten years": spec(freezes=json.dumps(HOLIDAYS)),
    "an override": spec(overrides="{cve: {state: Open, ends: '2027-02-01', reason: r}}"),
    "always": spec(state="Open"),
    "never": spec(state="Closed"),
    "a fifth Sunday": spec(windows="{fifth: {opens: 5th Sun 20:00, duration: 12h}}"),
}


def config_map(policy: str) -> dict[str, str]:
    items = call(wire(APPS, config=policy + EXTRA)).items
    [found] = (item for item in items if item["metadata"]["name"] == "week-time-intervals")
    assert found["kind"] == "ConfigMap"
    return found["data"]


def configuration(intervals: list[dict[str, object]]) -> str:
    muted = {"receiver": "none", "mute_time_intervals": [each["name"] for each in intervals]}
    route = {"receiver": "none", "routes": [muted]}
    whole = {"route": route, "receivers": [{"name": "none"}], "time_intervals": intervals}
    return yaml.dump(whole, Dumper=yaml.CSafeDumper)


@pytest.mark.slow
def test_amtool_takes_them(tool: Callable[[str], Path], tmp_path: Path) -> None:
    for name, policy in POLICIES.items():
        data = config_map(policy)
        intervals = yaml.load(data["time-intervals.yaml"], yaml.CSafeLoader)["time_intervals"]
        names = ["flux-system/week/open", "flux-system/week/closed"]
        assert [each["name"] for each in intervals] == names, name
        (tmp_path / f"{name}.yaml").write_text(configuration(intervals))
        timings = yaml.load(data["mute-timings.yaml"], yaml.CSafeLoader)
        muted = [{"orgId": 1, **each} for each in intervals]
        assert timings == {"apiVersion": 1, "muteTimes": muted}, name
    done = subprocess.run(
        [tool("amtool"), "check-config", *tmp_path.iterdir()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_cluster_has_its_own() -> None:
    """By its patch, and under its name: one Alertmanager hears of all of them."""
    policy = spec(clusters="{north: {windows: {office: {opens: Tue 08:00}}}}", buildFor="north")
    found = yaml.load(config_map(policy)["time-intervals.yaml"], yaml.CSafeLoader)["time_intervals"]
    assert [each["name"] for each in found] == [
        "flux-system/week/north/open",
        "flux-system/week/north/closed",
    ]
    assert found[0]["time_intervals"][0] == {
        "times": [{"start_time": "08:00", "end_time": "24:00"}],
        "weekdays": ["tuesday"],
        "location": "Europe/Berlin",
    }


def test_it_is_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY + EXTRA)
    answer = call(wire(APPS, config=POLICY + EXTRA))
    items = [
        yaml.load(yaml.dump(item, Dumper=yaml.CSafeDumper), yaml.CSafeLoader)
        for item in answer.items
    ]
    for change, code in ((None, 0), ("time-intervals.yaml", 1)):
        for item in items:
            if change and item["metadata"]["name"] == "week-time-intervals":
                item["data"][change] = "time_intervals: []\n"
        stream = tmp_path / "stream.yaml"
        stream.write_text(yaml.dump_all(items, Dumper=yaml.CSafeDumper))
        assert main(["verify", str(stream), "--policy", str(tmp_path / "policy.yaml")]) == code, (
            capsys.readouterr()
        )
