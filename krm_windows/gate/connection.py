"""Connections to the API server: verified TLS, no proxies, kept from one request to the next.

Nothing that a server says, or fails to say, takes longer than the time of a request, or more bytes
than an answer may have: all that comes from it, from the handshake on, passes through `_Stream`.
"""

import ssl
from io import BufferedReader, RawIOBase
from select import POLLIN, POLLOUT, poll
from socket import IPPROTO_TCP, TCP_NODELAY, create_connection, socket
from time import monotonic

from krm_windows.gate.answers import LARGEST, Answer, Request, read

_PIECE = 65536  # bytes that are received at once, at most
_RECORD = 16384  # bytes of a record of TLS, at most


class Connections:
    """Those to one server that no request uses now: as many are opened as requests run at once."""

    def __init__(
        self,
        address: tuple[str, int],
        tls: ssl.SSLContext,
    ) -> None:
        self._address, self._tls = address, tls
        host, port = address
        if ":" in host:
            host = f"[{host}]"  # an IPv6 address (RFC 3986, 3.2.2)
        self._host = f"{host}:{port}"
        self._idle: list[Connection] = []

    def ask(self, request: Request, seconds: float) -> Answer:
        """Send a request and give its answer.

        Whatever goes wrong is raised, and that connection is not used again.
        """
        end = monotonic() + seconds
        written = request.written(self._host)
        connection = self._take(seconds)
        try:
            answer = connection.ask(written, end)
        except BaseException:
            connection.hang_up()
            raise
        if answer.is_last:
            connection.hang_up()
        else:
            self._idle.append(connection)
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
    """A TLS connection that answers one request after the other."""

    def __init__(
        self,
        address: tuple[str, int],
        tls: ssl.SSLContext,
        seconds: float,
    ) -> None:
        end = monotonic() + seconds
        plain = create_connection(address, seconds)
        self._stream = _Stream(plain, tls, address[0], end)
        self._reader: BufferedReader = BufferedReader(self._stream, _RECORD)

    def __del__(self) -> None:
        """Close it when nobody has it any more."""
        if hasattr(self, "_reader"):
            self.hang_up()

    def ask(self, written: bytes, end: float) -> Answer:
        """Send a request and be answered until `end`."""
        self._stream.begin(end)
        self._stream.sendall(written)
        return read(self._reader)

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
        self._reader.close()


class _Stream(RawIOBase):
    """What comes and goes in TLS, with a deadline for a request, and a limit for its answer.

    TLS is read from memory, so that every byte is counted and every wait is ours: neither a
    handshake nor records without content can hold `ssl` longer. A stream that ends without TLS
    saying so was cut off (`SSLEOFError`).
    """

    def __init__(
        self,
        plain: socket,
        tls: ssl.SSLContext,
        host: str,
        end: float,
    ) -> None:
        super().__init__()
        self.waits, self.has_ended = True, False
        self._plain = plain
        plain.settimeout(0)  # no call of it waits: that is for `_await`
        # A request is sent at once, and does not wait for the last one's acknowledgement.
        plain.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = tls.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self.begin(end)

    def begin(self, end: float) -> None:
        """Begin a request, which is to be answered until `end`."""
        self._end, self._bytes_left = end, LARGEST

    def close(self) -> None:
        """Close it."""
        self._plain.close()
        super().close()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        """Wait for bytes, and put some into `buffer`; none at the end.

        Without waiting: None if there are none.
        """
        is_empty = not (self._tls.pending() or self._incoming.pending)
        while True:
            if is_empty and not self._receive():
                return None
            try:
                data = self._tls.read(len(buffer))
            except ssl.SSLWantReadError:  # that was no whole record
                is_empty = True
            else:
                self.has_ended = not data  # close_notify (RFC 8446, 6.1)
                buffer[: len(data)] = data
                return len(data)

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
        """Send what TLS has to say, if anything."""
        if not self._outgoing.pending:
            return
        data = memoryview(self._outgoing.read())
        while data:
            try:
                data = data[self._plain.send(data) :]
            except BlockingIOError:
                self._await(POLLOUT)

    def _receive(self) -> bool:
        """Wait for more, having sent what TLS has to say; without waiting, say whether it came."""
        self._send()
        while True:
            if self.waits:
                self._await(POLLIN)
            try:
                data = self._plain.recv(_PIECE)
                break
            except BlockingIOError:
                if not self.waits:
                    return False
        self._bytes_left -= len(data)
        if self._bytes_left < 0:
            raise OSError(f"more than {LARGEST} bytes")
        if data:
            self._incoming.write(data)
        else:  # the end of TCP: it is for TLS to say whether that is the end of the stream
            self._incoming.write_eof()
        return True

    def _await(self, event: int) -> None:
        """Wait until bytes have come, or can be sent."""
        left = self._end - monotonic()
        waiting = poll()
        waiting.register(self._plain, event)
        if left <= 0 or not waiting.poll(1000 * left):
            raise TimeoutError("timed out")
