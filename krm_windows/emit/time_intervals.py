"""The time intervals: when the policy is open and closed, for Alertmanager and for Grafana.

Alertmanager reads them from its own configuration, and Grafana from a file of its provisioning, so
they are the two keys of a ConfigMap that somebody mounts, or copies from.
"""

from krm_windows.emit import names
from krm_windows.emit.labels import metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.krm import render
from krm_windows.plan.intervals import Interval, intervals
from krm_windows.plan.model import Plan

# The first organisation, which every Grafana has (Grafana, "Provision alerting resources").
_ORGANISATION = 1
_WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
Value = dict[str, object]


def objects(plan: Plan) -> list[Manifest]:
    """Return the ConfigMap."""
    found = intervals(plan.timetable)
    every: list[Value] = []
    for state, spans in (("open", found.open), ("closed", found.closed)):
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


def _interval(interval: Interval, zone: str) -> Value:
    """Write an interval; a field that is left out is any, and an empty one a time that is never."""
    fields: Value = {
        "times": [
            {"start_time": _clock(first), "end_time": _clock(after)}
            for first, after in interval.times
        ],
        "weekdays": [
            _range(_WEEKDAYS[first], _WEEKDAYS[last]) for first, last in interval.weekdays
        ],
        "days_of_month": [_range(*each) for each in interval.days],
        "months": [_range(*each) for each in interval.months],
        "years": [_range(*each) for each in interval.years],
    }
    # Without a location Alertmanager takes UTC.
    return {**{key: value for key, value in fields.items() if value}, "location": zone}


def _clock(minute: int) -> str:
    # The end of a day is 24:00.
    return f"{minute // 60:02}:{minute % 60:02}"


def _range(first: object, last: object) -> str:
    """Write `25`, or `25:26`; as a text, which is what Alertmanager reads."""
    return f"{first}" if first == last else f"{first}:{last}"
