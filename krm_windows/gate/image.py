"""The image's own zone data, read only to compare it with the rules of the timetable, which alone decide."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from krm_windows.gate.zones import Zone

_YEAR = 366
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
# What says the release: the first line of `zic`'s source, or a file of some distributions.
_VERSIONS = ("tzdata.zi", "+VERSION")


@dataclass(frozen=True)
class Difference:
    """The first instant of the coming year that the two releases read otherwise; `image` is `unknown` if unsaid."""

    at: datetime
    timetable: str
    image: str

    def __str__(self) -> str:
        """Say it to whoever reads Events."""
        return (
            f"the image's zone data ({self.image}) reads {self.at:%Y-%m-%dT%H:%MZ} otherwise than the timetable's "
            f"({self.timetable}), which decides"
        )


def difference(zone: Zone, now: datetime) -> Difference | None:
    """Compare the image's data of a zone with its rules; None where they agree, or where the image has none.

    Whatever goes wrong is no difference: nothing depends on it.
    """
    try:
        from zoneinfo import TZPATH, ZoneInfo  # noqa: PLC0415 - an image may have neither module nor data

        at = _first(zone, ZoneInfo(zone.key), now)
        return Difference(at, zone.rules.release, _release(TZPATH)) if at else None
    except Exception:  # noqa: BLE001 - a comparison must not keep a look from anything
        return None


def _first(zone: Zone, other: tzinfo, now: datetime) -> datetime | None:
    """Find the first instant of a year at which two zones differ: on each day, and beside each transition."""
    begins = now.astimezone(UTC).replace(second=0, microsecond=0)
    looks = [begins + number * _DAY for number in range(_YEAR)]
    for transition in zone.transitions(begins.year, begins.year + 1):
        at = transition.at.replace(tzinfo=UTC)
        looks += [at - _MINUTE, at]
    for look in sorted(looks):
        within = begins <= look <= looks[_YEAR - 1]
        if within and look.astimezone(zone).utcoffset() != look.astimezone(other).utcoffset():
            return look
    return None


def _release(folders: tuple[str, ...]) -> str:
    """Read the release of the data on the image's paths, such as `2025b`."""
    for folder in folders:
        for name in _VERSIONS:
            file = Path(folder) / name
            if file.is_file():
                with file.open(encoding="ascii", errors="replace") as lines:
                    return lines.readline().strip().removeprefix("# version ")
    return "unknown"
