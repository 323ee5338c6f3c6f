"""The image's own zone data, read only to compare it with the rules of the timetable.

Those alone decide (docs/decisions/0022-the-zone-rules-travel-with-the-policy.md).
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from krm_windows.gate.zones import Zone

_YEAR = 366
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
# What says the release: the first line of `zic`'s source, or a file of some distributions.
_VERSIONS = ("tzdata.zi", "+VERSION")
_LONGEST_RELEASE = 20  # characters: it is written into every annotation


@dataclass(frozen=True)
class Difference:
    """From when in the coming year the two releases read the clock otherwise.

    `at` None: they do so now. That is no instant, which would be another one at every run. `image`
    is `unknown` if it does not say.
    """

    at: datetime | None
    timetable: str
    image: str

    def __str__(self) -> str:
        """Say it to whoever reads Events and annotations, in the same words run after run."""
        since = "now"
        if self.at:
            since = f"from {self.at:%Y-%m-%dT%H:%MZ} on"
        return (
            f"the image's zone data ({self.image}) differs {since} from the timetable's "
            f"({self.timetable}), which is used"
        )


def difference(zone: Zone, now: datetime) -> Difference | None:
    """Compare the image's data of a zone with its rules.

    None where they agree, or where the image has none. Whatever goes wrong is no difference:
    nothing depends on it.
    """
    try:
        # An image may have neither module nor data.
        from zoneinfo import TZPATH, ZoneInfo  # noqa: PLC0415

        begins = now.astimezone(UTC)
        at = _first(zone, ZoneInfo(zone.key), begins)
        if at is None:
            return None
        later = None
        if at > begins:
            later = at
        return Difference(later, zone.rules.release, _release(TZPATH))
    except Exception:  # noqa: BLE001 - a comparison must not keep a run from anything
        return None


def _first(
    zone: Zone,
    other: tzinfo,
    begins: datetime,
) -> datetime | None:
    """Find from when in the year after `begins` two zones differ, to the minute.

    They are compared at `begins`, then at every midnight of UTC and beside each transition: at the
    same instants whenever it is asked, so that the answer is the same.
    """
    midnight = begins.replace(hour=0, minute=0, second=0, microsecond=0)
    instants = [midnight + number * _DAY for number in range(1, _YEAR)]
    for transition in zone.transitions(begins.year, begins.year + 1):
        at = transition.at.replace(tzinfo=UTC)
        instants += [at - _MINUTE, at]
    before = begins
    for at in sorted({begins, *instants}):
        if begins <= at <= midnight + _YEAR * _DAY:
            if _differ(zone, other, at):
                return _edge(zone, other, before, at)
            before = at
    return None


def _edge(
    zone: Zone,
    other: tzinfo,
    same: datetime,
    differs: datetime,
) -> datetime:
    """Halve what lies between two instants, until they are a minute apart.

    Rules change on whole minutes.
    """
    while differs - same > _MINUTE:
        middle = (same + (differs - same) / 2).replace(second=0, microsecond=0)
        if middle <= same:
            break
        if _differ(zone, other, middle):
            differs = middle
        else:
            same = middle
    return differs


def _differ(zone: Zone, other: tzinfo, at: datetime) -> bool:
    return at.astimezone(zone).utcoffset() != at.astimezone(other).utcoffset()


def _release(folders: tuple[str, ...]) -> str:
    """Read the release of the data on the image's paths, such as `2025b`."""
    for folder in folders:
        for name in _VERSIONS:
            file = Path(folder) / name
            if file.is_file():
                with file.open(encoding="ascii", errors="replace") as lines:
                    return lines.readline().strip().removeprefix("# version ")[:_LONGEST_RELEASE]
    return "unknown"
