"""The time zones of a calendar's times: each has to be known before any time is read."""

import re
from collections.abc import Iterator

import icalendar
from icalendar.parser import Contentline
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from krm_windows.krm import InputError
from krm_windows.schedule import zones

_TIMES = re.compile("(?:DTSTART|DTEND|RDATE|EXDATE|RECURRENCE-ID);", re.IGNORECASE)
_CALENDAR_ZONE = re.compile("X-WR-TIMEZONE[;:]", re.IGNORECASE)
_BEGIN, _END = "BEGIN:VTIMEZONE", "END:VTIMEZONE"


def check(content: bytes) -> None:
    """Raise InputError, with the line, for a time zone whose rules are unknown.

    From a time in such a zone icalendar takes the zone away, and it would be on another clock.
    """
    # It would know the VTIMEZONEs of every file that was read before.
    icalendar.use_zoneinfo()  # type: ignore[no-untyped-call]
    lines = list(_lines(content.decode(errors="replace")))
    known = zones.names().union(WINDOWS_TO_OLSON)
    for number, block in _blocks(lines):
        try:
            zone = icalendar.Timezone.from_ical(block)
            known |= {str(zone["TZID"]).strip("/")} - {""}
        except Exception as error:
            # Whatever is missing or wrong in it: KeyError, TypeError, ValueError.
            raise InputError(f"this VTIMEZONE cannot be used: {error!r}", number, 1) from error
    for number, line in lines:
        if _TIMES.match(line):
            _check(number, line, known)
        elif _CALENDAR_ZONE.match(line):
            # recurring-ical-events knows only IANA's here.
            name = line.partition(":")[2].strip()
            if name not in zones.names():
                raise InputError(f'the time zone "{name[:80]}" is not an IANA name', number, 1)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, unfolded (RFC 5545, 3.1), each with its number."""
    begun, first = "", 0
    for number, line in enumerate(re.split("\r?\n", text), 1):
        if line[:1] in (" ", "\t"):
            begun += line[1:]
        elif line:
            yield first, begun
            begun, first = line, number
    yield first, begun


def _blocks(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield each VTIMEZONE, with the number of its first line."""
    block: list[str] = []
    first = 0
    for number, line in lines:
        word = line.strip().upper()
        if word == _BEGIN:
            block, first = [line], number
        elif block:
            block.append(line)
        if block and word == _END:
            yield first, "\r\n".join(block)
            block = []


def _check(number: int, line: str, known: frozenset[str]) -> None:
    try:
        _, parameters, _ = Contentline(line).parts()  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise InputError(f"cannot be read: {error}", number, 1) from error
    name = parameters.get("TZID")
    # Two of them are a list, and `/Europe/Berlin` is Europe/Berlin (RFC 5545, 3.2.19).
    if name is not None and str(name).strip("/") not in known:
        message = (
            f'the time zone "{str(name)[:80]}" is neither an IANA name nor a Windows one nor a '
            "VTIMEZONE of the file; write the IANA name that is meant, such as Europe/Berlin"
        )
        raise InputError(message, number, 1)
