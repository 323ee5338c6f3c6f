"""The first page: what is open now, why, and until when, for all policies and clusters."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import Query
from starlette.responses import Response

from krm_windows.gate.timetable import Decision
from krm_windows.schedule import timeline
from krm_windows.service import routing
from krm_windows.service.admission import Call, Read
from krm_windows.service.pages.rendering import page, policy_url
from krm_windows.service.parameters import Continue
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem
from krm_windows.service.waiting import Waits
from krm_windows.system.git_objects import Commit

# A page that is read at a glance, and is here in a tenth of a second.
_ROWS = 50
# To find the open ones among many, so many are looked at for a page.
_MOST_LOOKED_AT = 2000
router = routing.pages()


@dataclass(frozen=True, slots=True)
class Row:
    """A policy on a cluster: what holds now; `problem` says why that is not known.

    `url` is the address of its page, `change` the last one, `waits` what came since it closed.
    """

    stored: Stored
    cluster: str | None
    url: str
    change: Commit | None
    problem: str = ""
    decision: Decision | None = None
    zone: ZoneInfo | None = None
    waits: Waits | None = None

    @property
    def state(self) -> str:
        """Open, closed or unknown."""
        if self.decision is None:
            return "unknown"
        return "open" if self.decision.open else "closed"


@router.get("/")
def show_overview(
    call: Read,
    words: Annotated[str, Query(alias="q")] = "",
    # A form that is sent with nothing chosen has an empty text.
    state: Annotated[str, Query(pattern="^(open|closed|unknown|)$")] = "",
    start: Continue = 0,
) -> Response:
    """Show what is open now."""
    found = _values(call, words, state, start)
    return page(call, "overview.html", found)


def row(call: Call, stored: Stored, cluster: str | None, now: datetime) -> Row:
    """Work out what holds on a cluster."""
    windows = call.windows
    # Of one name in several files, the file says which.
    several = len(windows.snapshot.policies[stored.namespace, stored.name]) > 1
    file = stored.file if several else None
    found = Row(
        stored,
        cluster,
        url=policy_url(stored.namespace, stored.name, cluster=cluster, file=file),
        change=next(iter(windows.history(stored, 1)), None),
    )
    try:
        timetable = windows.evaluator.timetable(stored, cluster)
    except Problem as problem:
        # A policy that is wrong has a row, too: it opens nothing, and somebody has to look at it.
        return replace(found, problem=problem.detail)
    decision = timeline.decide(timetable, now)
    waits = windows.waiting.since(decision, windows.snapshot.commit)
    return replace(
        found,
        decision=decision,
        zone=timetable.zone,
        waits=None if decision.open else waits,
    )


def _values(call: Call, words: str, state: str, start: int) -> dict[str, object]:
    now = call.windows.now()
    # Names alone: what holds is worked out for the rows of this page.
    places = list(call.windows.places(words))
    rows: list[Row] = []
    after = start
    # Rows are numbered by their names, so that a page is found again however hours move.
    for stored, cluster in places[start : start + _MOST_LOOKED_AT]:
        if len(rows) == _ROWS:
            break
        after += 1
        here = row(call, stored, cluster, now)
        if state in ("", here.state):
            rows.append(here)
    # What was looked for goes on to the next page.
    query = {name: text for name, text in {"q": words, "state": state}.items() if text}
    return {
        "words": words,
        "state": state,
        "rows": rows,
        # How many are open in all would take a decision for each of them.
        "count": None if state else len(places),
        "start": start,
        # By how many were looked at, and not by how many were found.
        "following": after if after < len(places) else None,
        "first_url": f"/?{urlencode(query)}",
        "next_url": f"/?{urlencode({**query, 'continue': after})}",
    }
