"""The Kubernetes API, as far as the gate needs it.

Requests for targets run several at once, each in its share of time
(docs/decisions/0029-connections-are-kept-and-requests-run-together.md).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import copy
from datetime import datetime
from http import HTTPStatus
from itertools import count
from math import ceil
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, TypeVar

from krm_windows.gate import clocks
from krm_windows.gate.connection import Connection, trusting
from krm_windows.gate.names import user
from krm_windows.gate.objects import MANAGER, cut, dig, parse
from krm_windows.gate.timetable import TIMEOUT, Target, run_seconds

# Requests: more keep one processor no busier, and the API server gives each account its share.
AT_ONCE = 8
# For a status where there is none: no answer, and one that cannot be taken.
UNANSWERED, REFUSED = 0, -1
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_DONE = (HTTPStatus.OK, HTTPStatus.CREATED)
T = TypeVar("T")


class ApiError(Exception):
    """The API server did not do what it was asked.

    `status` is its HTTP status, or `UNANSWERED`, or `REFUSED`.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(cut(message))
        self.status = status


class Cluster:
    """An API server; `account` is the folder of `token` and `ca.crt`, `now` is this node's clock.

    For several requests at once it is copied: copies share all but the time that they have.
    """

    def __init__(
        self,
        host: str,
        port: str,
        account: Path,
        timeout: float = TIMEOUT,
        now: Callable[[], datetime] = clocks.now,
    ) -> None:
        self.clocks = clocks.Clocks()
        self._account = account
        self._timeout = timeout
        self._now = now
        self._threads = ThreadPoolExecutor(AT_ONCE)
        self._connection = Connection(host, int(port), context=trusting(account / "ca.crt"))
        self._versions: dict[str, str] = {}
        self._discovering = Lock()
        self._token = ""
        self.renew(0)

    def renew(self, targets: int) -> None:
        """Begin another run, over so many targets, with its own time, and the token of now."""
        self._end = monotonic() + run_seconds(targets, self._timeout)
        with suppress(OSError, ValueError):  # kubelet writes it anew every hour
            self._token = (self._account / "token").read_text().strip()

    def each(
        self, targets: Sequence[Target], work: Callable[["Cluster", Target], T]
    ) -> Iterator[tuple[Target, T]]:
        """Work on every target, `AT_ONCE` at a time, and give what comes of it, in their order.

        Each has its share of the time that is left: what one leaves, the next have.
        """

        def turn(number: int, target: Target) -> T:
            # With 20 left, 8 at a time, each has a third of the time.
            rounds = ceil((len(targets) - number) / AT_ONCE)
            now = monotonic()
            mine = copy(self)
            mine._end = now + (self._end - now) / rounds  # noqa: SLF001 - its own
            return work(mine, target)

        yield from zip(targets, self._threads.map(turn, count(), targets), strict=True)

    def get(self, target: Target, read: Callable[[Target, object], T]) -> T:
        """Give what `read` makes of the object of `target`; raise `ApiError`."""
        return read(target, self.ask("GET", self._path(target)))

    def patch(
        self, target: Target, body: dict[str, object], read: Callable[[Target, object], T]
    ) -> T:
        """Apply a JSON merge patch (RFC 7386) and give what `read` makes of the object then.

        It is made for a version, so that what somebody else has changed since is not undone.
        """
        if not dig(body, "metadata", "resourceVersion"):
            raise ApiError(REFUSED, f"{target} has no resourceVersion")
        # Without the name of a manager Flux would undo it: what kubectl writes it takes back.
        path = f"{self._path(target)}?fieldManager={MANAGER}"
        return read(target, self.ask("PATCH", path, body))

    def may_patch(self, policy: str, target: Target) -> bool:
        """Say whether the gate of another policy may still patch a target, so gates it."""
        group = "/apis/authorization.k8s.io/v1"
        path = f"{group}/namespaces/{target.namespace}/localsubjectaccessreviews"
        attributes = {
            "verb": "patch",
            "group": target.group,
            "resource": target.resource,
            "namespace": target.namespace,
            "name": target.name,
        }
        review: dict[str, object] = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "LocalSubjectAccessReview",
            "metadata": {"namespace": target.namespace},
            "spec": {"user": user(policy), "resourceAttributes": attributes},
        }
        status = dig(self.ask("POST", path, review), "status")
        allowed, error = dig(status, "allowed"), dig(status, "evaluationError")
        if not isinstance(allowed, bool) or (error and not allowed):
            raise ApiError(REFUSED, f"it is not known whether {policy} still gates it: {error}")
        return allowed

    def _path(self, target: Target) -> str:
        version = target.version or self._preferred(target.group)
        kind = f"/apis/{target.group}/{version}/namespaces/{target.namespace}/{target.resource}"
        return f"{kind}/{target.name}"

    def _preferred(self, group: str) -> str:
        """Give the version of a group that the server prefers; it is asked for once."""
        with self._discovering:
            if group not in self._versions:
                found = dig(self.ask("GET", f"/apis/{group}"), "preferredVersion", "version")
                if not isinstance(found, str):
                    raise ApiError(REFUSED, f"the server prefers no version of {group}")
                self._versions[group] = found
            return self._versions[group]

    def ask(self, method: str, path: str, body: dict[str, object] | None = None) -> dict[str, Any]:
        """Send a request and give the object that is answered; whatever goes wrong: `ApiError`."""
        # Half of the time for a patch: one that is not answered is made anew in the other half.
        left = self._end - monotonic()
        seconds = min(self._timeout, left / 2 if method == "PATCH" else left)
        if seconds <= 0:
            raise ApiError(UNANSWERED, f"no time left for {method} {path}")
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type}
        text = json.dumps(body) if body else None
        asked = self._now()
        try:
            response, content = self._connection.ask(method, path, text, headers, seconds)
        except Exception as error:  # what an answer may do to HTTP and TLS, no one can list
            raise ApiError(UNANSWERED, f"no answer to {method} {path}: {error!r}") from error
        self.clocks.compare(response.headers["Date"], asked, self._now())
        later = response.headers["Retry-After"]
        if response.status in _BUSY and later:
            # As long as it asks for (RFC 9110, 10.2.3), if there is time: else the others go first.
            wait = int(later) if later.isdecimal() else 1
            if monotonic() + wait >= self._end:
                raise ApiError(UNANSWERED, f"{method} {path}: the server is busy for {wait} s")
            sleep(wait)
            return self.ask(method, path, body)
        return _object(response.status, content, f"{method} {path}")


def _object(status: int, content: bytes, request: str) -> dict[str, Any]:
    """Give the object of an answer; raise `ApiError` for a refusal, and for what is no object."""
    try:
        found = parse(content.decode())
    except (ValueError, RecursionError) as error:
        found = f"{error!r} in {content[:200]!r}"
    if status not in _DONE:
        raise ApiError(status, f"{status} to {request}: {dig(found, 'message') or found}")
    if not isinstance(found, dict):
        raise ApiError(REFUSED, f"the response to {request} is not an object: {found}")
    return found
