"""Server-sent events (HTML, 9.2): a page is told when it no longer says what is so.

The page says which commit it shows, and the next instant at which something there turns. It is told
once, and asks anew: so nothing is missed between a page and its stream.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from krm_windows.service import access, routing
from krm_windows.service.admission import Call, Read
from krm_windows.service.pages.groups import Group
from krm_windows.service.parameters import At
from krm_windows.service.problems import Problem

MOST = 200
MOST_OF_ONE = 20
"""Streams at a time, of all and of one caller; a page that gets none asks each minute."""
# As often as the branch is looked at; and as often as something is sent, so that no proxy takes a
# connection for dead, nor a browser that is gone for one that waits.
_LOOK_SECONDS = 1.0
_LOOKS_A_SIGN = 15
# An hour; then the browser comes again by itself.
_LOOKS = 3600
# What nginx would otherwise gather.
_HEADERS = {"X-Accel-Buffering": "no"}
router = routing.pages()


class _Stream(StreamingResponse):
    """Events, counted from when they are granted until they are over, however that comes."""

    def __init__(self, call: Call, found: AsyncIterator[str]) -> None:
        super().__init__(found, headers=_HEADERS, media_type="text/event-stream")
        self._streams = call.service.streams
        self._streams[self] = call.caller.name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            del self._streams[self]


@router.get("/ui/events")
async def follow_changes(
    call: Read, commit: Annotated[str, Query()] = "", at: At = None
) -> Response:
    """Say when the branch has another commit, or when an instant is over."""
    streams = call.service.streams
    # Nobody keeps all others out.
    if len(streams) >= MOST or list(streams.values()).count(call.caller.name) >= MOST_OF_ONE:
        raise Problem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "too many pages are followed: try again later",
            headers={"Retry-After": "60"},
        )
    return _Stream(call, _events(call, commit, at))


def address(commit: str, shown: Iterable[Group]) -> str:
    """Return the address of the events for a page that shows a commit, and what it makes hold."""
    query = {"commit": commit}
    turns = [each.decision.until for each in shown if each.decision and each.decision.until]
    if turns:
        query["at"] = min(turns).isoformat()
    return f"/ui/events?{urlencode(query)}"


async def _events(call: Call, commit: str, at: datetime | None) -> AsyncIterator[str]:
    windows = call.windows
    # How soon a browser comes again, in milliseconds.
    yield "retry: 5000\n\n"
    for look in range(1, _LOOKS):
        if windows.stopping.is_set():
            return
        if windows.snapshot.commit != commit or (at is not None and windows.now() >= at):
            yield f"event: changed\ndata: {windows.snapshot.commit}\n\n"
            return
        if look % _LOOKS_A_SIGN == 0:
            # A token that was taken away, or a session that is over, is of no use here either.
            if not await run_in_threadpool(_may_read, call):
                return
            yield ":\n\n"
        await asyncio.sleep(_LOOK_SECONDS)


def _may_read(call: Call) -> bool:
    try:
        caller = call.service.access.caller(call.request)
    except Problem:
        return False
    return caller is not None and caller.may(access.Scope.READ)
