"""What the windows rely on fails: the stories of this module stop a component of the cluster, and run alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from lab import control_plane, processes
from telling import Story, note, since, sleep_until, throughout, window

pytestmark = pytest.mark.disruptive


@contextmanager
def absent(component: str, back: Callable[[], None]) -> Iterator[None]:
    """Stop a component of the cluster, and start it again, whatever happens meanwhile."""
    processes.stop(component)
    try:
        yield
    finally:
        back()


def test_the_cron_job_controller_is_down_over_an_edge(story: Story) -> None:
    """Nothing closes while it is away; it is closed within an interval and the start of a Pod after it is back."""
    story.begin()
    opening = window(after=25, length=2)
    story.policy({"interval": "1m", "windows": {"next": opening.spec}})
    story.eventually_closed()
    sleep_until(opening.opens)
    story.eventually_open(within=30)
    with absent("kube-controller-manager", control_plane.controller_manager):
        sleep_until(opening.closes)
        throughout(20, "nobody closes it", story.open)
    note("from the return of the CronJob controller to closed", story.eventually_closed(within=90))
    note("open where closed was wanted: CronJob controller down over the close, and 20 s more", since(opening.closes))


def test_the_api_server_is_restarted_at_the_edge(story: Story) -> None:
    """It is away while the window opens, and opened within a look after it is back."""
    story.begin()
    opening = window(after=25, length=4)
    story.policy({"interval": "1m", "windows": {"next": opening.spec}})
    story.eventually_closed()
    sleep_until(opening.opens - timedelta(seconds=2))
    with absent("kube-apiserver", control_plane.api_server):
        sleep_until(opening.opens + timedelta(seconds=10))
    note("from the return of the API server to open", story.eventually_open(within=90))
