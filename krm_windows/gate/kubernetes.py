"""The Kubernetes API, as far as the gate needs it."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import TypeVar

from krm_windows.gate import clocks
from krm_windows.gate.connection import Connection, trusting
from krm_windows.gate.names import user
from krm_windows.gate.objects import MANAGER, Json, cut, dig
from krm_windows.gate.timetable import TIMEOUT, Target, run_seconds

AT_ONCE = 8  # requests: more keep one processor no busier
# For a status where there is none: no answer, or one that cannot be taken.
UNANSWERED = 0
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_DONE = (HTTPStatus.OK, HTTPStatus.CREATED)
T = TypeVar("T")


class ApiError(Exception):
    """What the API server did not do; `status` is that of HTTP, or `UNANSWERED`."""

    def __init__(self, message: str, status: int = UNANSWERED) -> None:
        super().__init__(cut(message))
        self.status = status


class Cluster:
    """An API server; `account` is the folder of `token` and `ca.crt`, `now` is this node's clock.

    `skew` is how far that is ahead of the server's, at worst, with the way of an answer.
    """

    skew = timedelta(0)

    def __init__(
        self,
        host: str,
        port: str,
        account: Path,
        timeout: float = TIMEOUT,
        now: Callable[[], datetime] = clocks.now,
    ) -> None:
        self._storing = Lock()
        self._account = account
        self._timeout = timeout
        self._now = now
        self._threads = ThreadPoolExecutor(AT_ONCE)
        self._connection = Connection(host, int(port), context=trusting(account / "ca.crt"))
        self._versions: dict[str, str] = {}
        self._token = ""
        self.renew(0)

    @property
    def clocks_are_apart(self) -> bool:
        """Whether they are too far apart to open anything."""
        return abs(self.skew) > clocks.MOST

    def renew(self, targets: int) -> None:
        """Begin another run, over so many targets, with its own time and the token of now."""
        self._end = monotonic() + run_seconds(targets, self._timeout)
        self._longest = self._timeout
        with suppress(OSError, ValueError):  # kubelet writes it anew every hour
            self._token = (self._account / "token").read_text().strip()

    def each(
        self, targets: Sequence[Target], work: Callable[["Cluster", Target], T]
    ) -> Iterator[tuple[Target, T]]:
        """Work on every target, `AT_ONCE` at a time, and give what comes of it, in their order."""
        # Requests that hang leave time to others, and half of it to be made anew.
        share = (self._end - monotonic()) / 2 * AT_ONCE / max(AT_ONCE, len(targets))
        self._longest = min(self._timeout, share)
        yield from zip(targets, self._threads.map(partial(work, self), targets), strict=True)

    def get(self, target: Target) -> Json:
        """Give the object of `target`; raise `ApiError`."""
        return self._object(target, "GET")

    def patch(self, target: Target, body: Json) -> Json:
        """Apply a JSON merge patch to the version that it names; give what it makes."""
        if not dig(body, "metadata", "resourceVersion"):  # it would undo what others have changed
            raise ApiError(f"{target} has no resourceVersion")
        # Without the name of a manager Flux would undo it: what kubectl writes it takes back.
        return self._object(target, "PATCH", f"?fieldManager={MANAGER}", body)

    def may_patch(self, policy: str, target: Target) -> bool:
        """Say whether the gate of another policy may still patch a target, so gates it."""
        group, home = "authorization.k8s.io/v1", target.namespace
        attributes = {
            "verb": "patch",
            "group": target.group,
            "resource": target.resource,
            "namespace": home,
            "name": target.name,
        }
        review: Json = {
            "apiVersion": group,
            "kind": "LocalSubjectAccessReview",
            "metadata": {"namespace": home},
            "spec": {"user": user(policy), "resourceAttributes": attributes},
        }
        path = f"/apis/{group}/namespaces/{home}/localsubjectaccessreviews"
        status = dig(self.ask("POST", path, review), "status")
        allowed, error = dig(status, "allowed"), dig(status, "evaluationError")
        if error or not isinstance(allowed, bool):
            raise ApiError(f"it is not known whether {policy} still gates it: {error}")
        return allowed

    def _object(
        self, target: Target, method: str, query: str = "", body: Json | None = None
    ) -> Json:
        group, version = target.group, target.version or self._preferred(target.group)
        path = f"{target.namespace}/{target.resource}/{target.name}{query}"
        live = self.ask(method, f"/apis/{group}/{version}/namespaces/{path}", body)
        for key, wanted in (("name", target.name), ("namespace", target.namespace)):
            if dig(live, "metadata", key) != wanted:  # a proxy may mix up answers
                raise ApiError(f"another object than {target} was answered")
        return live

    def _preferred(self, group: str) -> str:
        if group not in self._versions:
            found = dig(self.ask("GET", f"/apis/{group}"), "preferredVersion", "version")
            if not isinstance(found, str):
                raise ApiError(f"the server prefers no version of {group}")
            self._versions[group] = found
        return self._versions[group]

    def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        """Send a request and give the object that is answered; whatever goes wrong: `ApiError`."""
        seconds = min(self._longest, self._end - monotonic())
        if seconds <= 0:
            raise ApiError(f"no time left for {method} {path}")
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type}
        text = json.dumps(body) if body else None
        try:
            response, content = self._connection.ask(method, path, text, headers, seconds)
        except Exception as error:  # what an answer may do to HTTP and TLS, no one can list
            raise ApiError(f"no answer to {method} {path}: {error!r}") from error
        skew = clocks.skew(response.headers["Date"], self._now())
        with self._storing:
            self.skew = max(self.skew, skew, key=abs)
        if response.status in _BUSY:
            # Whoever tries again comes as late as it asks for (RFC 9110, 10.2.3), if there is time.
            later = response.headers["Retry-After"] or ""
            wait = int(later) if later.isdecimal() else 1
            if wait < min(self._longest, self._end - monotonic()):
                sleep(wait)
        return _answer(response.status, content, f"{method} {path}")


def _answer(status: int, content: bytes, request: str) -> Json:
    """Give the object of an answer; raise `ApiError` for a refusal, and for what is no object."""
    try:
        found = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        found = f"{error!r} in {content[:200]!r}"
    if status not in _DONE:
        raise ApiError(f"{status} to {request}: {dig(found, 'message') or found}", status)
    if not isinstance(found, dict):
        raise ApiError(f"the response to {request} is not an object: {found}")
    return found
