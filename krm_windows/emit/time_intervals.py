"""The time intervals: when the policy is open and closed, for Alertmanager and for Grafana.

Alertmanager reads them from its own configuration, and Grafana from a file of its provisioning, so
they are the two keys of a ConfigMap that somebody mounts, or copies from.
"""

from collections.abc import Iterable

from krm_windows.emit import names
from krm_windows.emit.labels import metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.krm import render
from krm_windows.plan.intervals import Interval, Intervals, Ranges, intervals
from krm_windows.plan.model import Plan

# The first organisation, which every Grafana has (Grafana, "Provision alerting resources").
_ORGANISATION = 1
_WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
Value = dict[str, object]


def objects(plan: Plan) -> list[Manifest]:
    """Return the ConfigMap."""
    found = intervals(plan.timetable)
    every: list[Value] = []
    for state, spans in _states(found).items():
        written = [_interval(each, plan.timetable.time_zone) for each in spans]
        every.append({"name": name(plan, state), "time_intervals": written})
    # Grafana took the grammar over, with its words (grafana/alerting, timeinterval).
    mute_times = [{"orgId": _ORGANISATION, **each} for each in every]
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(plan, names.time_intervals(plan), plan.namespace),
            "data": {
                names.TIME_INTERVALS: render({"time_intervals": every}),
                names.MUTE_TIMINGS: render({"apiVersion": 1, "muteTimes": mute_times}),
            },
        }
    ]


def name(plan: Plan, state: str) -> str:
    """Return what routes name: `flux-system/week/closed`, or `flux-system/week/plant-7/closed`."""
    parts = [plan.policy]
    # One Alertmanager hears of all clusters, each of which has its own times.
    if plan.timetable.cluster:
        parts.append(plan.timetable.cluster)
    return "/".join([*parts, state])


def _states(found: Intervals) -> dict[str, Iterable[Interval]]:
    return {"open": found.open, "closed": found.closed}


def _interval(interval: Interval, zone: str) -> Value:
    """Write an interval; a field that is left out is any."""
    written: Value = {}
    # An empty list would be a time that is never.
    if interval.times:
        written["times"] = [_times(first, after) for first, after in interval.times]
    if interval.weekdays:
        written["weekdays"] = [_weekdays(first, last) for first, last in interval.weekdays]
    fields = {
        "days_of_month": interval.days,
        "months": interval.months,
        "years": interval.years,
    }
    for key, ranges in fields.items():
        if ranges:
            written[key] = _numbers(ranges)
    # Without one Alertmanager takes UTC.
    return {**written, "location": zone}


def _times(first: int, after: int) -> Value:
    return {"start_time": _clock(first), "end_time": _clock(after)}


def _clock(minute: int) -> str:
    # The end of a day is 24:00.
    hour, of_hour = divmod(minute, 60)
    return f"{hour:02}:{of_hour:02}"


def _weekdays(first: int, last: int) -> str:
    # A range from a day to itself is one, too, but nobody writes it.
    if first == last:
        return _WEEKDAYS[first]
    return f"{_WEEKDAYS[first]}:{_WEEKDAYS[last]}"


def _numbers(ranges: Ranges) -> list[str]:
    found = []
    for first, last in ranges:
        # `25`, or `25:26`; as texts, which is what Alertmanager reads.
        found.append(str(first) if first == last else f"{first}:{last}")
    return found
