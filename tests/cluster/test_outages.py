"""What the windows rely on fails: the stories of this module stop a component of the cluster, and run alone."""

from datetime import timedelta

import pytest
from lab import control_plane, processes
from telling import Story, sleep_until, throughout, window

pytestmark = pytest.mark.disruptive


def test_the_cron_job_controller_is_down_over_an_edge(story: Story) -> None:
    """Nothing closes while it is away; it is closed within an interval and the start of a Pod after it is back."""
    story.begin()
    opening = window(after=25)
    story.policy({"interval": "1m", "windows": {"next": opening.spec}})
    story.eventually_closed()
    sleep_until(opening.opens)
    story.eventually_open(within=30)
    processes.stop("kube-controller-manager")
    sleep_until(opening.closes)
    throughout(20, "nobody closes it", story.open)
    control_plane.controller_manager()
    assert story.eventually_closed(within=90) < 60 + 30


def test_the_api_server_is_restarted_at_the_edge(story: Story) -> None:
    """It is away while the window opens, and opened within a look after it is back."""
    story.begin()
    opening = window(after=25, length=4)
    story.policy({"interval": "1m", "windows": {"next": opening.spec}})
    story.eventually_closed()
    sleep_until(opening.opens - timedelta(seconds=2))
    processes.stop("kube-apiserver")
    sleep_until(opening.opens + timedelta(seconds=10))
    control_plane.api_server()
    story.eventually_open(within=60 + 30)
