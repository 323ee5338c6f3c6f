"""Servers on loopback: one of HTTP, and one on every kind of local address that counts."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from certificates import Certificate

LOOPBACK = "127.0.0.1"
# A method and a path, the headers, and the body; what is answered: a status, headers, a body.
Answer = Callable[[str, Mapping[str, str], bytes], tuple[int, dict[str, str], bytes]]


@contextmanager
def answering(answer: Answer, certificate: Certificate | None = None) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, said = answer(f"{self.command} {self.path}", self.headers, body)
            self.send_response(status)
            for name, text in {"Content-Length": str(len(said)), **headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(said)

        do_POST = do_PATCH = do_GET  # noqa: N815 - as http.server has it

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        address = f"http://{LOOPBACK}:{server.server_port}"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            address = f"https://localhost:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield address
        finally:
            server.shutdown()
            thread.join()


class Listener(AbstractContextManager["Listener"]):
    """Listens on TCP, and on two sockets of this machine, of which one is without a file."""

    def __init__(self, folder: Path, content: bytes = b"a: fetched\n") -> None:
        self._answer = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + content
        self.addresses: list[tuple[str, str, object]] = []
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.met = 0
        self._listen("AF_INET", (LOOPBACK, 0))
        self._listen("AF_UNIX", str(folder / "socket"))
        self._listen("AF_UNIX", f"\0{folder}")

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._sockets[0].getsockname()[1]}"

    def has_met(self, count: int) -> bool:
        """Wait until so many were counted: a connection stands before it is accepted."""
        end = time.monotonic() + 10
        while self.met < count and time.monotonic() < end:
            time.sleep(0.01)
        return self.met == count

    def _listen(self, family: str, address: object) -> None:
        server = socket.socket(getattr(socket, family), socket.SOCK_STREAM)
        server.bind(address)  # type: ignore[arg-type]
        server.listen()
        name = server.getsockname()
        self.addresses.append(
            (family, "SOCK_STREAM", name.decode() if isinstance(name, bytes) else name)
        )
        self._sockets.append(server)
        thread = threading.Thread(target=self._serve, args=(server,))
        thread.start()
        self._threads.append(thread)

    def _serve(self, server: socket.socket) -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client, self._lock, suppress(OSError):
                self.met += 1
                client.settimeout(5)
                client.recv(65536)
                client.send(self._answer)

    def __exit__(self, *_: object) -> None:
        for server in self._sockets:
            server.shutdown(socket.SHUT_RDWR)
            server.close()
        for thread in self._threads:
            thread.join()
