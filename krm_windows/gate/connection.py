"""HTTP over TLS to the API server: each request has its time, and each answer its largest size."""

import ssl
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path
from select import select
from threading import local
from time import monotonic
from typing import Any

LARGEST = 2 * 1024**2  # bytes of an answer: etcd takes objects of 1.5 MiB


class _Socket(ssl.SSLSocket):
    """A socket that waits until the `end` of a request, and has `room` for one answer."""

    end = 0.0  # by the monotonic clock
    room = 0  # in bytes

    def recv_into(self, *arguments: Any) -> int:  # noqa: ANN401
        left = self.end - monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self.settimeout(left)
        count = super().recv_into(*arguments)
        self.room -= count
        if self.room < 0:
            raise OSError(f"more than {LARGEST} bytes")
        return count

    def __del__(self) -> None:
        """Close it when the thread that had it has ended."""
        self.close()


def trusting(ca: Path) -> ssl.SSLContext:
    """Return TLS that trusts one CA, and verifies the chain and the hostname of a server."""
    tls = ssl.create_default_context(cafile=ca)
    # It is on since Python 3.13, and the CAs of common distributions fail it.
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    tls.sslsocket_class = _Socket
    return tls


class Connection(local, HTTPSConnection):
    """A connection that is kept from one request to the next; each thread has its own."""

    sock: Any

    def ask(
        self, method: str, path: str, body: str | None, headers: dict[str, str], seconds: float
    ) -> tuple[HTTPResponse, bytes]:
        """Send a request; give its answer, and the content. Whatever goes wrong is raised."""
        end = monotonic() + seconds
        try:
            # What comes before anything was asked is the end, or no answer to this request.
            if self.sock and select([self.sock], [], [], 0)[0]:
                self.close()
            if not self.sock:
                self.timeout = seconds
                self.connect()
            self.sock.end, self.sock.room = end, LARGEST
            self.sock.settimeout(seconds)  # to send
            self.request(method, path, body, headers)
            response = self.getresponse()
            return response, response.read()
        except BaseException:
            self.close()
            raise
