"""What holds for every request: it is counted, logged, and answered with headers for browsers."""

import time
from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from krm_windows.service import admission
from krm_windows.service.access import Scope
from krm_windows.service.log import Log
from krm_windows.service.problems import Problem, as_response

# Pages load what is theirs from here, and nothing from anywhere else (CSP Level 3).
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_NOT_KEPT = {"Cache-Control": "no-store"}
_LASTING = {"Strict-Transport-Security": "max-age=31536000"}
# Whatever was asked for.
_REFUSED = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
# Characters of a policy's name in a line of the log: a path may have any number of them.
_LONGEST_NAME = 200
_TWO_LENGTHS = Problem(
    HTTPStatus.BAD_REQUEST,
    "a request has either Content-Length or Transfer-Encoding",
    headers={"Connection": "close"},
)
_NUL = Problem(HTTPStatus.BAD_REQUEST, "the path must not contain NUL (%00)")


class Guard:
    """Stands before an application: refuses what no handler is to see, adds headers to answers."""

    def __init__(self, application: ASGIApp, log: Log, *, secure: bool) -> None:
        """Guard an application; `secure` where callers come over TLS."""
        self._application = application
        self._log = log
        self._headers = HEADERS | _NOT_KEPT | (_LASTING if secure else {})

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Hand a request on, or refuse it."""
        # The start and the end of the server are said in the same way (ASGI, lifespan).
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        began = time.monotonic()
        status = 0

        async def with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, text in self._headers.items():
                    # An answer may have a header of its own, as a calendar has its policy.
                    headers.setdefault(name, text)
            await send(message)

        # As GET, without the body, which uvicorn leaves out (RFC 9110, 9.3.2).
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        state = {**scope.get("state", {}), "logged": {}, "scope": None}
        scope = {**scope, "method": method, "state": state}
        problem = _problem(scope)
        try:
            await (self._application if problem is None else as_response(problem))(
                scope, receive, with_headers
            )
        # It was logged and answered, and Starlette raises it again.
        except Exception:
            if not status:
                raise
        self._count(Request(scope), status, time.monotonic() - began)

    def _count(self, request: Request, status: int, seconds: float) -> None:
        """Count a request, and log it if it is a change, or the refusal of anything."""
        route = request.scope.get("route")
        operation = getattr(route, "unique_id", "none")
        self._log.count(operation, status, seconds)
        logged: dict[str, object] = request.state.logged
        # What a handler names is an event, though it changes no policy.
        changes = request.method != "GET" and request.state.scope not in (None, Scope.READ)
        if route is None or not (changes or status in _REFUSED or "event" in logged):
            return
        event = logged.pop("event", "changed")
        if status >= HTTPStatus.BAD_REQUEST:
            event = "refused"
        # As it was asked for, whether there is such a policy or not.
        parts = request.path_params
        policy = None
        if "name" in parts:
            policy = f"{parts['namespace']}/{parts['name']}"[:_LONGEST_NAME]
        self._log.record(
            str(event),
            operation=operation,
            policy=policy,
            status=status,
            address=admission.address(request),
            **logged,
        )


def _problem(scope: Connection) -> Problem | None:
    """Return why a request is refused whatever it asks for; None where it is not."""
    # A proxy that reads the length and not the chunks takes what is behind for another's request
    # (RFC 9112, 6.1).
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
        return _TWO_LENGTHS
    # No path of a policy, a file or a page has one; to programs, a text ends there.
    return _NUL if "\0" in scope["path"] else None
