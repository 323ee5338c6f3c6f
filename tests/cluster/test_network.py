"""What Pods ask of the network: run after the others, so that every run that they caused is counted."""

import pytest
from environment import Environment, eventually, far_window
from lab import machine

pytestmark = pytest.mark.disruptive
ASK = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'?', ('192.0.2.1', 53))"


def test_no_run_asks_anything_but_the_api_server(env: Environment) -> None:
    """Not one packet of all Pods so far went elsewhere, but of hooks to their system; one on purpose is counted."""
    env.begin()
    env.policy({"windows": {"later": far_window().spec}})
    env.eventually_closed()
    assert machine.strays() == 0
    env.run_as_look("stray", ASK)
    eventually("it is counted", lambda: machine.strays() > 0)
    machine.forget_strays()
