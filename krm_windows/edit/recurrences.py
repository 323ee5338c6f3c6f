"""What a calendar may hold, checked before anything of it is expanded."""

from collections.abc import Iterator

import icalendar

# Events, time zones and their parts together.
MOST_COMPONENTS = 20_000
# A freeze at every hour of a day is none that people mean.
MOST_TIMES_A_DAY = 24
MOST_ZONE_RULES = 200
# Without HOURLY, MINUTELY and SECONDLY (RFC 5545, 3.3.10), of which one rule makes millions.
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_ZONES = ("STANDARD", "DAYLIGHT")


def check(calendar: icalendar.Calendar) -> None:
    """Raise ValueError for too many closures, and for what repeats more often than a freeze can."""
    components = list(calendar.walk())
    zones = [each for each in components if each.name in _ZONES]
    if len(components) > MOST_COMPONENTS or len(zones) > MOST_ZONE_RULES:
        raise ValueError(
            f"it has more than {MOST_COMPONENTS} components, or {MOST_ZONE_RULES} changes of time "
            "zones"
        )
    for component in components:
        for rule in _rules(component):
            _check(component, rule)


def _rules(component: icalendar.Component) -> Iterator[icalendar.vRecur]:
    found = component.get("RRULE", [])
    # icalendar has a list only where there are several.
    if isinstance(found, list):
        yield from found
    else:
        yield found


def _check(component: icalendar.Component, rule: icalendar.vRecur) -> None:
    # The beginning of a long text identifies the event, too.
    uid = component.get("UID", "")
    name = str(component.get("SUMMARY", uid))[:80]
    title = f"{component.name} {name!r}"
    frequency = str(next(iter(rule.get("FREQ", [])), ""))
    if frequency not in _FREQUENCIES:
        raise ValueError(
            f"{title} repeats {frequency}, which is not supported in a freeze; supported: "
            f"{', '.join(_FREQUENCIES)}"
        )
    # `BYHOUR=1,2;BYMINUTE=0,30` is four times a day.
    times = 1
    for part in ("BYHOUR", "BYMINUTE", "BYSECOND"):
        given = rule.get(part, [])
        times *= max(len(given), 1)
    if times > MOST_TIMES_A_DAY:
        raise ValueError(f"{title} repeats {times} times a day, more than {MOST_TIMES_A_DAY}")
