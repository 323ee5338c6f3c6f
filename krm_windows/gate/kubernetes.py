"""The Kubernetes API, as far as the gate needs it.

Requests for targets run several at once, each in its share of time
(docs/decisions/0029-connections-are-kept-and-requests-run-together.md).
"""

import json
import re
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime
from functools import partial
from http import HTTPStatus
from math import ceil
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import TypeVar

from krm_windows.gate import clocks
from krm_windows.gate.answers import Answer, Request
from krm_windows.gate.connection import Connections
from krm_windows.gate.names import user
from krm_windows.gate.objects import MANAGER, dig, parse
from krm_windows.gate.threads import in_order
from krm_windows.gate.timetable import TIMEOUT, Target, run_seconds

# Requests: more keep one processor no busier, and the API server gives each account its share.
AT_ONCE = 8
_WORDS = 1024  # characters of what a server says that are passed on
# For a status where there is none: no answer, and one that cannot be taken.
UNANSWERED, REFUSED = 0, -1
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS.value, HTTPStatus.SERVICE_UNAVAILABLE.value)
_DONE = (HTTPStatus.OK.value, HTTPStatus.CREATED.value)
_AUTHORIZATION = "authorization.k8s.io"
_CONTENT_TYPES = {"PATCH": "application/merge-patch+json"}
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
_LONGEST_WAIT = re.compile("[0-9]{1,4}")
T = TypeVar("T")


class ApiError(Exception):
    """The API server did not do what it was asked.

    `status` is its HTTP status, or `UNANSWERED`, or `REFUSED`.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message[:_WORDS])
        self.status = status


class Cluster:
    """An API server, for one run.

    `account` is the folder of `token` and `ca.crt`; `now` is this node's clock.

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
        tls = ssl.create_default_context(cafile=account / "ca.crt")
        # It is on since Python 3.13, and the CAs of common distributions fail it.
        tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
        # An IPv6 address may come in brackets.
        self._connections = Connections((host.strip("[]"), int(port)), tls)
        self._versions: dict[str, str] = {}
        self._discovering = Lock()
        self._reading = Lock()
        self._token = self._read_token()
        self.renew(0)

    def renew(self, targets: int) -> None:
        """Begin another run, over so many targets.

        It has its own time, and the token that is there now.
        """
        self._end = monotonic() + run_seconds(targets, self._timeout)
        with suppress(OSError, ValueError):  # kubelet writes it anew every hour
            self._token = self._read_token()

    def _read_token(self) -> str:
        return (self._account / "token").read_text().strip()

    def each(
        self,
        targets: Sequence[Target],
        work: Callable[["Cluster", Target], T],
    ) -> Iterator[tuple[Target, T]]:
        """Work on every target, `AT_ONCE` at a time, and give what comes of it.

        They begin and are given in the order of the targets, each with its share of the time that
        is left: what one leaves, the next have.
        """

        def turn(count: int, target: Target) -> T:
            # With 20 left, 8 at a time, each has a third of the time.
            rounds = ceil((len(targets) - count) / AT_ONCE)
            now = monotonic()
            share = (self._end - now) / rounds
            mine = copy(self)
            mine._end = now + share  # noqa: SLF001 - its own copy
            return work(mine, target)

        yield from in_order(targets, turn, AT_ONCE)

    def get(self, target: Target, read: Callable[[Target, object], T]) -> T:
        """Give what `read` makes of the object of `target`; raise `ApiError`."""
        return self.answer("GET", self._path(target), None, partial(read, target))

    def patch(
        self,
        target: Target,
        body: dict[str, object],
        read: Callable[[Target, object], T],
    ) -> T:
        """Apply a JSON merge patch (RFC 7386) and give what `read` makes of the object then.

        Raises `ApiError`. It is made for a version, so that what somebody else has changed since is
        not undone.
        """
        if not dig(body, "metadata", "resourceVersion"):
            raise ApiError(REFUSED, f"{target} has no resourceVersion")
        # Without the name of a manager Flux would undo it: what kubectl writes it takes back.
        path = f"{self._path(target)}?fieldManager={MANAGER}"
        return self.answer("PATCH", path, body, partial(read, target))

    def may_patch(self, policy: str, target: Target) -> bool:
        """Say whether the gate of another policy may still patch a target, so gates it.

        Raises `ApiError` where that is not known, as when an authorizer did not answer.
        """
        attributes = {
            "verb": "patch",
            "group": target.group,
            "resource": target.resource,
            "namespace": target.namespace,
            "name": target.name,
        }
        review: dict[str, object] = {
            "apiVersion": f"{_AUTHORIZATION}/v1",
            "kind": "LocalSubjectAccessReview",
            "metadata": {"namespace": target.namespace},
            "spec": {"user": user(policy), "resourceAttributes": attributes},
        }
        path = f"/apis/{_AUTHORIZATION}/v1/namespaces/{target.namespace}/localsubjectaccessreviews"
        answer = self.ask("POST", path, review)
        allowed, error = dig(answer, "status", "allowed"), dig(answer, "status", "evaluationError")
        if not isinstance(allowed, bool) or (error and not allowed):
            raise ApiError(REFUSED, f"it is not known whether {policy} still gates it: {error}")
        return allowed

    def _path(self, target: Target) -> str:
        version = target.version or self._versions.get(target.group)
        if version is None:
            version = self._discover(target.group)
        group = f"/apis/{target.group}/{version}"
        return f"{group}/namespaces/{target.namespace}/{target.resource}/{target.name}"

    def _discover(self, group: str) -> str:
        """Ask, once, for the version of a group that the server prefers.

        It becomes a part of paths, so it has to be one.
        """
        if not self._discovering.acquire(timeout=max(0, self._end - monotonic())):
            raise ApiError(UNANSWERED, f"no time left to query the version of {group}")
        try:
            if group not in self._versions:
                self._versions[group] = self._preferred(group)
            return self._versions[group]
        finally:
            self._discovering.release()

    def _preferred(self, group: str) -> str:
        found = self.ask("GET", f"/apis/{group}")
        version = dig(found, "preferredVersion", "version")
        if not isinstance(version, str) or not _VERSION.fullmatch(version):
            message = f"the API server's preferredVersion of {group} is invalid: {version!r}"
            raise ApiError(REFUSED, message)
        return version

    def ask(
        self,
        method: str,
        path: str,
        body: dict[str, object] | None = None,
    ) -> dict[str, object]:
        """Send a request and give the object that is answered.

        Raises `ApiError`, whatever goes wrong.
        """
        return self.answer(method, path, body, dict)

    def answer(
        self,
        method: str,
        path: str,
        body: dict[str, object] | None,
        read: Callable[[dict[str, object]], T],
    ) -> T:
        """Send a request and give what `read` makes of the object that is answered.

        Raises `ApiError`. One answer is read at a time: what is made of the largest is a good part
        of the memory of a Pod.
        """
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": _CONTENT_TYPES.get(method, "application/json"),
        }
        text = None
        if body:
            text = json.dumps(body)
        request = Request(method, path, text, headers)
        answer = self._send(request)
        while answer.status in _BUSY and answer.retry_after:
            self._wait(request, answer)
            answer = self._send(request)
        with self._reading:
            return read(_object(answer.status, answer.content, f"{method} {path}"))

    def _send(self, request: Request) -> Answer:
        seconds = min(self._timeout, self._end - monotonic())
        if seconds <= 0:
            raise ApiError(UNANSWERED, f"no time left for {request.method} {request.path}")
        asked = self._now()
        try:
            answer = self._connections.ask(request, seconds)
        except Exception as error:
            # What an answer may do to TLS, no one can list.
            message = f"no answer to {request.method} {request.path}: {error!r}"
            raise ApiError(UNANSWERED, message) from error
        self.clocks.compare(answer.date, asked, self._now())
        return answer

    def _wait(self, request: Request, answer: Answer) -> None:
        """Wait as long as a busy server asks for (RFC 9110, 10.2.3), if there is time.

        Else the others come first: `ApiError`.
        """
        asked = answer.retry_after or ""
        seconds = 1
        if _LONGEST_WAIT.fullmatch(asked):
            seconds = max(1, int(asked))  # a date, which it may be, is not read
        if monotonic() + seconds >= self._end:
            message = f"{answer.status} to {request.method} {request.path}: busy for {seconds} s"
            raise ApiError(UNANSWERED, message)
        sleep(seconds)


def _object(status: int, content: bytes, request: str) -> dict[str, object]:
    """Give the object of an answer; raise `ApiError` for a refusal, and for what is no object."""
    try:
        answer = parse(content.decode())
    except (ValueError, RecursionError, MemoryError) as error:
        answer = {"message": f"{error!r} in {content[:200]!r}"}
        if status < HTTPStatus.BAD_REQUEST:  # another one says more than that it was refused
            status = REFUSED
    if status not in _DONE:
        raise ApiError(status, f"{status} to {request}: {dig(answer, 'message')}")
    if not isinstance(answer, dict):
        raise ApiError(REFUSED, f"the response to {request} is not an object")
    return answer
