"""The application: the operations of the table behind one middleware, and what goes on beside."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from krm_windows.service.access import Access
from krm_windows.service.calls import HTML, Operation
from krm_windows.service.guard import Guard
from krm_windows.service.log import Log
from krm_windows.service.middleware import Middleware
from krm_windows.service.pages import rendering
from krm_windows.service.pages.table import PAGES
from krm_windows.service.problems import Problem, as_response
from krm_windows.service.routes import OPERATIONS
from krm_windows.service.windows import Windows
from krm_windows.system.errors import WorkspaceError


def make(
    windows: Windows,
    access: Access,
    log: Log | None = None,
    operations: Iterable[Operation] = (*OPERATIONS, *PAGES),
) -> ASGIApp:
    """Make the application that serves some policies."""
    middleware = Middleware(windows, access, log or Log())
    # One route for each path, whatever the methods: else 405 could not say which there are.
    routes: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        routes.setdefault(operation.path, {})[operation.method] = operation
    application = Starlette(
        routes=[Route(path, _Dispatch(middleware, every)) for path, every in routes.items()],
        lifespan=lambda _: _polling(windows),
        exception_handlers={HTTPStatus.NOT_FOUND.value: _not_found},
    )
    # `/policies/` is another path than `/policies`: nobody is sent elsewhere.
    application.router.redirect_slashes = False
    settings = windows.settings
    # Outermost, so that no answer lacks its headers.
    return Guard(application, secure=settings.secure)


class _Dispatch:
    """What answers on one path, whatever the method."""

    def __init__(self, middleware: Middleware, operations: dict[str, Operation]) -> None:
        self._middleware = middleware
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        request = Request(scope, receive, send)
        method = request.method
        # As GET, without the body, which uvicorn leaves out (RFC 9110, 9.3.2).
        if method == "HEAD":
            method = "GET"
        # Only methods of the table; TRACE and the like are refused with the rest.
        operation = self._operations.get(method)
        if operation is None:
            response = self._refused(request)
        else:
            response = await self._middleware.answer(operation, request)
        await response(scope, receive, send)

    def _refused(self, request: Request) -> Response:
        allowed = list(self._operations)
        if "GET" in allowed:
            allowed.append("HEAD")
        problem = Problem(
            HTTPStatus.METHOD_NOT_ALLOWED,
            f"method {request.method[:20]} not allowed",
            headers={"Allow": ", ".join(allowed)},
        )
        self._middleware.log.count("none", problem.status.value, 0.0)
        return _refusal(request, problem)


async def _not_found(request: Request, _: Exception) -> Response:
    return _refusal(request, Problem(HTTPStatus.NOT_FOUND, "path not found"))


def _refusal(request: Request, problem: Problem) -> Response:
    """Refuse what is in no table: with a page, if a browser asks."""
    # Programs take anything, `*/*`; a browser names HTML.
    if HTML in request.headers.get("accept", ""):
        return rendering.refused(problem, request)
    return as_response(problem)


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
