"""The application: the routes of the interface and of pages, and what goes on beside."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from krm_windows.service import description
from krm_windows.service.access import Access
from krm_windows.service.admission import Service
from krm_windows.service.bodies import HTML
from krm_windows.service.guard import Guard
from krm_windows.service.log import Log
from krm_windows.service.pages import rendering, table
from krm_windows.service.problems import Problem, as_response
from krm_windows.service.windows import Windows
from krm_windows.system.errors import WorkspaceError


def make(windows: Windows, access: Access, log: Log | None = None) -> ASGIApp:
    """Make the application that serves some policies."""
    application = FastAPI(
        routes=[*description.ROUTES, *table.ROUTES],
        lifespan=lambda _: _polling(windows),
        exception_handlers={HTTPException: _refused},
        # `/policies/` is another path than `/policies`: nobody is sent elsewhere.
        redirect_slashes=False,
        # It is a route of ours, with a rate.
        openapi_url=None,
    )
    application.state.service = Service(windows, access, log or Log())
    # Outermost, so that no answer lacks its headers.
    return Guard(application, secure=windows.settings.secure)


async def _refused(request: Request, error: Exception) -> Response:
    """Refuse what no route answers: with a page, if a browser asks."""
    problem = Problem(HTTPStatus.NOT_FOUND, "path not found")
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        problem = _not_allowed(request)
    # Programs take anything, `*/*`; a browser names HTML.
    if HTML in request.headers.get("accept", ""):
        return rendering.refused(problem, request)
    return as_response(problem)


def _not_allowed(request: Request) -> Problem:
    service: Service = request.app.state.service
    service.log.count("none", HTTPStatus.METHOD_NOT_ALLOWED, 0.0)
    allowed: set[str] = set()
    # Of all routes of this path: each has one method.
    for route in request.app.routes:
        if route.path_regex.match(request.url.path):
            allowed |= route.methods
    if "GET" in allowed:
        allowed.add("HEAD")
    return Problem(
        HTTPStatus.METHOD_NOT_ALLOWED,
        f"method {request.method[:20]} not allowed",
        headers={"Allow": ", ".join(sorted(allowed))},
    )


@asynccontextmanager
async def _polling(windows: Windows) -> AsyncIterator[None]:
    """Look at the branch, and at its remote, while the application runs."""
    settings = windows.settings
    works = [(windows.poll, settings.poll_seconds), (windows.maintain, settings.maintain_seconds)]
    if settings.remote is not None:
        works.append((windows.fetch, settings.fetch_seconds))
    # Each on its own: a remote that hangs keeps nobody from looking at the branch.
    tasks = [asyncio.create_task(_repeatedly(*each)) for each in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _repeatedly(work: Callable[[], None], seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        # What is in the way now may be out of it the next time.
        with suppress(WorkspaceError, Problem, OSError):
            await run_in_threadpool(work)
