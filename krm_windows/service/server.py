"""The server: the application on an address, until a signal stops it."""

import asyncio
import gc
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from krm_windows.service.settings import Limits
from krm_windows.system.errors import WorkspaceError

# A request's line and headers, and before them a TLS handshake, have to be here after so long: who
# sends a byte now and then would hold a connection for ever.
_HEADER_SECONDS = 10.0
_IDLE_SECONDS = 20.0
_GRACE_SECONDS = 10
# Python looks for garbage in cycles each time when so many objects have been made and not freed. At
# 700, as it begins, a fifth of the work was to look at policies, which nothing has let go of.
_OBJECTS = 20_000


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen, and the certificate and key for it; port 0 is any that is free."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None


class Protocol(H11Protocol):
    """HTTP/1.1 with a limit on how long a connection may wait for a request.

    Of so many connections that no more are taken, the one that has waited for a request for longest
    makes room: else whoever opens connections and sends nothing keeps everybody out.
    """

    most: ClassVar[int] = 512

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; one connection too many is closed, this one or another."""
        super().connection_made(transport)
        # asyncio does so for sockets that it has made itself. Else the second part of an answer
        # waits for the caller to acknowledge the first, which takes 40 ms (tcp(7)).
        connection = transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.timer: asyncio.TimerHandle | None = None
        if len(self.connections) > self.most and not self._has_room():
            transport.close()
            return
        self._wait(_HEADER_SECONDS)

    def handle_events(self) -> None:
        """Wait no more once a request is here: from then on the application has limits."""
        super().handle_events()
        # None before the first request, which uvicorn's annotation does not say.
        cycle: RequestResponseCycle | None = getattr(self, "cycle", None)
        if cycle is not None and not cycle.response_complete:
            self.stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._wait(_IDLE_SECONDS)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self.stop_waiting()
        super().connection_lost(exc)

    def _has_room(self) -> bool:
        """Close the connection whose time to send a request is up first, if there is any."""
        timers: dict[Protocol, asyncio.TimerHandle] = {}
        for each in self.connections:
            if isinstance(each, Protocol) and each.timer is not None:
                timers[each] = each.timer
        if not timers:
            return False
        first = min(timers, key=lambda each: timers[each].when())
        first.stop_waiting()
        first.transport.close()
        return True

    def _wait(self, seconds: float) -> None:
        self.stop_waiting()
        self.timer = self.loop.call_later(seconds, self.transport.close)

    def stop_waiting(self) -> None:
        """Take as long as it takes from now on."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class _Server(uvicorn.Server):
    """A server that says when it can be reached."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._said = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen: a socket that is only bound refuses whoever comes."""
        await super().startup([])
        for each in sockets or ():
            await self._listen(each)
        # What was read so far stays; what comes is mostly freed without being looked for.
        gc.freeze()
        gc.set_threshold(_OBJECTS)
        if self.started:
            self._said()

    async def _listen(self, bound: socket.socket) -> None:
        """Listen as uvicorn does, which would wait a minute for each TLS handshake."""
        config = self.config
        seconds: float | None = None
        if config.ssl is not None:
            seconds = _HEADER_SECONDS
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(
            lambda: Protocol(config, self.server_state, self.lifespan.state),
            sock=bound,
            ssl=config.ssl,
            ssl_handshake_timeout=seconds,
            backlog=config.backlog,
        )
        self.servers.append(listening)


def run(
    application: ASGIApp,
    address: Address,
    connections: int,
    started: Callable[[str, int], None],
) -> None:
    """Serve until a signal comes; `started` is called with host and port once it listens.

    Raises WorkspaceError where it cannot listen, or has no use for the certificate.
    """
    Protocol.most = connections
    config = uvicorn.Config(
        application,
        host=address.host,
        port=address.port,
        http=Protocol,
        ws="none",
        lifespan="on",
        ssl_certfile=_text(address.certificate),
        ssl_keyfile=_text(address.key),
        h11_max_incomplete_event_size=Limits().head,
        # A header that names another caller counts only as `access` says.
        proxy_headers=False,
        # Our own lines say what was changed by whom; uvicorn's would repeat what callers send.
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    # Both here, and not by uvicorn, which ends the process without a word, or fails later.
    try:
        config.load()
    except OSError as error:
        # A file that is not there, or `ssl.SSLError` for one that is something else.
        raise WorkspaceError(f"the certificate or its key cannot be used: {error}") from None
    bound = _bound(address)
    host, port = bound.getsockname()[:2]
    _Server(config, lambda: started(host, port)).run(sockets=[bound])


def _bound(address: Address) -> socket.socket:
    family = socket.AF_INET
    if ":" in address.host:
        family = socket.AF_INET6
    bound = socket.socket(family)
    # An address of which connections are still being closed (socket(7)).
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((address.host, address.port))
    except OSError as error:
        bound.close()
        place = f"{address.host}, port {address.port}"
        raise WorkspaceError(f"cannot listen at {place}: {error.strerror}") from None
    return bound


def _text(path: Path | None) -> str | None:
    if path is None:
        return None
    return str(path)
