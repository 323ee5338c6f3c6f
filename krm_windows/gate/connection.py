"""Connections to the API server: verified TLS, no proxies, kept from one request to the next.

Nothing that a server says, or fails to say, takes longer than the time of a request, or more bytes
than an answer may have: all that comes from it, from the handshake on, passes through `_Stream`.
"""

import ssl
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse
from io import BufferedReader, RawIOBase
from socket import IPPROTO_TCP, TCP_NODELAY, create_connection
from time import monotonic

# Bytes of an answer: etcd takes objects of 1.5 MiB, and a Pod of 128 MiB can read this one.
LARGEST = 2 * 1024**2
_PIECE = 65536  # bytes that are read at once, at most


@dataclass(frozen=True)
class Request:
    """What is asked: `body` is JSON in ASCII, None for none."""

    method: str
    path: str
    body: str | None
    headers: dict[str, str]


@dataclass(frozen=True)
class Answer:
    """What was answered, whole; `date` and `retry_after` are headers, None if they are missing."""

    status: int
    content: bytes
    date: str | None
    retry_after: str | None


class Connections:
    """Those to one server that no request uses now: as many are opened as requests run at once."""

    def __init__(
        self,
        address: tuple[str, int],
        tls: ssl.SSLContext,
    ) -> None:
        self._address, self._tls = address, tls
        self._idle: list[Connection] = []

    def ask(self, request: Request, seconds: float) -> Answer:
        """Send a request and give its answer.

        Whatever goes wrong is raised, and that connection is not used again.
        """
        end = monotonic() + seconds
        connection = self._take(seconds)
        is_kept = False
        try:
            answer, is_kept = connection.ask(request, end)
        finally:
            if is_kept:
                self._idle.append(connection)
            else:
                connection.hang_up()
        return answer

    def _take(self, seconds: float) -> "Connection":
        """Give one that is as the last answer left it, else a new one.

        So a connection that the server closed in the meantime costs nothing, and nothing has to be
        sent twice.
        """
        while True:
            try:
                connection = self._idle.pop()  # of several threads, each gets another
            except IndexError:
                return Connection(self._address, self._tls, seconds)
            if connection.is_quiet():
                return connection
            connection.hang_up()


class Connection:
    """A TLS connection that answers one request after the other.

    To `http.client` it is a socket.
    """

    def __init__(
        self,
        address: tuple[str, int],
        tls: ssl.SSLContext,
        seconds: float,
    ) -> None:
        self._address = address
        self._stream = _Stream(address, tls, seconds)
        self._reader = _Reader(self._stream)

    def __del__(self) -> None:
        """Close it when nobody has it any more."""
        if hasattr(self, "_stream"):
            self.hang_up()

    def ask(self, request: Request, end: float) -> tuple[Answer, bool]:
        """Send a request and be answered until `end`; say whether another one may be sent."""
        self._stream.begin(end)
        http = HTTPConnection(*self._address)
        http.sock = self  # so that it opens no connection of its own
        http.request(request.method, request.path, request.body, request.headers)
        response = http.getresponse()
        content = _read(response)
        headers = response.headers
        answer = Answer(response.status, content, headers["Date"], headers["Retry-After"])
        # After an interim answer, of which http.client takes all but 100 for final, the real one is
        # still to come.
        return answer, response.status >= HTTPStatus.OK and not response.will_close

    def is_quiet(self) -> bool:
        """Say whether nothing came after the last answer, not even the end.

        It would be taken for the next answer.
        """
        self._stream.waits = False
        try:
            return not self._reader.peek(1) and not self._stream.has_ended
        except (OSError, ValueError):
            return False
        finally:
            self._stream.waits = True

    def hang_up(self) -> None:
        """Close it, whatever is still to come."""
        self._stream.hang_up()

    def sendall(self, data: bytes) -> None:
        """Send all of `data`."""
        self._stream.sendall(data)

    def makefile(self, _: str) -> BufferedReader:
        """Give what `http.client` reads answers from."""
        return self._reader

    def close(self) -> None:
        """Do nothing: `http.client` closes its connection before it has read the answer."""


class _Reader(BufferedReader):
    """Outlives each answer: what is read beyond one of them is kept, and not lost."""

    def close(self) -> None:
        """Do nothing: `http.client` closes it at the end of an answer."""


class _Stream(RawIOBase):
    """What comes and goes in TLS, with a deadline for a request, and a limit for its answer.

    TLS is read from memory, so that every byte is counted and every wait is ours: neither a
    handshake nor records without content can hold `ssl` longer. A stream that ends without TLS
    saying so was cut off (`SSLEOFError`).
    """

    def __init__(
        self,
        address: tuple[str, int],
        tls: ssl.SSLContext,
        seconds: float,
    ) -> None:
        super().__init__()
        self.waits, self.has_ended = True, False
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = tls.wrap_bio(self._incoming, self._outgoing, server_hostname=address[0])
        self.begin(monotonic() + seconds)
        self._plain = create_connection(address, seconds)
        # A request is sent at once, and does not wait for the last one's acknowledgement.
        self._plain.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)

    def begin(self, end: float) -> None:
        """Begin a request, which is to be answered until `end`."""
        self._end, self._bytes_left = end, LARGEST

    def hang_up(self) -> None:
        """Close it."""
        self._plain.close()

    def close(self) -> None:
        """Do nothing: its owner hangs up."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        """Wait for bytes, and put some into `buffer`; none at the end.

        Without waiting: None if there are none.
        """
        while True:
            try:
                data = self._tls.read(len(buffer))
                buffer[: len(data)] = data
                return len(data)
            except ssl.SSLWantReadError:
                try:
                    self._receive()
                except BlockingIOError:  # nothing is there, and it does not wait
                    return None
            except ssl.SSLZeroReturnError:  # close_notify (RFC 8446, 6.1)
                self.has_ended = True
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
        if self._outgoing.pending:
            self._plain.settimeout(self._seconds_left())
            # The timeout is that of the whole (docs.python.org, `socket.sendall`).
            self._plain.sendall(self._outgoing.read())

    def _receive(self) -> None:
        """Wait for more, having sent what TLS has to say."""
        self._send()
        timeout = 0.0
        if self.waits:
            timeout = self._seconds_left()
        self._plain.settimeout(timeout)
        data = self._plain.recv(_PIECE)
        self._bytes_left -= len(data)
        if self._bytes_left < 0:
            raise OSError(f"more than {LARGEST} bytes")
        if data:
            self._incoming.write(data)
        else:  # the end of TCP: it is for TLS to say whether that is the end of the stream
            self._incoming.write_eof()

    def _seconds_left(self) -> float:
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError("no end in time")
        return left


def _read(response: HTTPResponse) -> bytes:
    """Read a body piece by piece.

    `read()` would make room at once for as many bytes as a server says there are.
    """
    pieces = []
    while piece := response.read(_PIECE):
        pieces.append(piece)
    if response.length:
        raise ValueError(f"cut off, {response.length} bytes before its end")
    return b"".join(pieces)
