"""The page of a policy's history: who changed it when and why, and the hours that moved."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from krm_windows.edit import overrides
from krm_windows.preview.calendar import Period
from krm_windows.service import routing
from krm_windows.service.admission import Call, ReadCluster
from krm_windows.service.effects import Effect
from krm_windows.service.pages.rendering import here, page
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
_FIRST, _LAST = date(1970, 1, 2), date(9000, 1, 1)
router = routing.pages()


@dataclass(frozen=True, slots=True)
class Change:
    """A commit of a policy's file, and what it did, or would do where it is `proposed`."""

    commit: Commit
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
    return [
        Change(each.commit, windows.effects.of(each.commit, stored), each)
        for each in windows.proposed.of(stored, windows.snapshot.commit)
        if each.is_open or windows.now().timestamp() - each.commit.committed < _LATELY
    ]


@router.get("/ui/policies/{namespace}/{name}/history")
def show_history(
    call: ReadCluster,
    start: Continue = 0,
    on: Annotated[date | None, Query(ge=_FIRST, le=_LAST)] = None,
) -> Response:
    """Show what changed a policy, the newest first; `on` a day, or before it."""
    windows, stored, cluster = call.windows, call.stored(), call.cluster
    windows.evaluator.check(stored, cluster)
    zone = overrides.zone_of_ends(stored.config, cluster)
    commits = windows.history(stored, _MOST_LOOKED_AT)
    if on is not None:
        _, ends = Period(on, 1).bounds(zone)
        commits = [each for each in commits if each.committed < ends.timestamp()]
    shown = commits[start : start + _ROWS]
    values: dict[str, object] = {
        "stored": stored,
        "here": here(call),
        "cluster": cluster,
        "file": call.place.file,
        "zone": zone,
        "changes": [Change(each, windows.effects.of(each, stored)) for each in shown],
        "proposed": [] if on or start else proposed(call, stored),
        "on": on,
        "start": start,
        "following": start + _ROWS if len(commits) > start + _ROWS else None,
    }
    return page(call, "history.html", values)
