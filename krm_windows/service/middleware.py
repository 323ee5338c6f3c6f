"""What is around every handler: a call is checked before it, and logged behind it."""

import asyncio
import time
import traceback
from collections.abc import Iterable
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from krm_windows.service.access import Access, Caller
from krm_windows.service.calls import FORM, Call, Operation, Parameter, bad_request
from krm_windows.service.guard import ALWAYS
from krm_windows.service.log import Log
from krm_windows.service.problems import Problem, as_response
from krm_windows.service.rates import Rate
from krm_windows.service.settings import SERVICE
from krm_windows.service.windows import Windows
from krm_windows.service.writing import Writer
from krm_windows.system.errors import WorkspaceError

_SAFE = ("GET", "HEAD")
_REFUSED = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
FORM_TOKEN = "form-token"  # noqa: S105 - the name of a field
"""The field of a form that proves that it is ours."""
# Of who fails to say who they are, from one address: enough for typing errors.
_FAILURES_A_MINUTE = 60
_MOST_FIELDS = 200
# Characters of a policy's name in a line of the log: a path may have any number of them.
_LONGEST_NAME = 200
# Who waits for the keys of a provider in seconds: they stand in the way of others.
_PATIENCE = 3.0


class Middleware:
    """Lets calls in: one place for what holds for every operation."""

    def __init__(self, windows: Windows, access: Access, log: Log) -> None:
        """Let callers in to the policies."""
        limits = windows.settings.limits
        self.log = log
        self._windows = windows
        self._writer = Writer(windows)
        self._access = access
        self._reads = Rate(limits.reads_a_minute)
        self._writes = Rate(limits.writes_a_minute)
        self._failures = Rate(_FAILURES_A_MINUTE)

    async def answer(self, operation: Operation, request: Request) -> Response:
        """Answer a request, whatever it is."""
        began = time.monotonic()
        logged: dict[str, object] = {}
        # What is logged is gathered on the way: by whom, which commit, why not.
        response = await self._answered(operation, request, logged)
        self.log.count(operation.name, response.status_code, time.monotonic() - began)
        if _is_logged(operation, response.status_code):
            self._record(operation, request, response.status_code, logged)
        return response

    async def _answered(
        self,
        operation: Operation,
        request: Request,
        logged: dict[str, object],
    ) -> Response:
        try:
            return await self._handled(operation, request, logged)
        except Problem as found:
            problem = found
            logged["detail"] = problem.reason or problem.detail
        except WorkspaceError as error:
            problem = Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
            logged["detail"] = str(error)
        except OSError as error:
            # A full disk, or a volume that is gone: it may be back soon.
            detail = f"the repository is unavailable: {error.strerror}"
            problem = Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail)
            logged["detail"] = str(error)
        # Whatever it is, the caller gets an answer, and the operator what to look at.
        except Exception as error:  # noqa: BLE001
            trace = "".join(traceback.format_exception(error))
            self.log.record("failure", operation=operation.name, trace=trace)
            detail = "internal error: see the log of the service"
            problem = Problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail)
        # A page says in words what JSON says to programs.
        if operation.problem is None:
            return as_response(problem)
        return operation.problem(problem, request)

    async def _handled(
        self,
        operation: Operation,
        request: Request,
        logged: dict[str, object],
    ) -> Response:
        call = await self._call(operation, request, logged)
        try:
            return await operation.handler(call)
        except Problem as problem:
            # A token that was tried in the form to sign in, and not in a header.
            if problem.status is HTTPStatus.UNAUTHORIZED:
                self._count_failure(request)
            raise

    async def _call(
        self,
        operation: Operation,
        request: Request,
        logged: dict[str, object],
    ) -> Call:
        self._check_host(request)
        if request.method not in _SAFE:
            self._check_origin(request)
        caller = await self._caller(operation, request)
        # Who begins a session is nobody yet.
        logged["caller"] = caller.name or None
        _check_scope(operation, caller)
        self._check_rate(operation, caller, request)
        # Before the body, which costs most: a wrong call is refused as early as possible.
        values = dict(_query(operation, request))
        values.update(_headers(operation, request))
        body, media_type = b"", ""
        if operation.body is not None:
            media_type = _media_type(operation, request)
            body = await self._body(request)
        call = Call(
            request=request,
            windows=self._windows,
            writer=self._writer,
            caller=caller,
            values=values,
            body=body,
            media_type=media_type,
            logged=logged,
            access=self._access,
            log=self.log,
        )
        if media_type == FORM and operation.scope is not None:
            self._check_form(call)
        return call

    async def _caller(self, operation: Operation, request: Request) -> Caller:
        # Whether the service lives is asked by programs that have no token.
        if operation.scope is None:
            return EVERYBODY
        try:
            await self._await_keys(request)
            found = self._access.caller(request)
        except Problem:
            self._count_failure(request)
            raise
        if found is None:
            raise Problem(
                HTTPStatus.UNAUTHORIZED,
                "authentication required: Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": 'Bearer realm="krm-windows"'},
            )
        return found

    def _count_failure(self, request: Request) -> None:
        """Count that somebody did not say who they are; raises Problem where it is too often."""
        wait = self._failures.take(_address(request) or "")
        if wait:
            raise _too_many(wait) from None

    async def _await_keys(self, request: Request) -> None:
        """Wait for the keys of a provider, in no thread, of which there are few."""
        awaited = self._access.awaited(request)
        if awaited is None:
            return
        found = asyncio.wrap_future(awaited)
        # Whoever reads them goes on, for others who wait.
        await asyncio.wait([found], timeout=_PATIENCE)
        if not found.done():
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "cannot fetch the identity provider's keys; try again later",
                headers={"Retry-After": "5"},
            )

    def _check_host(self, request: Request) -> None:
        """Refuse a name that is not ours: another site could have it lead here (DNS rebinding)."""
        hosts = self._windows.settings.hosts
        if hosts is None:
            return
        if _host(request) not in hosts:
            raise Problem(HTTPStatus.FORBIDDEN, "unknown host name")

    def _check_origin(self, request: Request) -> None:
        """Refuse what a page of another site has a browser send (Fetch Metadata, RFC 6454)."""
        # Only browsers send it, and no script can set it; curl does not.
        site = request.headers.get("sec-fetch-site", "none")
        if site not in ("same-origin", "none"):
            raise Problem(HTTPStatus.FORBIDDEN, "the request comes from another site")
        origin = request.headers.get("origin")
        if origin is None:
            return
        own = {f"{scheme}://{request.headers.get('host', '')}" for scheme in ("http", "https")}
        # A proxy may have called us by another name than the browser knows.
        public = self._windows.settings.public_url
        if public is not None:
            own = {public.rstrip("/")}
        if origin not in own:
            raise Problem(HTTPStatus.FORBIDDEN, "the request comes from another site")

    def _check_rate(self, operation: Operation, caller: Caller, request: Request) -> None:
        rate = self._reads
        # What takes an audit or a commit has a limit of its own, which is lower.
        if operation.is_costly:
            rate = self._writes
        # Programs that have no token ask whether the service lives, however often that is.
        if operation.scope is None and operation.path in ALWAYS:
            return
        # Who is not known is counted by address.
        wait = rate.take(caller.name or f"@{_address(request)}")
        if wait:
            raise _too_many(wait)

    def _check_form(self, call: Call) -> None:
        """Refuse a form that is not ours: a browser sends it with whatever it knows of a caller."""
        # A missing field is a wrong one; both are compared in constant time.
        token = call.form().get(FORM_TOKEN, "")
        if not self._access.is_form_token(call.caller, token):
            raise Problem(
                HTTPStatus.FORBIDDEN, "the form has expired: reload the page and send it again"
            )

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
                            f"the body must have at most {limits.body} bytes",
                            # The rest of it is not waited for.
                            headers={"Connection": "close"},
                        )
        except TimeoutError:
            raise Problem(
                HTTPStatus.REQUEST_TIMEOUT,
                "timed out reading the body",
                headers={"Connection": "close"},
            ) from None
        except ClientDisconnect:
            raise bad_request("the body is incomplete") from None
        return bytes(body)

    def _record(
        self,
        operation: Operation,
        request: Request,
        status: int,
        logged: dict[str, object],
    ) -> None:
        event = str(logged.pop("event", "changed"))
        if status >= HTTPStatus.BAD_REQUEST:
            event = "refused"
        # As it was asked for, whether there is such a policy or not.
        parts = request.path_params
        policy = None
        if "name" in parts:
            policy = f"{parts['namespace']}/{parts['name']}"[:_LONGEST_NAME]
        self.log.record(
            event,
            operation=operation.name,
            policy=policy,
            status=status,
            address=_address(request),
            **logged,
        )


EVERYBODY = Caller("", SERVICE, frozenset())
"""Who asks for what everybody may ask."""


def _address(request: Request) -> str | None:
    """Return the address that a request comes from; a socket of this machine has none."""
    if request.client is None:
        return None
    return request.client.host


def _host(request: Request) -> str | None:
    """Return the name by which a request calls us, without the port; None where it is none."""
    # Of IPv6 in brackets: `[::1]:8080`.
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname
    except ValueError:
        return None


def _is_logged(operation: Operation, status: int) -> bool:
    """Say whether an answer has a line in the log: every change, and every refusal of one."""
    # Whoever asked has it already.
    if status == HTTPStatus.NOT_MODIFIED:
        return False
    return operation.changes or status in _REFUSED


def _check_scope(operation: Operation, caller: Caller) -> None:
    if operation.scope is not None and not caller.may(operation.scope):
        raise Problem(HTTPStatus.FORBIDDEN, f"{caller.name} has no scope {operation.scope.value!r}")


def _too_many(wait: float) -> Problem:
    return Problem(
        HTTPStatus.TOO_MANY_REQUESTS,
        "too many requests: try again later",
        headers={"Retry-After": str(int(wait) + 1)},
    )


def _query(operation: Operation, request: Request) -> Iterable[tuple[str, object]]:
    """Yield the parameters of a query; an unknown one is a typing error, and refused."""
    # What is not in the table does not exist: the OpenAPI document says all.
    known = {each.name: each for each in operation.parameters if each.place == "query"}
    seen: set[str] = set()
    try:
        pairs = parse_qsl(
            request.url.query,
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise bad_request("the query cannot be read") from None
    for name, text in pairs:
        if name not in known:
            raise bad_request(f"unknown parameter {name[:100]!r}")
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
    # Without parameters, such as `; charset=utf-8`: JSON and YAML are UTF-8 here.
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if operation.body is None or given not in operation.body.content:
        taken = ", ".join(operation.body.content if operation.body else ())
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be one of {taken}")
    return given
