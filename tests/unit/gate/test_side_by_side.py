"""Runs at once, which do what one does.

A stuck run must not keep the next from starting, so several may run.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest
import zoned
from api_server import Api, Handler, kustomization

from krm_windows.gate.annotations import annotation
from krm_windows.gate.kubernetes import AT_ONCE, Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Timetable

RUNS = 6
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TARGETS = (kustomization("infra"), kustomization("apps"))
SHUT = zoned.timetable(policy="flux-system/p", time_zone="UTC", targets=TARGETS)
ALWAYS = SHUT._replace(outside_windows="Open")


@pytest.mark.parametrize("timetable", [SHUT, ALWAYS], ids=["closing", "opening"])
def test_six_runs_do_what_one_does(
    timetable: Timetable, api: Api, port: int, account: Path
) -> None:
    log: list[dict[str, object]] = []

    def run_once(of: Timetable) -> bool:
        gate = Gate(shipped(of), partial(decide, of), lambda: NOON, lambda **line: log.append(line))
        return gate.run(Cluster("127.0.0.1", str(port), account, 10), allow_missing=False)

    assert run_once(SHUT if timetable is ALWAYS else ALWAYS)
    log.clear()
    meeting = Barrier(RUNS, timeout=10)

    def meet(_: Handler) -> bool:
        meeting.wait()
        return False

    for name in ("infra", "apps"):
        api.fault("GET", name, *[meet] * RUNS)
    with ThreadPoolExecutor(RUNS) as pool:
        assert list(pool.map(run_once, [timetable] * RUNS)) == [True] * RUNS
    for name in ("infra", "apps"):
        assert dig(api.object(name), "spec", "suspend") is (timetable is SHUT)
        assert (
            annotation("flux-system/p") in api.object(name)["metadata"].get("annotations", {})
        ) is (timetable is SHUT)
    assert len([line for line in log if "action" in line]) == len(TARGETS)


def test_two_runs_share_the_targets_of_an_edge(api: Api, port: int, account: Path) -> None:
    """The CronJob in the policy's zone and that in UTC fire at once."""
    names = [f"tenant-{number:03}" for number in range(200)]
    for name in names:
        api.add(name, {"interval": "10m"})
    many = SHUT._replace(targets=tuple(kustomization(name) for name in names))
    meeting = Barrier(2, timeout=10)

    def run(*, backwards: bool) -> bool:
        gate = Gate(shipped(many), partial(decide, many), lambda: NOON, lambda **_: None)
        cluster = Cluster("127.0.0.1", str(port), account, 10)
        meeting.wait()
        return replace(gate, backwards=backwards).run(cluster, allow_missing=False)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(run, backwards=False), pool.submit(run, backwards=True)
        assert first.result()
        assert second.result()
    assert sorted(set(api.writes())) == names
    # Where they meet, each has AT_ONCE targets in hand.
    assert len(api.writes()) - len(names) <= 2 * AT_ONCE
