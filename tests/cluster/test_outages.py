"""What the windows rely on fails: the stories of this module stop a component of the cluster, and run alone."""

from datetime import UTC, datetime

import pytest
from lab import control_plane, flux, processes
from telling import Story, eventually, far_window, sleep_until, throughout, window

pytestmark = pytest.mark.disruptive


def test_the_cron_job_controller_is_down_over_both_edges(story: Story) -> None:
    """It comes back after the close that it missed: nothing was opened, and a late Job opens nothing."""
    story.begin()
    opening = window(after=40)
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
    opening = window(after=40, length=4)
    story.policy({"interval": "1m", "windows": {"next": opening.spec}})
    story.eventually_closed()
    sleep_until(opening.opens.replace(second=0))
    processes.stop("kube-apiserver")
    throughout(10, "", lambda: datetime.now(UTC) > opening.opens)
    control_plane.api_server()
    story.eventually_open(within=60 + 30)


def test_flux_is_down_while_the_windows_go_on(story: Story) -> None:
    """The gate needs only the API server; what was committed meanwhile is applied when Flux is back and it is open."""
    story.begin()
    opening = window(after=40, length=3)
    story.policy({"windows": {"next": opening.spec}})
    story.eventually_closed()
    processes.stop("kustomize-controller")
    story.release("2")
    sleep_until(opening.opens)
    story.eventually_open(within=30)
    flux.kustomize_controller()
    story.eventually_applied("2")
    story.policy({"windows": {"later": far_window().spec}})
    eventually("apps is closed", story.closed, within=90)
