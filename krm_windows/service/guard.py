"""What holds for every answer: headers for browsers, no more work at once than is allowed."""

import asyncio
from collections.abc import Iterable
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from krm_windows.service.problems import Problem, as_response
from krm_windows.service.settings import Limits

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
_BUSY = Problem(
    HTTPStatus.SERVICE_UNAVAILABLE, "too many requests at once", headers={"Retry-After": "1"}
)
_TWO_LENGTHS = Problem(
    HTTPStatus.BAD_REQUEST,
    "a request has either Content-Length or Transfer-Encoding",
    headers={"Connection": "close"},
)
_NUL = Problem(HTTPStatus.BAD_REQUEST, "the path must not contain NUL (%00)")
# Whoever takes an answer slower than this does not want it.
_SEND_SECONDS = 30.0
# Asked by whoever decides whether the service lives: they are answered however busy it is.
ALWAYS = ("/healthz", "/readyz", "/metrics")
"""Paths that are answered however busy the service is, and however often they are asked for."""


class Guard:
    """Stands before an application: so many requests are worked on at once, and no more.

    One that is waited for takes no place: whoever sends a body slowly, or reads an answer slowly,
    stands in nobody's way. How long they may take, and how many connections there are, is limited
    elsewhere.
    """

    def __init__(self, application: ASGIApp, limits: Limits, *, secure: bool) -> None:
        """Guard an application; `secure` where callers come over TLS."""
        self._application = application
        self._left = limits.concurrency
        self._head = limits.head
        headers = HEADERS | _NOT_KEPT
        if secure:
            headers |= _LASTING
        # As they are sent, and encoded once: there are many answers.
        self._headers = [(name.lower().encode(), text.encode()) for name, text in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, or say that there are too many."""
        # The start and the end of the server are said in the same way (ASGI, lifespan).
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        guarded = self._guarded(send)
        # A proxy that reads the length and not the chunks takes what is behind for another's
        # request (RFC 9112, 6.1).
        names = {name for name, _ in scope["headers"]}
        if {b"content-length", b"transfer-encoding"} <= names:
            await as_response(_TWO_LENGTHS)(scope, receive, guarded)
            return
        # No path of a policy, a file or a page has one; to programs, a text ends there.
        if "\0" in scope["path"]:
            await as_response(_NUL)(scope, receive, guarded)
            return
        # Of those that are refused here none has a place.
        if self._left <= 0 and scope["path"] not in ALWAYS:
            await as_response(_BUSY)(scope, receive, guarded)
            return
        # h11 has a limit for a head that is not whole yet: one that comes at once passes it.
        if _head(scope) > self._head:
            detail = f"the request line and headers must have at most {self._head} bytes"
            problem = Problem(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, detail)
            await as_response(problem)(scope, receive, guarded)
            return
        # On the event loop alone, so it needs no lock.
        self._left -= 1
        try:
            await self._application(scope, self._received(receive), guarded)
        except TimeoutError:
            # The answer is not taken: uvicorn ends the connection of one that is not whole.
            return
        finally:
            self._left += 1

    def _guarded(self, send: Send) -> Send:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = self._with_headers(message["headers"])
            self._left += 1
            try:
                async with asyncio.timeout(_SEND_SECONDS):
                    await send(message)
            finally:
                self._left -= 1

        return guarded

    def _received(self, receive: Receive) -> Receive:
        async def received() -> Message:
            self._left += 1
            try:
                return await receive()
            finally:
                # Below nothing for a moment: what is here is worked on, and others are refused.
                self._left -= 1

        return received

    def _with_headers(self, own: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        # An answer may have a header of its own, as a calendar has its policy.
        headers = list(own)
        names = {name for name, _ in headers}
        headers += [each for each in self._headers if each[0] not in names]
        return headers


def _head(scope: Scope) -> int:
    """Return how many bytes the line and the headers of a request have, `: ` and ends included."""
    line = len(scope["raw_path"]) + len(scope["query_string"])
    return line + sum(len(name) + len(text) + 4 for name, text in scope["headers"])
