"""The server: the application on an address, until a signal stops it.

It speaks plain HTTP to one proxy, the ingress, which ends TLS and keeps slow clients away.
"""

import os
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from krm_windows.system.errors import WorkspaceError

_IDLE_SECONDS = 20
_GRACE_SECONDS = 10
# Bytes of the line and the headers of a request.
_HEAD = 32 << 10


class _Server(uvicorn.Server):
    """A server that says when a signal has come: it waits until all answers are complete."""

    def __init__(self, config: uvicorn.Config, stopping: Callable[[], None]) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._stopping()
        super().handle_exit(sig, frame)


def run(
    application: ASGIApp,
    address: tuple[str, int],
    started: Callable[[str, int], None],
    stopping: Callable[[], None],
) -> None:
    """Serve at a host and a port, 0 for any that is free, until a signal comes.

    `started` is called with host and port once it listens, `stopping` when the signal has come.
    Raises WorkspaceError where it cannot listen.
    """
    config = uvicorn.Config(
        application,
        # The other parser has no limit for a head.
        http="h11",
        ws="none",
        lifespan="on",
        timeout_keep_alive=_IDLE_SECONDS,
        h11_max_incomplete_event_size=_HEAD,
        # A header that names another caller counts only as `access` says.
        proxy_headers=False,
        # Our own lines say what was changed by whom; uvicorn's would repeat what callers send.
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # Here, and not by uvicorn, which ends the process without a word. From now on who comes is
        # not refused, and waits until the application has started.
        made = socket.create_server(address, family=family)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise WorkspaceError(f"cannot listen at {host}, port {port}: {why}") from None
    # With its protocol, which Python looks up: asyncio sets TCP_NODELAY for no other, and an answer
    # of two parts would wait 40 ms for the caller to acknowledge the first (tcp(7)).
    bound = socket.socket(fileno=made.detach())
    started(*bound.getsockname()[:2])
    _Server(config, stopping).run(sockets=[bound])
