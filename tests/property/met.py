"""Whether wake-ups meet the edges of a policy, replayed by the model of the CronJob controller."""

from datetime import datetime, timedelta
from itertools import takewhile

from krm_windows.plan.model import Plan
from krm_windows.plan.wakeups import WakeUp
from krm_windows.schedule.controller import runs
from krm_windows.schedule.timeline import timeline

DAY = timedelta(days=1)


def replayed(look: WakeUp, start: datetime, until: datetime) -> list[datetime]:
    """Fire a schedule as the controller does, from a day before `start` to a day after `until`."""
    return list(
        takewhile(lambda run: run < until + DAY, runs(look.schedule, look.time_zone, start - DAY))
    )


def unmet(policy: Plan, start: datetime, until: datetime) -> list[datetime]:
    """Give the edges at which no CronJob in UTC fires to the minute, the regular look left out."""
    looks = [
        look for look in policy.wake_ups if look.slug != "look" and look.time_zone == "Etc/UTC"
    ]
    fired = {run for look in looks for run in replayed(look, start, until)}
    edges = [segment.begins for segment in timeline(policy.timetable, start, until)][1:]
    return [edge for edge in edges if edge not in fired]
