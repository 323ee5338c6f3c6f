"""The server: the application on an address, until it is told to stop."""

from collections.abc import Callable
from dataclasses import dataclass

import uvicorn
from starlette.applications import Starlette


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 is any that is free."""

    host: str
    port: int


def run(
    application: Starlette,
    address: Address,
    started: Callable[[str, int], None],
) -> None:
    """Serve until a signal comes; `started` is told host and port once it listens."""
    config = uvicorn.Config(
        application,
        host=address.host,
        port=address.port,
        http="h11",
        ws="none",
        # Our own lines say what was changed by whom; uvicorn's would repeat what callers send.
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=10,
    )
    socket = config.bind_socket()
    host, port = socket.getsockname()[:2]
    started(host, port)
    uvicorn.Server(config).run(sockets=[socket])
