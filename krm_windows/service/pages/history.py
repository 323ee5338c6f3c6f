"""The history of a policy, or of all: who changed what when and why, and the hours that moved."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import islice
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Query
from starlette.responses import Response

from krm_windows.edit import overrides
from krm_windows.service import routing
from krm_windows.service.admission import Call, Read, ReadCluster
from krm_windows.service.effects import Effect
from krm_windows.service.pages.rendering import here, page, utc
from krm_windows.service.parameters import Continue
from krm_windows.service.policies import Stored
from krm_windows.service.proposals import ProposedChange
from krm_windows.system.git_objects import Commit

# The hours of each take some ten milliseconds, the first time.
_ROWS = 10
_MOST_LOOKED_AT = 1000
_LATELY = 7 * 86400
# Trailers of our own commits: what they say is on the page already.
_OURS = re.compile(r"^(Policy|Requested-through|Override|Idempotency-Key): .*\n?", re.MULTILINE)
_On = Annotated[date | None, Query(ge=date(1970, 1, 2), le=date(9000, 1, 1))]
router = routing.pages()


@dataclass(frozen=True, slots=True)
class Change:
    """A commit of a policy's file, and what it did, or would do where it is `proposed`.

    `zone` is the clock on which it is shown.
    """

    commit: Commit
    stored: Stored
    zone: ZoneInfo
    effect: Effect
    proposed: ProposedChange | None = None

    @property
    def more(self) -> str:
        """What its message says below the subject."""
        _, _, body = self.commit.message.strip().partition("\n\n")
        return _OURS.sub("", body).strip()


def proposed(call: Call, stored: Stored) -> list[Change]:
    """Return what is proposed for a policy, and what became of it in the last days."""
    windows = call.windows
    if windows.proposed is None:
        return []
    zone = overrides.zone_of_ends(stored.config, call.cluster)
    return [
        Change(each.commit, stored, zone, windows.effects.of(each.commit, stored), each)
        for each in windows.proposed.of(stored, windows.snapshot.commit)
        if each.is_open or windows.now().timestamp() - each.commit.committed < _LATELY
    ]


@router.get("/ui/history")
def show_history_of_all(call: Read, start: Continue = 0, on: _On = None) -> Response:
    """Show what changed the policies, the newest first; `on` a day, or before it."""
    return _page(call, call.windows.changes(), start, on, stored=None, proposed=())


@router.get("/ui/policies/{namespace}/{name}/history")
def show_history(call: ReadCluster, start: Continue = 0, on: _On = None) -> Response:
    """Show what changed a policy, the newest first; `on` a day, or before it."""
    stored, windows = call.stored(), call.windows
    windows.evaluator.check(stored, call.cluster)
    found = [(each, stored) for each in windows.history(stored, _MOST_LOOKED_AT)]
    return _page(
        call,
        found,
        start,
        on,
        stored=stored,
        here=here(call),
        proposed=[] if on or start else proposed(call, stored),
    )


def _page(
    call: Call,
    found: Iterable[tuple[Commit, Stored]],
    start: int,
    on: date | None,
    **values: object,
) -> Response:
    # Of a thousand clusters it takes a while.
    zone = cache(lambda stored: overrides.zone_of_ends(stored.config, call.cluster))
    if on is not None:
        found = (
            (each, stored)
            for each, stored in found
            if utc(each.committed).astimezone(zone(stored)).date() <= on
        )
    shown = [*islice(found, start, start + _ROWS + 1)]
    values |= {
        "request": call.request,
        "cluster": call.cluster,
        "changes": [
            Change(each, stored, zone(stored), call.windows.effects.of(each, stored))
            for each, stored in shown[:_ROWS]
        ],
        "on": on,
        "start": start,
        "following": start + _ROWS if len(shown) > _ROWS else None,
    }
    return page(call, "history.html", values)
