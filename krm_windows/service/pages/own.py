"""What clusters have of their own: windows and freezes that others lack, differ, or are gone."""

import json
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from zoneinfo import ZoneInfo

from krm_windows import plurals
from krm_windows.edit.patches import clusters_of
from krm_windows.policy.model import Freeze, Window
from krm_windows.schedule import table, wallclock
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule
from krm_windows.service.admission import Call
from krm_windows.service.problems import Problem

# A fleet has few that differ; of more, each cluster has a page.
_MOST = 50


@dataclass(frozen=True, slots=True)
class Own:
    """A `window` or a `freeze` as some clusters have it; `rule` is None where it is gone there."""

    kind: str
    name: str
    clusters: tuple[str, ...]
    rule: Window | Freeze | None

    @property
    def where(self) -> str:
        """The clusters in words: a few of them by name."""
        return plurals.clusters(self.clusters)


def listed(call: Call) -> list[Own]:
    """Return what clusters have of their own, or one of them; those that are alike once."""
    found: dict[tuple[str, str, str], list[str]] = {}
    every = clusters_of(call.stored().config).items()
    for (cluster, patch), kind in product(every, ("window", "freeze")):
        entries = patch.get(f"{kind}s") if isinstance(patch, dict) else None
        if call.cluster in (None, cluster) and isinstance(entries, dict):
            for name, entry in entries.items():
                key = (kind, name, json.dumps(entry, sort_keys=True))
                found.setdefault(key, []).append(cluster)
    return [
        Own(kind, name, tuple(alike), _rule(call, kind, name, alike[0]))
        for (kind, name, _), alike in list(found.items())[:_MOST]
    ]


def place(now: datetime, zone: ZoneInfo, freeze: Freeze) -> tuple[bool, str]:
    """Say whether a freeze is over, and when it begins next, or did: they are listed like that."""
    begins = freeze.starts.value
    if isinstance(begins, Recurrence):
        return False, f"{begins.after(wallclock.wall(now, zone))}"
    _, ends = table.interval(Rule(Kind.FREEZE, "", begins, freeze.ends_at), zone)
    return ends <= wallclock.minute_of(now), f"{begins}"


def _rule(call: Call, kind: str, name: str, cluster: str) -> Window | Freeze | None:
    try:
        spec = call.windows.evaluator.policy(call.stored(), cluster).spec
    except Problem:
        # Its page says what is wrong there.
        return None
    return (spec.windows if kind == "window" else spec.freezes).get(name)
