"""A server on every kind of local address, that counts who comes."""

import socket
import threading
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"


class Listener(AbstractContextManager["Listener"]):
    """Listens on TCP, and on two sockets of this machine.

    One is in the file system, one is without a file.
    """

    def __init__(self, folder: Path, content: bytes = b"a: fetched\n") -> None:
        """Begin to listen; HTTP is answered with a content."""
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
        """Say whether so many have come, once they are counted.

        A connection stands before it is accepted.
        """
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
