"""The application: the routes of the interface and of pages, and what goes on beside."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from itertools import chain

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from krm_windows.krm import InputError
from krm_windows.service import description, problems
from krm_windows.service.access import Access
from krm_windows.service.admission import Service
from krm_windows.service.bodies import HTML
from krm_windows.service.guard import Guard
from krm_windows.service.keys import REFRESH_SECONDS
from krm_windows.service.log import Log
from krm_windows.service.pages import rendering, table
from krm_windows.service.problems import Problem, as_response
from krm_windows.service.windows import Windows
from krm_windows.system.errors import WorkspaceError

# How often the branch is looked at, and Git asked whether there is anything to be packed.
_POLL_SECONDS = 1.0
_MAINTAIN_SECONDS = 3600.0
_REFUSALS = (
    *(Problem, RequestValidationError, HTTPException),
    *(InputError, WorkspaceError, OSError, Exception),
)


def make(windows: Windows, access: Access, log: Log | None = None) -> ASGIApp:
    """Make the application that serves some policies."""
    service = Service(windows, access, log or Log())
    application = FastAPI(
        routes=[*description.ROUTES, *table.ROUTES],
        lifespan=lambda _: _polling(windows, access),
        exception_handlers=dict.fromkeys(_REFUSALS, _refused),
        # `/policies/` is another path than `/policies`: nobody is sent elsewhere.
        redirect_slashes=False,
        # It is a route of ours, with a rate.
        openapi_url=None,
    )
    application.state.service = service
    # Outermost, so that no answer lacks its headers.
    return Guard(application, service.log, secure=windows.settings.tlsByProxy)


async def _refused(request: Request, error: Exception) -> Response:
    """Say why there is no answer: with a page, if a page was asked for."""
    if isinstance(error, HTTPException):
        # It has this path, and another method.
        request.scope.pop("route", None)
    problem = _problem(request, error)
    route = request.scope.get("route")
    # Programs take anything, `*/*`; a browser names HTML.
    is_page = HTML in request.headers.get("accept", "")
    if route is not None:
        is_page = not route.include_in_schema
    return rendering.refused(request, problem) if is_page else as_response(problem)


def _problem(request: Request, error: Exception) -> Problem:
    """Return an error as the caller gets it; the log says what is for the operator."""
    match error:
        case Problem():
            problem = error
        case RequestValidationError():
            problem = problems.invalid(error)
        case HTTPException(status_code=HTTPStatus.METHOD_NOT_ALLOWED):
            problem = _not_allowed(request)
        case HTTPException():
            problem = Problem(
                HTTPStatus.NOT_FOUND,
                "Nothing is at this address: it may be mistyped, or out of date.",
            )
        case InputError():
            # A policy of the repository that cannot be read.
            problem = Problem(HTTPStatus.CONFLICT, str(error))
        case WorkspaceError():
            problem = Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        case OSError():
            # A full disk, or a volume that is gone: it may be back soon.
            detail = f"the repository is unavailable: {error.strerror}"
            problem = Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, reason=str(error))
        case _:
            service: Service = request.app.state.service
            trace = "".join(traceback.format_exception(error))
            operation = getattr(request.scope.get("route"), "unique_id", "none")
            service.log.record("failure", operation=operation, trace=trace)
            detail = "internal error: see the log of the service"
            return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail)
    request.state.logged["detail"] = problem.reason or problem.detail
    return problem


def _not_allowed(request: Request) -> Problem:
    # Of all routes of this path: each has one method.
    routes = [each for each in request.app.routes if each.path_regex.match(request.url.path)]
    allowed = set(chain.from_iterable(each.methods for each in routes))
    if "GET" in allowed:
        allowed.add("HEAD")
    return Problem(
        HTTPStatus.METHOD_NOT_ALLOWED,
        f"method {request.method[:20]} not allowed",
        headers={"Allow": ", ".join(sorted(allowed))},
    )


@asynccontextmanager
async def _polling(windows: Windows, access: Access) -> AsyncIterator[None]:
    """Look at the branch, the remote, the provider's keys and the tokens, while it runs."""
    settings = windows.settings
    works = [(windows.poll, _POLL_SECONDS), (windows.maintain, _MAINTAIN_SECONDS)]
    if settings.remote is not None:
        works.append((windows.fetch, settings.fetchSeconds))
    if access.keys is not None:
        works.append((access.keys.refresh, REFRESH_SECONDS))
    # Each on its own: a remote that hangs keeps nobody from looking at the branch.
    tasks = [asyncio.create_task(_repeatedly(*each)) for each in works]
    # Said in the log, though nobody calls.
    tasks.append(asyncio.create_task(_repeatedly(access.is_right, _POLL_SECONDS)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _repeatedly(work: Callable[[], object], seconds: float) -> None:
    while True:
        # What is in the way now may be out of it the next time.
        with suppress(WorkspaceError, Problem, OSError):
            await run_in_threadpool(work)
        await asyncio.sleep(seconds)
