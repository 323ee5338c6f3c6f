"""The Kubernetes API, as far as the gate needs it: verified TLS, no proxies, and an end to every request.

Nothing that a server says, or fails to say, takes longer than the time of a request, or more bytes than an answer may
have: all that comes from it, from the handshake on, passes through `_Stream`.
"""

import json
import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse
from io import BufferedReader, RawIOBase
from pathlib import Path
from socket import IPPROTO_TCP, TCP_NODELAY, create_connection
from time import monotonic

from krm_windows.gate.timetable import Target

TIMEOUT = 10.0  # seconds for a request: to connect, to ask and to be answered, all in all
LARGEST = 2 * 1024**2  # bytes of an answer: etcd takes objects of 1.5 MiB, and a Pod of 128 MiB can read this one
_NESTED = 250_000  # maps and lists in an answer: a million empty ones are 100 MiB in memory
_PIECE = 65536  # bytes that are read at once, at most
_WORDS = 1024  # characters of what a server says that are told
UNANSWERED, REFUSED = 0, -1  # for a status where there is none: no answer, and one that cannot be taken
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")


def look_seconds(targets: int, timeout: float = TIMEOUT) -> float:
    """Say how long a look may ask: as long as twelve requests that hang, or a twentieth of one for each target."""
    return timeout * max(12, targets / 20)


class ApiError(Exception):
    """The API server did not do what it was asked: `status` is its HTTP status, or `UNANSWERED`, or `REFUSED`."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message[:_WORDS])
        self.status = status


class Cluster:
    """An API server, for one look. `account` is the folder of `token` and `ca.crt`, `skew` our clock less its, in s."""

    def __init__(self, host: str, port: str, account: Path, timeout: float = TIMEOUT) -> None:
        self.skew: int | None = None
        self._address, self._account, self._timeout = (host.strip("[]"), int(port)), account, timeout
        self._tls = ssl.create_default_context(cafile=account / "ca.crt")
        self._tls.verify_flags &= ~ssl.VERIFY_X509_STRICT  # on since Python 3.13; CAs of common distributions fail it
        self._versions: dict[str, str] = {}
        self._token = (account / "token").read_text().strip()
        self.renew(0)

    def renew(self, targets: int) -> None:
        """Begin another look, at so many targets: with its own time, and with the token that is there now."""
        self._end = monotonic() + look_seconds(targets, self._timeout)
        with suppress(OSError, ValueError):  # kubelet writes it anew every hour
            self._token = (self._account / "token").read_text().strip()

    def shares(self, targets: Sequence[Target]) -> Iterator[Target]:
        """Give the targets in turn, each with its share of the time that is left: what one leaves, the next have."""
        end = self._end
        for count, target in enumerate(targets):
            now = monotonic()
            self._end = now + (end - now) / (len(targets) - count)
            yield target
        self._end = end

    def get(self, target: Target) -> dict[str, object]:
        """Read the object of `target`; raise `ApiError`."""
        return self.ask("GET", self._path(target))

    def patch(self, target: Target, body: dict[str, object]) -> dict[str, object]:
        """Apply a JSON merge patch (RFC 7386) and give the object as it is then; raise `ApiError`.

        It is made for a version, so that what somebody else has changed since is not undone.
        """
        if not dig(body, "metadata", "resourceVersion"):
            raise ApiError(REFUSED, f"{target} has no resourceVersion")
        return self.ask("PATCH", f"{self._path(target)}?fieldManager=krm-windows", body)

    def _path(self, target: Target) -> str:
        version = target.version or self._versions.get(target.group) or self._discover(target.group)
        group = f"/apis/{target.group}/{version}"
        return f"{group}/namespaces/{target.namespace}/{target.resource}/{target.name}"

    def _discover(self, group: str) -> str:
        """Ask for the version of a group that the server prefers; it becomes part of paths, so it has to be one."""
        version = dig(self.ask("GET", f"/apis/{group}"), "preferredVersion", "version")
        if not isinstance(version, str) or not _VERSION.fullmatch(version):
            raise ApiError(REFUSED, f"the API server prefers no version of {group}, but {version!r}")
        self._versions[group] = version
        return version

    def ask(self, method: str, path: str, body: dict[str, object] | None = None) -> dict[str, object]:
        """Send a request and give the object that is answered; raise `ApiError`, whatever goes wrong."""
        seconds = min(self._timeout, self._end - monotonic())
        if seconds <= 0:
            raise ApiError(UNANSWERED, f"no time left for {method} {path}")
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type}
        stream = None
        try:
            stream = _Stream(self._address, self._tls, seconds)
            connection = HTTPConnection(*self._address)
            connection.sock = stream
            connection.request(method, path, json.dumps(body) if body else None, headers)
            response = connection.getresponse()
            content = _read(response)
        except Exception as error:  # what an answer may do to http.client and ssl, no one can list
            raise ApiError(UNANSWERED, f"no answer to {method} {path}: {error!r}") from error
        finally:
            if stream is not None:
                stream.hang_up()
        self.skew = _skew(response.headers["Date"])
        return _object(response.status, content, f"{method} {path}")


class _Stream(RawIOBase):
    """A TLS connection with a deadline for all that happens on it, and a limit for all that comes in.

    TLS is read from memory, so that every byte is counted and every wait is ours: neither a handshake nor records
    without content can hold `ssl` longer. A stream that ends without TLS saying so was cut off (`SSLEOFError`).
    """

    def __init__(self, address: tuple[str, int], tls: ssl.SSLContext, seconds: float) -> None:
        super().__init__()
        self._end, self._bytes_left = monotonic() + seconds, LARGEST
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = tls.wrap_bio(self._incoming, self._outgoing, server_hostname=address[0])
        self._plain = create_connection(address, seconds)
        self._plain.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)

    def hang_up(self) -> None:
        """Close it, whatever is still to come."""
        self._plain.close()

    def close(self) -> None:
        """Do nothing: `http.client` closes its connection before it has read the answer."""

    def makefile(self, _: str) -> BufferedReader:
        """Give what `http.client` reads an answer from."""
        return BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Wait for bytes, and put some into `buffer`; none at the end."""
        while True:
            try:
                data = self._tls.read(len(buffer))
                buffer[: len(data)] = data
                return len(data)
            except ssl.SSLWantReadError:
                self._receive()
            except ssl.SSLZeroReturnError:
                return 0

    def sendall(self, data: bytes) -> None:
        """Send all of `data`, after the handshake."""
        while True:
            try:
                self._tls.do_handshake()
                self._tls.write(data)
            except ssl.SSLWantReadError:
                self._receive()
            else:
                return self._send()

    def _send(self) -> None:
        self._plain.settimeout(self._seconds_left())
        self._plain.sendall(self._outgoing.read())  # the timeout is that of the whole (docs.python.org)

    def _receive(self) -> None:
        """Wait for more, having sent what TLS has to say."""
        self._send()
        self._plain.settimeout(self._seconds_left())
        data = self._plain.recv(_PIECE)
        self._bytes_left -= len(data)
        if self._bytes_left < 0:
            raise OSError(f"more than {LARGEST} bytes")
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    def _seconds_left(self) -> float:
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError("no end in time")
        return left


def _read(response: HTTPResponse) -> bytes:
    """Read a body piece by piece: `read()` would make room at once for as many bytes as a server says there are."""
    pieces = []
    while piece := response.read(_PIECE):
        pieces.append(piece)
    if response.length:
        raise ValueError(f"cut off, {response.length} bytes before its end")
    return b"".join(pieces)


def _object(status: int, content: bytes, request: str) -> dict[str, object]:
    """Give the object of an answer; raise `ApiError` for a refusal, and for what is no object."""
    try:
        answer = parse(content.decode())
    except (ValueError, RecursionError, MemoryError) as error:
        answer = {"message": f"{error!r} in {content[:200]!r}"}
        status = status if status >= HTTPStatus.BAD_REQUEST else REFUSED
    if status not in (HTTPStatus.OK, HTTPStatus.CREATED):
        raise ApiError(status, f"{status} to {request}: {dig(answer, 'message')}")
    if not isinstance(answer, dict):
        raise ApiError(REFUSED, f"no object to {request}")
    return answer


def parse(text: str) -> object:
    """Read JSON as RFC 8259 has it; raise `ValueError` or `RecursionError` for the rest, so for a key given twice."""
    if text.count("[") + text.count("{") > _NESTED:
        raise ValueError("too many maps and lists")
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refused)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refused(constant: str) -> object:
    raise ValueError(f"{constant} is no number")


def _skew(date: str | None) -> int | None:
    """Say how many seconds our clock is ahead of a `Date`; None if that cannot be read, or is of no time zone."""
    try:
        return round((datetime.now(UTC) - parsedate_to_datetime(date or "")).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None


def dig(thing: object, *path: str) -> object:
    """Give what lies at `path` in nested mappings; None where there is nothing."""
    for key in path:
        thing = thing.get(key) if isinstance(thing, dict) else None
    return thing
