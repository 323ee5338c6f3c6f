"""What is read of the zone data is what `zoneinfo` reads, and what RFC 9636 says of such a file."""

import struct
from datetime import UTC, datetime, timedelta

import pytest

from krm_windows.gate.zones import Clock, Transition
from krm_windows.schedule import zones

# Half hours, a clock without summer time, years of summer time only, a rule of twelve months.
NAMES = [
    "Africa/Casablanca",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Etc/UTC",
    "Europe/Berlin",
    "Europe/Dublin",
    "Pacific/Apia",
]


def part(width: str, moments: list[int], counts: tuple[int, int, int]) -> bytes:
    """Return a header and the data behind it: two clocks that take turns, then what is passed over.

    `counts` are those of the UTC flags, the wall flags and the leap seconds.
    """
    letters = b"LMT\0CEST\0"
    utc_flags, walls, leaps = counts
    header = struct.pack(
        ">4sc15x6l", b"TZif", b"2", utc_flags, walls, leaps, len(moments), 2, len(letters)
    )
    turns = bytes((number + 1) % 2 for number in range(len(moments)))
    clocks = struct.pack(">lBB", -1200, 0, 0) + struct.pack(">lBB", 7200, 1, 4)
    leap_seconds = struct.pack(f">{width}l", 78796800, 1) * leaps
    flags = b"\1" * (walls + utc_flags)
    listed = struct.pack(f">{len(moments)}{width}", *moments)
    return header + listed + turns + clocks + letters + leap_seconds + flags


@pytest.mark.parametrize("counts", [(0, 0, 0), (2, 0, 0), (0, 2, 0), (0, 0, 3), (1, 2, 3)], ids=str)
def test_a_file_is_read(counts: tuple[int, int, int]) -> None:
    """Its first part is passed over, and so are leap seconds and flags (RFC 9636, section 3)."""
    content = part("l", [1, 2, 3], counts) + part("q", [0, 86400], counts) + b"\nEST5EDT\n"
    local, summer = Clock(timedelta(minutes=-20), "LMT"), Clock(timedelta(hours=2), "CEST")
    turns = (
        Transition(datetime(1970, 1, 1), summer),
        Transition(datetime(1970, 1, 2), local),
    )
    assert zones.parse(content) == zones.ZoneData(local, turns, "EST5EDT")


def test_a_moment_before_all_years_is_an_early_one() -> None:
    """Some files begin at the Big Bang."""
    content = part("l", [], (0, 0, 0)) + part("q", [-(2**59), 0], (0, 0, 0)) + b"\n\n"
    first, second = zones.parse(content).transitions
    assert (first.at.year, second.at.year) == (881, 1970)


@pytest.mark.parametrize("name", NAMES)
def test_clocks_are_those_of_zoneinfo(name: str) -> None:
    """The first one before all transitions, and at each of them that of the transition."""
    found = zones.data(name)
    zone = zones.zone(name)
    expected = [(datetime(1, 1, 3), found.first)]
    expected += [(each.at, each.clock) for each in found.transitions]
    for at, clock in expected:
        shown = at.replace(tzinfo=UTC).astimezone(zone)
        assert (shown.utcoffset(), shown.tzname()) == (clock.offset, clock.name), at


@pytest.mark.parametrize("name", ["Mars/Base", "europe/berlin", "", "../zones", "tzdata.zi"])
def test_an_unknown_zone_is_a_look_up_error(name: str) -> None:
    """Names are those of the package, in their own spelling."""
    with pytest.raises(LookupError, match="unknown time zone"):
        zones.zone(name)
    with pytest.raises(LookupError, match="unknown time zone"):
        zones.data(name)
