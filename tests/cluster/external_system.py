"""An external system with a maintenance flag, which hooks call."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

from lab.settings import NEIGHBOUR

from krm_windows.policy.images import DEFAULTS

CALL = (
    "import sys, urllib.request as r; r.urlopen(r.Request(sys.argv[1], method='PUT'), timeout=1800)"
)


@dataclass
class ExternalSystem:
    """PUT `/on` and `/off` set its flag, `/fail` refuses, `/hang` answers when it is let go."""

    maintenance: bool = False
    calls: list[tuple[str, datetime]] = field(default_factory=list)
    released: Event = field(default_factory=Event)
    address: str = ""

    def called(self, word: str) -> int:
        return sum(each == word for each, _ in self.calls)

    def at(self, word: str) -> datetime:
        return max(time for each, time in self.calls if each == word)

    def hook(self, word: str, **more: object) -> dict[str, object]:
        return {
            "image": DEFAULTS["Gate"].reference,
            "command": ["python3", "-c", CALL],
            "args": [f"{self.address}/{word}"],
            **more,
        }

    def serve(self) -> ThreadingHTTPServer:
        server = ThreadingHTTPServer((NEIGHBOUR, 0), type("Bound", (_Handler,), {"system": self}))
        server.daemon_threads = True
        self.address = f"http://{NEIGHBOUR}:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        return server


class _Handler(BaseHTTPRequestHandler):
    system: ExternalSystem

    def do_PUT(self) -> None:
        word = self.path.strip("/")
        self.system.calls.append((word, datetime.now(UTC)))
        if word == "hang":
            self.system.released.wait()
        if word in ("on", "off"):
            self.system.maintenance = word == "on"
            time.sleep(2)  # it takes its time, so that whatever does not wait for it is caught
        self.send_response(500 if word == "fail" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""
