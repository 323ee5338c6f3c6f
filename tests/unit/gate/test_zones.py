"""A zone built from the rules in a timetable shows what `zoneinfo` shows, without any zone data."""

import pickle
import subprocess
import sys
from copy import deepcopy
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import zoned

import krm_windows.gate
from krm_windows.gate import zones as gate_zones
from krm_windows.gate.zones import Clock, Posix, Transition, Yearly, Zone, ZoneRules, zone
from krm_windows.plan import zone_rules
from krm_windows.schedule import zones

AROUND = [
    timedelta(seconds=seconds)
    for seconds in (-7201, -3600, -1801, -1, 0, 1, 1799, 1800, 3599, 3600, 7199, 7200)
]
LAST = zone_rules.LAST_YEAR
# Their Ramadans are listed up to 2086, which no POSIX time zone rule can say.
RAMADAN = {"Africa/Casablanca", "Africa/El_Aaiun", "Asia/Gaza", "Asia/Hebron"}


def shown(at: datetime, tz: tzinfo) -> tuple[object, ...]:
    """Give all that clocks show at a naive UTC moment.

    With how far that reading is from UTC either time.
    """
    local = at.replace(tzinfo=UTC).astimezone(tz)
    both = [local.replace(fold=fold) for fold in (0, 1)]
    offsets = [(reading.utcoffset(), reading.tzname()) for reading in both]
    return local.replace(tzinfo=None), local.fold, *offsets


@pytest.mark.slow
def test_every_zone_shows_what_zoneinfo_shows() -> None:
    """Beside every transition up to the last listed year.

    And two decades after it by the POSIX time zone rule.
    """
    for name in sorted(zones.names()):
        ours, theirs = zone_rules.zone_of(name), zones.zone(name)
        last = LAST if name in RAMADAN else LAST + 20
        moments = {
            datetime(year, month, 1) for year in range(2024, last + 1, 3) for month in (1, 7)
        }
        moments |= {each.at + around for each in ours.transitions(2024, last) for around in AROUND}
        moments |= {each.at + around for each in zones.data(name).transitions for around in AROUND}
        moments = {moment for moment in moments if 2024 <= moment.year <= last}
        wrong = [moment for moment in moments if shown(moment, ours) != shown(moment, theirs)]
        assert not wrong, (name, sorted(wrong)[:3])


@pytest.mark.parametrize(
    "text",
    [
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "IST-1GMT0,M10.5.0,M3.5.0/1",  # the winter is what is saved
        "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
        "EET-2EEST,M3.4.4/50,M10.4.4/50",
        "AAA3BBB,J60/2:30,J300",
        "AAA-5:30",
    ],
)
def test_each_form_of_a_rule(text: str, tmp_path: Path) -> None:
    """Days of the year in any form, leap years too, as `zoneinfo` reads them.

    From a file that has nothing else.
    """
    rules = zone_rules.make("UTC")._replace(rule=text, before=str(Posix.parse(text).standard))
    file = tmp_path / "zone"
    file.write_bytes(_file(text))
    with file.open("rb") as content:
        theirs = ZoneInfo.from_file(content)
    ours = Zone("Test/Zone", rules)
    hours = [
        datetime(year, 1, 1) + timedelta(minutes=30 * half)
        for year in (2040, 2041)
        for half in range(366 * 48)
    ]
    assert [at for at in hours if shown(at, ours) != shown(at, theirs)] == []


@pytest.mark.parametrize(
    ("day", "year", "want"),
    [
        (
            "0/0",
            2040,
            datetime(2040, 1, 1),
        ),  # `zoneinfo` of Python 3.11 takes this form for a day less
        ("59", 2040, datetime(2040, 2, 29, 2)),
        ("59", 2041, datetime(2041, 3, 1, 2)),
        ("J59", 2040, datetime(2040, 2, 28, 2)),
        ("J60/-1", 2040, datetime(2040, 2, 29, 23)),
        ("365/1:15:30", 2040, datetime(2040, 12, 31, 1, 15, 30)),
    ],
)
def test_days_by_number(day: str, year: int, want: datetime) -> None:
    """From 0 on with 29 February, or from 1 on without it, as POSIX says."""
    assert Yearly.parse(day).of(year) == want


def _file(rule: str) -> bytes:
    """Write a file of zone data whose only clock is of 1970, so that the rule is all (RFC 9636)."""
    head = b"TZif2" + bytes(15)
    counts = b"".join(number.to_bytes(4, "big") for number in (0, 0, 0, 0, 1, 4))
    body = bytes(6) + b"AAA\0"
    first = b"".join(number.to_bytes(4, "big") for number in (0, 0, 0, 1, 1, 4))
    listed = (0).to_bytes(8, "big") + bytes(1)
    return head + counts + body + head + first + listed + body + f"\n{rule}\n".encode()


@pytest.mark.parametrize(
    "text", ["", "CET", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,X3,M10.5.0", "1CET"]
)
def test_other_rules_are_refused(text: str) -> None:
    """No clock is made up."""
    with pytest.raises(ValueError, match=r"POSIX (time zone )?rule"):
        Posix.parse(text)


@pytest.mark.parametrize(
    "rules",
    [
        {"before": "CET"},
        {"before": "+01:00"},
        {"transitions": ("2024-03-31 +02:00 CEST",)},
        {"transitions": ("2024-03-31T01:00Z +2 CEST",)},
        {"transitions": ("2024-10-27T01:00Z +01:00 CET", "2024-03-31T01:00Z +02:00 CEST")},
    ],
)
def test_rules_that_cannot_be_read_are_refused(rules: dict[str, object]) -> None:
    """Whoever edits a timetable by hand finds it closed, not open at another time."""
    with pytest.raises(ValueError, match=r"abbreviation|UTC time|order"):
        Zone("Europe/Berlin", zone_rules.make("Europe/Berlin")._replace(**rules))


def test_what_is_listed_is_what_a_reviewer_reads() -> None:
    """An instant, the offset from then on, its abbreviation; read back as it is written."""
    berlin = zone_rules.make("Europe/Berlin")
    assert berlin.transitions[6] == "2027-03-28T01:00Z +02:00 CEST"
    assert [str(Transition.parse(text)) for text in berlin.transitions] == list(berlin.transitions)
    assert str(Clock.parse("-00:44:30 MMT")) == "-00:44:30 MMT"
    assert (berlin.before, berlin.rule, len(berlin.transitions)) == (
        "+01:00 CET",
        "CET-1CEST,M3.5.0,M10.5.0/3",
        26,
    )


def test_one_zone_for_the_same_rules() -> None:
    """Times in it are compared by the clock, so it is the same object after a copy, too."""
    berlin = zone_rules.zone_of("Europe/Berlin")
    assert zone("Europe/Berlin", zone_rules.make("Europe/Berlin")) is berlin
    assert pickle.loads(pickle.dumps(berlin)) is berlin  # noqa: S301 - our own
    assert deepcopy(berlin) is berlin
    assert berlin.dst(None) is berlin.utcoffset(None) is berlin.tzname(None) is None


@pytest.mark.parametrize("year", [1, 2023, 2037, 9999])
def test_any_year_has_an_answer(year: int) -> None:
    """Before the first transition what held before it; after the last one the rule."""
    berlin = zone_rules.zone_of("Europe/Berlin")
    july = datetime(year, 7, 1, tzinfo=UTC).astimezone(berlin)
    assert july.utcoffset() == timedelta(hours=1 if year < 2024 else 2)


@pytest.mark.parametrize(
    "text",
    [
        "EST5EDT4,0/0,J365/23",
        "EST5EDT4,0/0,J365/25",
        "AAA-3BBB,0/0,J365/23",
        "AAA-2BBB-3,J365/23,J60",
        "AAA12BBB,J364/47,J60",
        "AAA12BBB,J60,J364/47",
        "AAA-12BBB,J1/-47,J60",
        "AAA-12BBB,J60,J1/-47",
    ],
)
@pytest.mark.parametrize("year", [1, 2, 3, 9997, 9998, 9999])
def test_changes_at_the_ends_of_the_calendar(text: str, year: int) -> None:
    """What would be before the year 1, or after 9999, changes no clock that anybody reads."""
    posix = Posix.parse(text)
    ours = Zone("Test/Zone", ZoneRules("", str(posix.standard), (), text))
    clocks = {posix.standard, posix.summer}
    for day in (3, 180, 362):
        at = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=day)
        local = at.astimezone(ours)
        assert Clock(local.utcoffset(), local.tzname()) in clocks
        assert local.astimezone(UTC) == at
    if year > 1:  # before the first change that has a date, it may differ
        july = datetime(year, 7, 1, tzinfo=UTC).astimezone(ours)
        usual = datetime(2403, 7, 1, tzinfo=UTC).astimezone(ours)
        assert july.utcoffset() == usual.utcoffset()


def test_a_timetable_without_rules_has_no_zone() -> None:
    """It names targets to close and decides nothing."""
    with pytest.raises(LookupError, match="UTC"):
        _ = zoned.timetable()._replace(zone_rules=None).zone


def test_nothing_that_decides_reads_zone_data() -> None:
    """The evaluator works where neither `zoneinfo` nor `tzdata` can be imported."""
    folder = Path(krm_windows.gate.__file__).parents[2]
    program = (
        "import sys; sys.modules['zoneinfo'] = sys.modules['tzdata'] = None\n"
        f"sys.path.insert(0, {str(folder)!r})\n"
        "from krm_windows.gate import decide, events, hooks, wallclock, zones, __main__\n"
        "assert zones.Posix.parse('CET-1CEST,M3.5.0,M10.5.0/3').summer.name == 'CEST'\n"
    )
    subprocess.run([sys.executable, "-I", "-c", program], check=True, timeout=60)
    assert (
        "zoneinfo"
        not in Path(gate_zones.__file__)
        .read_text("utf-8")
        .split("import", 1)[1]
        .split("class", 1)[0]
    )


def test_a_zone_says_which_it_is() -> None:
    """By its name and the release of its rules: a failure shows it."""
    berlin = zone_rules.make("Europe/Berlin")
    text = repr(Zone("Europe/Berlin", berlin))
    assert text == f"Zone('Europe/Berlin', release {berlin.release})"
