"""What a migration yields is open exactly when the original was."""

import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path

import pytest
import yaml
from calls import program
from repositories import FIXTURES, carry_out, read

from krm_windows import inventory
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy, kinds
from krm_windows.policy.load import load
from krm_windows.schedule import controller
from krm_windows.schedule.timeline import timeline

pytestmark = pytest.mark.slow  # kustomize, kpt and containers

START, END = datetime(2027, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
INFRA = "clusters/{}/infra"  # what directory Flux applies
ORIGINAL = FIXTURES / "old-style/repository"


@pytest.fixture
def kustomize(tool: Callable[[str], Path]) -> Callable[[Path], list[dict[str, object]]]:
    program = tool("kustomize")

    def build(folder: Path) -> list[dict[str, object]]:
        done = subprocess.run([program, "build", folder], capture_output=True, check=True)
        return list(yaml.load_all(done.stdout, yaml.CSafeLoader))

    return build


@pytest.fixture(params=["bergen", "cadiz", "delft"])
def cluster(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def schedules(objects: Iterable[dict[str, object]], *verbs: str) -> set[tuple[str, str, str]]:
    return {
        (
            found["metadata"]["name"],
            found["spec"]["schedule"],
            found["spec"].get("timeZone", "Etc/UTC"),
        )
        for found in objects
        if found["kind"] == "CronJob"
        and found["metadata"]["name"].startswith(verbs)
        and not found["spec"]["suspend"]
    }


def runs(found: Iterable[tuple[str, str, str]], *, state: bool) -> Iterator[tuple[datetime, bool]]:
    for _, schedule, zone in found:
        fired = controller.runs(schedule, zone, START - timedelta(days=40))
        yield from ((at, state) for at in takewhile(lambda at: at < END, fired))


def opened(events: Iterable[tuple[datetime, bool]]) -> list[tuple[datetime, datetime]]:
    found: list[tuple[datetime, datetime]] = []
    since: datetime | None = None
    for at, is_open in [*sorted(events), (END, False)]:
        if is_open:
            since = since or at
        elif since:
            found += [(max(since, START), at)] if at > START else []
            since = None
    return found


def test_the_schedules_are_those_of_the_original(
    cluster: str, kustomize: Callable[[Path], list[dict[str, object]]], tmp_path: Path
) -> None:
    assert program("", "migrate", ORIGINAL, "--output-dir", tmp_path / "out").code == 0
    [policy] = (tmp_path / "out").glob("*.yaml")
    assert (
        program(
            "", "render", policy, "--cluster", cluster, "--output-dir", tmp_path / "windows"
        ).code
        == 0
    )
    before = schedules(kustomize(ORIGINAL / INFRA.format(cluster)), "open", "close")
    assert before
    assert schedules(kustomize(tmp_path / "windows"), "open", "close") == before


def test_it_is_open_when_the_original_was(
    cluster: str, kustomize: Callable[[Path], list[dict[str, object]]]
) -> None:
    built = kustomize(ORIGINAL / INFRA.format(cluster))
    wanted = opened(
        [*runs(schedules(built, "open"), state=True), *runs(schedules(built, "close"), state=False)]
    )
    [made] = read(ORIGINAL).policies
    policy, _ = load(KubeObject.from_value(made.content).node).for_cluster(cluster)
    assert policy
    plan, _ = compile_policy(policy, cluster, inventory.take([], kinds(policy)))
    assert [
        (part.begins, part.ends) for part in timeline(plan.timetable, START, END) if part.open
    ] == wanted


def test_the_repository_builds_without_the_old_windows(
    cluster: str, kustomize: Callable[[Path], list[dict[str, object]]], tmp_path: Path
) -> None:
    after = tmp_path / "after"
    found = read(ORIGINAL)
    shutil.copytree(ORIGINAL, after)
    carry_out(after, found.steps)
    assert kustomize(after / INFRA.format(cluster)) == [
        each for each in kustomize(ORIGINAL / INFRA.format(cluster)) if each["kind"] != "CronJob"
    ]
