"""The first page: what is open now, why, and until when, for all policies and clusters."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query
from starlette.responses import Response

from krm_windows.plan.clocks import Today
from krm_windows.preview.calendar import Period, calendars
from krm_windows.preview.picture import Picture, draw
from krm_windows.schedule.zones import zone
from krm_windows.service import routing
from krm_windows.service.admission import Call, Read
from krm_windows.service.pages import events, groups
from krm_windows.service.pages.groups import Group
from krm_windows.service.pages.rendering import page
from krm_windows.service.parameters import Continue
from krm_windows.service.waiting import Waits
from krm_windows.system.git_objects import Commit

# A page that is read at a glance, and is here in a tenth of a second.
_ROWS = 50
# To find the open ones among many, so many are looked at for a page.
_MOST_LOOKED_AT = 2000
_WEEK = 7
router = routing.pages()


@dataclass(frozen=True, slots=True)
class Row:
    """Clusters that are alike, or one; the last `change` of their policy, and what `waits`."""

    group: Group
    change: Commit | None
    waits: Waits | None


@dataclass(frozen=True, slots=True)
class Found:
    """What a page shows, and how many policies or clusters were looked at for it, of how many."""

    groups: Sequence[Group]
    after: int
    count: int


@router.get("/")
def show_overview(
    call: Read,
    words: Annotated[str, Query(alias="q")] = "",
    # A form that is sent with nothing chosen has an empty text.
    state: Annotated[str, Query(pattern="^(open|closed|unknown|)$")] = "",
    start: Continue = 0,
) -> Response:
    """Show what is open now."""
    now, commit = call.windows.now(), call.windows.snapshot.commit
    found = _searched(call, words, state, start, now) if words else _grouped(call, start, now)
    shown = [each for each in found.groups if state in ("", each.state)]
    # What was looked for goes on to the next page.
    query = {name: text for name, text in {"q": words, "state": state}.items() if text}
    turns = (each.decision.until for each in found.groups if each.decision)
    values = {
        "words": words,
        "state": state,
        "rows": [_row(call, each) for each in shown],
        "clusters": _counted(found.groups),
        "found": found,
        "start": start,
        "following": found.after if found.after < found.count else None,
        "first_url": f"/?{urlencode(query)}",
        "next_url": f"/?{urlencode({**query, 'continue': found.after})}",
        "picture": _picture(shown[:_ROWS], now),
        "links": [each.url for each in shown if each.timetable],
        "live": events.address(commit, filter(None, turns)),
    }
    return page(call, "overview.html", values)


def _grouped(call: Call, start: int, now: datetime) -> Found:
    """Return the groups of the next policies."""
    every = list(call.windows.snapshot.every())
    found: list[Group] = []
    after = start
    # Whole policies, so that a page has all clusters of each.
    for stored in every[start:]:
        if len(found) >= groups.MOST:
            break
        after += 1
        found += groups.every(call, stored, now)
    return Found(groups.sort(found), after, len(every))


def _searched(call: Call, words: str, state: str, start: int, now: datetime) -> Found:
    """Return the next clusters, each alone, whose names have some words."""
    # Names alone: what holds is worked out for the rows of this page.
    places = list(call.windows.places(words))
    found: list[Group] = []
    after = start
    # Rows are numbered by their names, so that a page is found again however hours move.
    for stored, cluster in places[start : start + _MOST_LOOKED_AT]:
        if len(found) == _ROWS:
            break
        after += 1
        here = groups.of(call, stored, (cluster,) if cluster else (), now)
        if state in ("", here.state):
            found.append(here)
    return Found(groups.sort(found), after, len(places))


def _row(call: Call, group: Group) -> Row:
    windows = call.windows
    waits = None
    if group.decision and not group.decision.open:
        waits = windows.waiting.since(group.decision, windows.snapshot.commit)
    return Row(group, next(iter(windows.history(group.stored, 1)), None), waits)


def _counted(every: Iterable[Group]) -> Counter[str]:
    """Count clusters by their state; a policy that names none counts as one."""
    found: Counter[str] = Counter()
    for group in every:
        found[group.state] += len(group.names) or 1
    return found


def _picture(every: Sequence[Group], now: datetime) -> Picture | None:
    """Draw the coming week, a row for each group."""
    period = Period(Today(now), _WEEK)
    rows = []
    for group in every:
        if group.timetable:
            [row] = draw(calendars([group.timetable], period)).rows
            rows.append(replace(row, names=(f"{group.stored.title}: {group.title}",)))
    return Picture("", zone("UTC"), tuple(rows), now) if rows else None
