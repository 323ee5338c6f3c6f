"""What Pods ask of the network: told after the others, so that every look that they caused is counted."""

import pytest
from lab import machine
from telling import Story, eventually, far_window

pytestmark = pytest.mark.disruptive
ASK = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'?', ('192.0.2.1', 53))"


def test_no_look_asks_anything_but_the_api_server(story: Story) -> None:
    """Not one packet of all Pods so far went elsewhere, but of hooks to their system; one on purpose is counted."""
    story.begin()
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()
    assert machine.strays() == 0
    story.run_as_look("stray", ASK)
    eventually("it is counted", lambda: machine.strays() > 0)
    machine.forget_strays()
