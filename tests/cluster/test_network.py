"""What Pods ask of the network; runs after the others, so that it sees all of their runs."""

import pytest
from environment import Environment, eventually
from lab import machine

pytestmark = pytest.mark.disruptive
ASK = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'?', ('192.0.2.1', 53))"


def test_no_run_asks_anything_but_the_api_server(env: Environment) -> None:
    """Not one packet of all Pods so far, but for hooks; one on purpose is seen."""
    env.begin_closed()
    assert machine.strays() == []
    env.run_as_look("stray", ASK)
    eventually("it is seen", lambda: machine.strays() == ["192.0.2.1"])
    machine.forget_strays()
