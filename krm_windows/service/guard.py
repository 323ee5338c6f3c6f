"""What holds for every request, and headers for browsers with every answer."""

from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
_TWO_LENGTHS = Problem(
    HTTPStatus.BAD_REQUEST,
    "a request has either Content-Length or Transfer-Encoding",
    headers={"Connection": "close"},
)
_NUL = Problem(HTTPStatus.BAD_REQUEST, "the path must not contain NUL (%00)")


class Guard:
    """Stands before an application: refuses what no handler is to see, adds headers to answers."""

    def __init__(self, application: ASGIApp, *, secure: bool) -> None:
        """Guard an application; `secure` where callers come over TLS."""
        self._application = application
        headers = HEADERS | _NOT_KEPT
        if secure:
            headers |= _LASTING
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, or refuse it."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, text in self._headers.items():
                    # An answer may have a header of its own, as a calendar has its policy.
                    headers.setdefault(name, text)
            await send(message)

        # As GET, without the body, which uvicorn leaves out (RFC 9110, 9.3.2).
        if scope.get("method") == "HEAD":
            scope = {**scope, "method": "GET"}
        # The start and the end of the server are said in the same way (ASGI, lifespan).
        problem = _problem(scope) if scope["type"] == "http" else None
        application = self._application if problem is None else as_response(problem)
        await application(scope, receive, with_headers)


def _problem(scope: Scope) -> Problem | None:
    """Return why a request is refused whatever it asks for; None where it is not."""
    # A proxy that reads the length and not the chunks takes what is behind for another's request
    # (RFC 9112, 6.1).
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
        return _TWO_LENGTHS
    # No path of a policy, a file or a page has one; to programs, a text ends there.
    return _NUL if "\0" in scope["path"] else None
