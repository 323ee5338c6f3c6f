"""The image's own zone data is compared with the timetable's, and decides nothing."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import zoned

import krm_windows.gate
from krm_windows.gate import image
from krm_windows.gate.zones import Zone
from krm_windows.plan import zone_rules

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
BERLIN = zone_rules.make("Europe/Berlin")
SPRING = BERLIN.transitions[6]


def zone(*, key: str = "Europe/Berlin", spring: str = SPRING, rule: str = BERLIN.rule) -> Zone:
    """Give Berlin with another beginning of the summer of 2027."""
    transitions = tuple(spring if text == SPRING else text for text in BERLIN.transitions)
    return Zone(key, BERLIN._replace(release="2099z", transitions=transitions, rule=rule))


@pytest.mark.parametrize(
    ("spring", "want"),
    [
        ("2027-03-28T01:00Z +02:00 CEST", None),
        ("2027-03-28T00:00Z +02:00 CEST", datetime(2027, 3, 28, tzinfo=UTC)),
        ("2027-03-28T02:00Z +02:00 CEST", datetime(2027, 3, 28, 1, tzinfo=UTC)),
        ("2027-04-04T01:00Z +02:00 CEST", datetime(2027, 3, 28, 1, tzinfo=UTC)),
    ],
)
def test_the_first_difference_of_the_coming_year(spring: str, want: datetime | None) -> None:
    """By an hour, or by a week."""
    found = image.difference(zone(spring=spring), NOON)
    assert (found and found.at) == want
    assert found is None or "2099z" in str(found)


@pytest.mark.parametrize(
    "spring", ["2027-03-28T02:00Z +02:00 CEST", "2027-04-04T01:00Z +02:00 CEST"]
)
def test_it_says_the_same_at_every_run(spring: str) -> None:
    """Before it, and while it lasts.

    Annotations and Events that change would be written at every run.
    """
    held = zone(spring=spring)
    until, since = datetime(2027, 3, 28, 1, tzinfo=UTC), timedelta(minutes=13)
    said = {str(image.difference(held, NOON + number * 419 * since)) for number in range(30)}
    assert said == {str(image.difference(held, NOON))}
    [lasting] = {str(image.difference(held, until + number * since)) for number in range(3)}
    assert "differs now from the timetable's (2099z), which is used" in lasting


def test_what_is_further_away_is_no_news() -> None:
    """Who asks in two years finds it then."""
    assert (
        image.difference(
            zone(spring="2027-04-04T01:00Z +02:00 CEST"), datetime(2024, 5, 1, tzinfo=UTC)
        )
        is None
    )
    assert image.difference(zone(rule="CET-1"), NOON) is None


def test_an_image_without_the_zone_is_no_difference() -> None:
    """Nothing is compared, and nothing breaks."""
    assert image.difference(zone(key="Mars/Olympus"), NOON) is None


def test_an_image_without_zone_data_is_no_difference() -> None:
    """Neither the module nor data are needed."""
    program = (
        "import sys; sys.modules['zoneinfo'] = None\n"
        f"sys.path.insert(0, {str(Path(krm_windows.gate.__file__).parents[2])!r})\n"
        "import json; from datetime import datetime, UTC\n"
        "from krm_windows.gate import image, zones\n"
        "rules = zones.ZoneRules('2026f', '+00:00 UTC', (), 'UTC0')\n"
        "print(json.dumps(image.difference(zones.Zone('Europe/Berlin', rules), "
        "datetime.now(UTC))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], check=True, capture_output=True, timeout=60
    )
    assert json.loads(done.stdout) is None


def test_the_release_of_the_image(tmp_path: Path) -> None:
    """As `zic` and distributions write it."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert image._release((str(tmp_path / "a"),)) == "unknown"
    (tmp_path / "b/tzdata.zi").write_text("# version 2025b\nR d 1916 o\n")
    assert image._release((str(tmp_path / "a"), str(tmp_path / "b"))) == "2025b"
    (tmp_path / "a/+VERSION").write_text("2024a\n")
    assert image._release((str(tmp_path / "a"), str(tmp_path / "b"))) == "2024a"


def test_the_timetable_decides() -> None:
    """Whatever the image says of the zone."""
    held = zoned.timetable(time_zone="Europe/Berlin")
    other = held._replace(
        zone_rules=BERLIN._replace(before="+05:00 ABC", transitions=(), rule="ABC-5")
    )
    assert other.zone.utcoffset(datetime(2026, 11, 22)) != held.zone.utcoffset(
        datetime(2026, 11, 22)
    )


def test_rules_that_change_within_a_minute() -> None:
    """The search ends, and finds the difference to the minute."""
    later = BERLIN.rule.replace("M3.5.0,", "M3.5.0/2:01:01,")
    held = Zone("Europe/Berlin", BERLIN._replace(transitions=(), before="+01:00 CET", rule=later))
    found = image.difference(held, NOON)
    assert found is not None
    assert str(found).startswith("the image's zone data")
    assert "differs from 2027-03-28T01:00Z on" in str(found)
