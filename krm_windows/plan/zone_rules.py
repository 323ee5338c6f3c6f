"""The rules of a time zone as a timetable carries them, made from the `tzdata` of this build."""

from datetime import datetime
from functools import cache

from krm_windows.gate.zones import Posix, Transition, Zone, ZoneRules, zone
from krm_windows.schedule import zones

# A fixed span, so that what is built today is built tomorrow too. Beyond it, the zone's POSIX rule
# applies; before it, no clock is asked for more than the beginning of something that has long
# begun.
FIRST_YEAR, LAST_YEAR = 2024, 2036


@cache
def make(name: str, first_year: int = FIRST_YEAR) -> ZoneRules:
    """Return the rules of the IANA zone `name` from a year on.

    Raise `LookupError` for an unknown one.
    """
    data = zones.data(name)
    # `zic -b fat` lists changes up to 2037, `-b slim` (the default since 2020b) only irregular
    # ones.
    every = [*data.transitions, *_ruled(data, first_year - 1)]
    # A year more, so that the clock in force at the beginning is known from a change before it.
    begin = datetime(first_year, 1, 1)  # noqa: DTZ001 - naive UTC, as transitions are
    before = data.first
    listed = []
    clock = before
    for transition in every:
        # What was before the span is only remembered, and what repeats a clock is left out.
        if transition.at < begin:
            before = transition.clock
        elif transition.at.year <= LAST_YEAR and transition.clock != clock:
            listed.append(str(transition))
        clock = transition.clock
    return ZoneRules(
        release=zones.release(), before=str(before), transitions=tuple(listed), rule=data.rule
    )


def zone_of(name: str, first_year: int = FIRST_YEAR) -> Zone:
    """Return the zone `name` by those rules; raise `LookupError` for an unknown one."""
    return zone(name, make(name, first_year))


def _ruled(data: zones.ZoneData, first_year: int) -> list[Transition]:
    """Return what follows the listed transitions by the rule.

    A file may list few of them (`zic -b slim`).
    """
    last = datetime.min  # noqa: DTZ901 - naive UTC
    if data.transitions:
        last = data.transitions[-1].at
    following = Posix.parse(data.rule).transitions(max(last.year, first_year), LAST_YEAR)
    return [transition for transition in following if transition.at > last]
