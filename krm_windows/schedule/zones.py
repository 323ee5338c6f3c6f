"""The IANA time zones as the `tzdata` package has them, and never as the host does."""

import os.path
import struct
from datetime import datetime, timedelta, tzinfo
from functools import cache
from io import BytesIO
from typing import NamedTuple

from krm_windows.gate.zones import Clock, Transition

# In UTC, as every moment of a `Transition`.
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001
# RFC 9636, section 3.1: the magic, the version, 15 unused bytes, then six counts.
_HEADER = struct.Struct(">4sc15x6l")
# Some files begin before the years that Python knows; nothing here looks so far back.
_FIRST_SECOND = -(2**35)


class ZoneData(NamedTuple):
    """What a file of zone data says: a clock, the listed changes of it, and a rule for after them.

    `first` is the clock before all transitions, and `rule` is in the form of POSIX. A transition
    may change nothing that clocks show: the last one says since when the rule applies.
    """

    first: Clock
    transitions: tuple[Transition, ...]
    rule: str


@cache
def names() -> frozenset[str]:
    """Return every zone name of the `tzdata` package."""
    return frozenset(_read("zones").decode("ascii").split())


@cache
def release() -> str:
    """Return the release of the IANA zone data in use, such as `2026f`."""
    # What needs no zone must not load it.
    import tzdata  # type: ignore[import-untyped]  # noqa: PLC0415

    return str(tzdata.IANA_VERSION)


@cache
def zone(name: str) -> tzinfo:
    """Return the IANA zone `name` with all its past; raise `LookupError` for an unknown one.

    Only what the package has is read, so that no build depends on its host's zones.
    """
    # The function, which goes by the rules that a timetable carries, seldom needs it.
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    return ZoneInfo.from_file(BytesIO(_content(name)), name)


@cache
def data(name: str) -> ZoneData:
    """Return what the file of a zone says; raise `LookupError` for an unknown zone."""
    return parse(_content(name))


def _content(name: str) -> bytes:
    if name not in names():
        raise LookupError(f'unknown time zone "{name}"')
    try:
        return _read(f"zoneinfo/{name}")
    except FileNotFoundError:
        lacks = f'the package tzdata lacks the time zone "{name}", which it lists'
        raise LookupError(lacks) from None


def _read(name: str) -> bytes:
    # What needs no zone must not load it.
    import tzdata  # noqa: PLC0415

    # `pkgutil.get_data` does the same, and takes more to import than all of this module.
    with open(os.path.join(tzdata.__path__[0], name), "rb") as file:
        return file.read()


def parse(content: bytes) -> ZoneData:
    """Read the second, 64-bit part of a TZif file (RFC 9636, section 3), and its footer."""
    # The first part has 32-bit moments, and is passed over: `zic -b slim` leaves it empty.
    start = _HEADER.size + _length(content, 0, 4)
    *_, count, kinds, _ = _HEADER.unpack_from(content, start)
    at = start + _HEADER.size
    # All moments, of eight bytes each, then for each the number of the clock from it on.
    seconds = struct.unpack_from(f">{count}q", content, at)
    indices = struct.unpack_from(f">{count}B", content, at + 8 * count)
    at += 9 * count
    # Of each clock: its offset, whether it is summer time, and where its letters begin.
    names_at = at + 6 * kinds
    clocks = []
    for offset, _, letter in struct.iter_unpack(">lBB", content[at:names_at]):
        # Names such as `CEST` follow one another, each ended by a zero byte (RFC 9636, 3.2).
        name, _, _ = content[names_at + letter :].partition(b"\0")
        clocks.append(Clock(timedelta(seconds=offset), name.decode("ascii")))
    # Leap seconds and flags, which nothing here needs, are before the footer.
    footer_at = start + _HEADER.size + _length(content, start, 8)
    footer = content[footer_at:].strip(b"\n").decode("ascii")
    listed = []
    for second, index in zip(seconds, indices, strict=True):
        moment = _EPOCH + timedelta(seconds=max(second, _FIRST_SECOND))
        listed.append(Transition(moment, clocks[index]))
    return ZoneData(clocks[0], tuple(listed), footer)


def _length(content: bytes, start: int, width: int) -> int:
    """Return how long the part is that follows a header, with moments of this width."""
    _, _, utc_flags, walls, leaps, count, kinds, letters = _HEADER.unpack_from(content, start)
    transitions = count * (width + 1)
    clocks = kinds * 6 + letters
    return int(transitions + clocks + leaps * (width + 4) + walls + utc_flags)
