"""Whether triggers meet the edges of a policy, replayed by the model of the CronJob controller."""

from datetime import datetime, timedelta
from itertools import takewhile

from krm_windows.plan.model import Plan
from krm_windows.plan.triggers import Trigger
from krm_windows.schedule.controller import runs
from krm_windows.schedule.timeline import timeline

DAY = timedelta(days=1)


def replayed(trigger: Trigger, start: datetime, until: datetime) -> list[datetime]:
    every = runs(trigger.schedule, trigger.time_zone, start - DAY)
    return list(takewhile(lambda run: run < until + DAY, every))


def missed_edges(policy: Plan, start: datetime, until: datetime) -> list[datetime]:
    """Give the edges at which no CronJob in UTC fires to the minute, the resync left out."""
    fired: set[datetime] = set()
    for trigger in policy.triggers:
        if trigger.slug != "resync" and trigger.time_zone == "Etc/UTC":
            fired.update(replayed(trigger, start, until))
    edges = [segment.begins for segment in timeline(policy.timetable, start, until)][1:]
    return [edge for edge in edges if edge not in fired]
