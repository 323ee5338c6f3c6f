"""The first page: what is open now, why, and until when, for all policies and clusters."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import Query
from starlette.responses import RedirectResponse, Response

from krm_windows.preview.calendar import Period, calendars
from krm_windows.preview.picture import Picture, draw
from krm_windows.schedule.zones import zone
from krm_windows.service import routing
from krm_windows.service.admission import Call, Read
from krm_windows.service.pages import events, groups
from krm_windows.service.pages.groups import Group
from krm_windows.service.pages.rendering import page
from krm_windows.service.parameters import Continue

# A page that is read at a glance, and is here in a tenth of a second.
_ROWS = 50
# To find the open ones among many, so many are looked at for a page.
_MOST_LOOKED_AT = 2000
_WEEK = 7
router = routing.pages()


@router.get("/")
def show_overview(
    call: Read,
    words: Annotated[str, Query(alias="q")] = "",
    # A form that is sent with nothing chosen has an empty text.
    state: Annotated[str, Query(pattern="^(open|closed|unknown|)$")] = "",
    start: Continue = 0,
) -> Response:
    """Show what is open now."""
    now, snapshot = call.windows.now(), call.windows.snapshot
    # Where the next page begins, if there is one.
    found, following = (
        _searched(call, words, state, start, now) if words else _grouped(call, start, now)
    )
    # What alone can be meant.
    if len(found) == 1 and words and not (state or start):
        return RedirectResponse(found[0].url, HTTPStatus.SEE_OTHER.value)
    shown = [each for each in found if state in ("", each.state)]
    values = {
        "words": words,
        "state": state,
        "rows": shown,
        "clusters": _counted(found),
        "start": start,
        "following": following,
        "picture": _picture(call, shown[:_ROWS], now),
        "live": events.address(snapshot.commit, found),
    }
    return page(call, "overview.html", values)


def _grouped(call: Call, start: int, now: datetime) -> tuple[list[Group], int | None]:
    """Return the groups of the next policies, of each all."""
    found: list[Group] = []
    for number, stored in enumerate(call.windows.snapshot.every()):
        if len(found) >= groups.MOST:
            return groups.sort(found), number
        if number >= start:
            found += groups.every(call, stored, now)
    return groups.sort(found), None


def _searched(
    call: Call, words: str, state: str, start: int, now: datetime
) -> tuple[list[Group], int | None]:
    """Return the next clusters, each alone, whose names have some words."""
    found: list[Group] = []
    # Rows are numbered by their names, so that a page is found again however hours move.
    for number, (stored, cluster) in enumerate(call.windows.places(words)):
        # A policy is read once its clusters are needed.
        if len(found) == _ROWS or number == start + _MOST_LOOKED_AT:
            return groups.sort(found), number
        if number >= start:
            here = groups.of(call, stored, (cluster,) if cluster else (), now)
            found += [here] if state in ("", here.state) else []
    return groups.sort(found), None


def _counted(every: Iterable[Group]) -> Counter[str]:
    """Count clusters by their state; a policy that names none counts as one."""
    found: Counter[str] = Counter()
    for group in every:
        found[group.state] += len(group.names) or 1
    return found


def _picture(call: Call, every: Sequence[Group], now: datetime) -> Picture | None:
    """Draw the coming week, a row for each group."""
    period = Period(groups.today(every, now), _WEEK)
    rows = []
    for group in every:
        if group.timetable:
            [row] = draw(calendars([group.timetable], period)).rows
            policy = call.windows.snapshot.label(group.stored)
            rows.append(replace(row, names=(f"{policy}: {group.title}",)))
    return Picture("", zone("UTC"), tuple(rows), now) if rows else None
