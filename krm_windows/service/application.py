"""The application: operations behind one door, where caller, parameters and body are checked."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from krm_windows.service.access import Access, Caller
from krm_windows.service.calls import Call, Operation, Parameter, bad_request
from krm_windows.service.problems import MEDIA_TYPE, Problem
from krm_windows.service.routes import OPERATIONS
from krm_windows.service.windows import Windows
from krm_windows.service.writing import Writer
from krm_windows.system.errors import WorkspaceError


def make(windows: Windows, access: Access) -> Starlette:
    """Make the application that serves some policies."""
    door = Door(windows, access)
    routes: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        routes.setdefault(operation.path, {})[operation.method] = operation
    return Starlette(
        routes=[Route(path, _Dispatch(door, every)) for path, every in routes.items()],
        lifespan=lambda _: _polling(windows),
        exception_handlers={404: _not_found},
    )


class _Dispatch:
    """What answers on one path, whatever the method."""

    def __init__(self, door: "Door", operations: dict[str, Operation]) -> None:
        self._door = door
        self._operations = operations

    async def __call__(  # type: ignore[no-untyped-def]
        self,
        scope,  # noqa: ANN001
        receive,  # noqa: ANN001
        send,  # noqa: ANN001
    ) -> None:
        request = Request(scope, receive, send)
        method = request.method
        if method == "HEAD":
            method = "GET"
        operation = self._operations.get(method)
        if operation is None:
            allowed = ", ".join(self._operations)
            problem = Problem(
                HTTPStatus.METHOD_NOT_ALLOWED,
                f"{request.method[:20]} is not for this path",
                headers={"Allow": allowed},
            )
            response = as_response(problem)
        else:
            response = await self._door.answer(operation, request)
        await response(scope, receive, send)


class Door:
    """Lets calls in: one place for what holds for every operation."""

    def __init__(self, windows: Windows, access: Access) -> None:
        """Let callers in to the policies."""
        self._windows = windows
        self._writer = Writer(windows)
        self._access = access

    async def answer(self, operation: Operation, request: Request) -> Response:
        """Answer a request, whatever it is."""
        show = operation.problem or as_response
        try:
            return await operation.handler(await self._call(operation, request))
        except Problem as problem:
            return show(problem)
        except WorkspaceError as error:
            return show(Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)))

    async def _call(self, operation: Operation, request: Request) -> Call:
        caller = self._caller(operation, request)
        values = dict(_query(operation, request))
        values.update(_headers(operation, request))
        body, media_type = b"", ""
        if operation.body is not None:
            media_type = _media_type(operation, request)
            body = await self._body(request)
        return Call(request, self._windows, self._writer, caller, values, body, media_type)

    def _caller(self, operation: Operation, request: Request) -> Caller:
        caller = self._access.caller(request)
        if caller is None:
            raise Problem(
                HTTPStatus.UNAUTHORIZED,
                "say who you are",
                headers={"WWW-Authenticate": 'Bearer realm="krm-windows"'},
            )
        if operation.scope is not None and operation.scope not in caller.scopes:
            raise Problem(
                HTTPStatus.FORBIDDEN, f"{caller.name} has no scope {operation.scope.value!r}"
            )
        return caller

    async def _body(self, request: Request) -> bytes:
        limits = self._windows.settings.limits
        body = bytearray()
        try:
            async with asyncio.timeout(limits.receive_seconds):
                async for part in request.stream():
                    body += part
                    if len(body) > limits.body:
                        raise Problem(
                            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                            f"a body has at most {limits.body} bytes",
                        )
        except TimeoutError:
            raise Problem(HTTPStatus.REQUEST_TIMEOUT, "the body did not come in time") from None
        except ClientDisconnect:
            raise bad_request("the body did not come to its end") from None
        return bytes(body)


def _query(operation: Operation, request: Request) -> Iterable[tuple[str, object]]:
    """Yield the parameters of a query; an unknown one is a typing error, and refused."""
    known = {each.name: each for each in operation.parameters if each.place == "query"}
    seen: set[str] = set()
    try:
        pairs = parse_qsl(
            request.url.query, keep_blank_values=True, errors="strict", max_num_fields=50
        )
    except ValueError:
        raise bad_request("the query cannot be read") from None
    for name, text in pairs:
        if name not in known:
            raise bad_request(f"there is no parameter {name[:100]!r}")
        if name in seen:
            raise bad_request(f"{name} is given twice")
        seen.add(name)
        yield name, _read(known[name], text)


def _headers(operation: Operation, request: Request) -> Iterable[tuple[str, object]]:
    for parameter in operation.parameters:
        text = request.headers.get(parameter.name)
        if parameter.place == "header" and text is not None:
            yield parameter.name, _read(parameter, text)


def _read(parameter: Parameter, text: str) -> object:
    try:
        return parameter.read(text)
    except ValueError as error:
        raise bad_request(f"{parameter.name} {error}") from None


def _media_type(operation: Operation, request: Request) -> str:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if operation.body is None or given not in operation.body.content:
        taken = ", ".join(operation.body.content if operation.body else ())
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be one of {taken}")
    return given


def as_response(problem: Problem) -> Response:
    """Answer with problem details."""
    body = json.dumps(problem.record(), ensure_ascii=True).encode()
    return Response(body, problem.status.value, dict(problem.headers), MEDIA_TYPE)


async def _not_found(_: Request, __: Exception) -> Response:
    return as_response(Problem(HTTPStatus.NOT_FOUND, "there is nothing at this path"))


@asynccontextmanager
async def _polling(windows: Windows) -> AsyncIterator[None]:
    """Look at the branch, and at its remote, while the application runs."""
    settings = windows.settings
    tasks = [asyncio.create_task(_repeatedly(windows.poll, settings.poll_seconds))]
    if settings.remote is not None:
        tasks.append(asyncio.create_task(_repeatedly(windows.fetch, settings.fetch_seconds)))
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
