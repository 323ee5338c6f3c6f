"""A hook that checks what was applied, against an API server.

When it is due, what its failure closes, and every way in which runs and edges come in between.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest
from api_server import Api, Json, path_of, status
from hook_runs import BOTH, BY_HAND, HOUR, NOON, OURS, POLICY, Lab, file, until

from krm_windows.gate import verification
from krm_windows.gate.objects import dig
from krm_windows.gate.timetable import Target
from krm_windows.schedule.timetable import Timetable

CHECK = file("afterApply", "afterApply.rollback")
WHOLE = file("beforeOpen", "afterApply", "afterApply.rollback", "afterClose")
CHECKED = "after-apply"
FIRST, SECOND, THIRD = ("main@sha1:1", "main@sha1:2", "main@sha1:3")


class Plant(Lab):
    parts = {"verification": verification}  # noqa: RUF012
    text = CHECK

    def applies(
        self,
        revision: str = SECOND,
        name: str = "apps",
        *,
        ready: bool = True,
        observed: int = 9,
        source: str = "fleet",
    ) -> None:
        live = self.api.object(name)
        metadata = {**live["metadata"], "generation": 9}  # type: ignore[dict-item]
        spec = {**live["spec"], "sourceRef": {"kind": "GitRepository", "name": source}}  # type: ignore[dict-item]
        condition = {"type": "Ready", "status": str(ready), "reason": "any"}
        found: Json = {
            "lastAppliedRevision": revision,
            "observedGeneration": observed,
            "conditions": [condition],
        }
        self.api.store(path_of(name), {**live, "metadata": metadata, "spec": spec, "status": found})

    def begins(self, timetable: Timetable = POLICY, text: str = CHECK) -> None:
        for target in timetable.targets:
            self.applies(FIRST, target.name)
        assert self.run(timetable, text)
        assert all(self.open(target.name) for target in timetable.targets)

    def messages(self, action: str) -> str:
        found = [line for line in self.log if line.get("action") == action]
        return " ".join(str(line["message"]) for line in found)


@pytest.fixture
def plant(api: Api, port: int, account: Path) -> Plant:
    plant = Plant(api, port, account)
    plant.closes()
    plant.clock.time = NOON - HOUR
    return plant


def test_a_change_is_checked_once(plant: Plant) -> None:
    plant.begins()
    plant.runs("", opened=True)
    for count, revision in enumerate((SECOND, THIRD), 1):
        plant.applies(revision)
        for _ in range(2):
            plant.runs(" ".join([CHECKED] * count), opened=True)
    assert len(set(plant.api.jobs())) == 2
    plant.forget_jobs()
    plant.runs("", opened=True)
    assert plant.posts() == 2


@pytest.mark.parametrize("name", ["ready", "observed"])
def test_it_waits_until_flux_is_done(plant: Plant, name: str) -> None:
    plant.begins()
    plant.applies(**{name: 0})  # type: ignore[arg-type]
    plant.runs("", opened=True)
    assert "hooks.afterApply waits: Kustomization flux-system/apps" in plant.messages("Waiting")
    plant.applies()
    plant.runs(CHECKED, opened=True)


@pytest.mark.parametrize(
    ("source", "ready", "words"),
    [
        # One of the same source that has not begun yet has nothing that would say so.
        ("fleet", True, f"infra has {FIRST}, Kustomization flux-system/apps {SECOND}"),
        ("other", False, "infra is not ready"),
    ],
)
def test_it_waits_for_all_targets(plant: Plant, source: str, words: str, *, ready: bool) -> None:
    plant.closes("apps", "infra")
    plant.begins(BOTH)
    plant.applies(FIRST, "infra", source=source, ready=ready)
    plant.applies()
    plant.runs("", opened=True, timetable=BOTH)
    assert words in plant.messages("Waiting")
    live = plant.api.object("infra")
    plant.api.store(path_of("infra"), {**live, "spec": {"suspend": True}})
    plant.runs(CHECKED, opened=True, timetable=BOTH)


@pytest.mark.parametrize(("revision", "source"), [(SECOND, "fleet"), (FIRST, "other")])
def test_all_targets_are_done(plant: Plant, revision: str, source: str) -> None:
    plant.closes("apps", "infra")
    plant.begins(BOTH)
    plant.applies(revision, "infra", source=source)
    plant.applies()
    plant.runs(CHECKED, opened=True, timetable=BOTH)


def test_a_failure_closes(plant: Plant) -> None:
    plant.begins(text=WHOLE)
    plant.applies()
    plant.api.ends["after-apply"] = "Failed"
    wanted = "before-open after-apply undo"
    plant.runs(wanted, opened=False, well=False, stage="Failed", text=WHOLE)
    said = json.loads(str(plant.notes()[OURS]))
    job = plant.api.jobs()[1]
    assert said["reason"] == f"hooks.afterApply failed: Job maintenance/{job}"
    assert said["cause"] == "HookFailed"
    plant.runs(wanted, opened=False, well=False, text=WHOLE)
    plant.forget_jobs()
    plant.runs("", opened=False, well=False, text=WHOLE)
    # What runs after the close runs at its end; the next one opens, and checks what is new.
    plant.runs("after-close", opened=False, stage="Closed", at=NOON, text=WHOLE)
    plant.api.ends.clear()
    plant.runs("after-close before-open", opened=True, at=NOON + 2 * HOUR, text=WHOLE)
    plant.applies(THIRD)
    plant.runs("after-close before-open after-apply", opened=True, text=WHOLE)


def test_a_failure_is_passed_over(plant: Plant) -> None:
    text = file("afterApply", aborts=False)
    plant.begins(text=text)
    plant.applies()
    plant.api.ends["after-apply"] = "Failed"
    for _ in range(2):
        plant.runs(CHECKED, opened=True, stage="MayOpen", text=text)
    assert any("it said no" in str(line.get("failure")) for line in plant.log)
    plant.forget_jobs()
    plant.runs("", opened=True, text=text)


def test_one_that_hangs_has_failed(plant: Plant) -> None:
    text = file("afterApply", seconds=0.1)
    plant.begins(text=text)
    plant.applies()
    plant.api.ends["after-apply"] = ""
    plant.runs(CHECKED, opened=False, well=False, stage="Failed", text=text)


@pytest.mark.parametrize("code", [403, 404, 422])
def test_one_that_cannot_be_started(plant: Plant, code: int) -> None:
    plant.begins()
    plant.applies()
    plant.api.fault("POST", "jobs", status(code))
    plant.runs("", opened=True, well=False)
    assert plant.posts() == 1
    plant.runs(CHECKED, opened=True, at=NOON - HOUR / 2)


def test_a_mended_hook_is_another(plant: Plant) -> None:
    """Whoever corrects it need not wait: all is opened again, and the change checked again."""
    plant.begins()
    plant.applies()
    plant.api.ends["after-apply"] = "Failed"
    assert not plant.run()
    plant.api.ends.clear()
    mended = file("afterApply", does="that")
    assert plant.run(text=mended)
    plant.applies()
    plant.runs("after-apply undo after-apply", opened=True, stage="MayOpen", text=mended)


def test_a_hook_taken_out(plant: Plant) -> None:
    """By a program without this part: what failed is opened again, and ends as it would."""
    plant.begins()
    plant.applies()
    plant.api.ends["after-apply"] = "Failed"
    assert not plant.run()
    text = file("afterClose")
    plant.runs("after-apply undo", opened=True, text=text, parts={})
    plant.runs("after-apply undo after-close", opened=False, at=NOON, text=text, parts={})


def test_a_hook_that_comes_while_open(plant: Plant) -> None:
    plant.run(text=file("afterClose"), parts={})
    plant.applies()
    plant.runs("", opened=True)
    plant.applies(THIRD)
    plant.runs(CHECKED, opened=True)


def test_a_policy_that_comes_while_it_is_open(plant: Plant) -> None:
    plant.api.add("apps", {})
    plant.applies(FIRST)
    assert plant.run()
    plant.applies()
    plant.runs(CHECKED, opened=True, stage="MayOpen")


def test_runs_at_once_wait_for_one_job(plant: Plant) -> None:
    plant.begins()
    plant.applies()
    plant.api.ends["after-apply"] = ""
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(plant.run) for _ in range(3)]
        until(lambda: plant.posts() == 3)
        sleep(0.2)
        assert (plant.open(), len(plant.api.jobs())) == (True, 1)
        plant.api.end(plant.api.jobs()[0], "Failed")
        assert not any(run.result() for run in runs)
    assert (plant.open(), plant.stage(), plant.kinds()) == (
        False,
        "Failed",
        ["after-apply", "undo"],
    )


def test_a_gate_that_died(plant: Plant) -> None:
    plant.begins()
    plant.applies()
    plant.api.ends["after-apply"] = ""
    with ThreadPoolExecutor() as pool:
        run = pool.submit(plant.run)
        until(plant.api.jobs)
        [job] = plant.api.jobs()
        before = plant.note()
        plant.api.end(job, "Complete")
        assert run.result()
    plant.note(**before)
    assert plant.run()
    assert (plant.note() == before, plant.api.jobs()) == (False, [job])


def test_a_newer_revision_counts(plant: Plant) -> None:
    plant.begins()
    plant.applies()
    plant.api.ends["after-apply"] = ""
    with ThreadPoolExecutor() as pool:
        old = pool.submit(plant.run)
        until(plant.api.jobs)
        plant.applies(THIRD)
        new = pool.submit(plant.run)
        until(lambda: len(plant.api.jobs()) == 2)
        plant.api.end(plant.api.jobs()[0], "Failed")
        assert old.result()
        assert plant.open()
        plant.api.end(plant.api.jobs()[1], "Complete")
        assert new.result()
    assert (plant.open(), plant.kinds()) == (True, ["after-apply"] * 2)


@pytest.mark.parametrize("end", ["Complete", "Failed"])
def test_the_window_closes_while_it_runs(plant: Plant, end: str) -> None:
    plant.begins(text=WHOLE)
    plant.applies()
    plant.api.ends["after-apply"] = ""
    with ThreadPoolExecutor() as pool:
        run = pool.submit(plant.run, text=WHOLE)
        until(lambda: "after-apply" in plant.kinds())
        plant.clock.time = NOON
        until(lambda: not plant.open())
        sleep(0.2)
        assert plant.kinds() == ["before-open", "after-apply"]
        plant.api.end(plant.api.jobs()[1], end)
        assert run.result()
    undone = ["undo"] * (end == "Failed")
    assert plant.kinds() == ["before-open", "after-apply", *undone, "after-close"]
    assert plant.stage() == "Closed"


@pytest.mark.parametrize("end", ["Complete", "Failed"])
def test_no_run_came_while_it_was_open(plant: Plant, end: str) -> None:
    plant.begins(text=WHOLE)
    plant.applies()
    plant.api.ends["after-apply"] = end
    undone = "undo " * (end == "Failed")
    for _ in range(2):
        wanted = f"before-open after-apply {undone}after-close"
        plant.runs(wanted, opened=False, stage="Closed", at=NOON, text=WHOLE)


def test_nothing_was_applied_until_the_close(plant: Plant) -> None:
    plant.begins(text=WHOLE)
    plant.runs("before-open after-close", opened=False, at=NOON, text=WHOLE)


def test_it_is_tried_again_after_the_close(plant: Plant) -> None:
    plant.begins(text=WHOLE)
    plant.applies()
    plant.api.fault("POST", "jobs", status(403))
    plant.runs("before-open", opened=False, well=False, at=NOON, text=WHOLE)
    assert plant.messages("LeftToNextRun").endswith("hooks.afterApply could not be started")
    plant.runs("before-open after-apply after-close", opened=False, text=WHOLE)


def test_closed_by_hand_and_opened_again(plant: Plant) -> None:
    plant.begins()
    plant.applies()
    plant.runs(CHECKED, opened=False, timetable=BY_HAND)
    for _ in range(2):
        plant.runs(CHECKED, opened=True)


def test_a_fault_leaves_it_to_the_next_run(plant: Plant) -> None:
    plant.begins()
    plant.applies()
    plant.api.fault("GET", "apps", lambda _: False, *[status(500)] * 9)
    plant.runs("", opened=True, well=False)
    assert plant.messages("LeftToNextRun").startswith("hooks could not go on: ")
    plant.api.faults.clear()
    plant.runs(CHECKED, opened=True)


def test_a_target_that_is_gone(plant: Plant) -> None:
    plant.closes("apps", "infra")
    plant.begins(BOTH)
    del plant.api.objects[path_of("infra")]
    plant.applies()
    plant.runs(CHECKED, opened=True, well=False, timetable=BOTH)


def test_other_kinds_are_not_asked(plant: Plant) -> None:
    """A source notes nothing that it has applied."""
    source = Target("source.toolkit.fluxcd.io", "buckets", "Bucket", "flux-system", "b", "v1")
    path = "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/buckets/b"
    plant.api.store(
        path, {"kind": "Bucket", "metadata": {"name": "b", "namespace": "flux-system"}, "spec": {}}
    )
    both = POLICY._replace(targets=(*POLICY.targets, source))
    plant.applies(FIRST)
    assert plant.run(both)
    plant.applies()
    assert plant.run(both)
    assert plant.kinds() == ["after-apply"]


def release(version: int, chart: str) -> Json:
    snapshot = {"version": version, "chartVersion": chart, "status": "deployed"}
    return {
        "history": [snapshot],
        "observedGeneration": 3,
        "conditions": [{"type": "Ready", "status": "True"}],
    }


def test_a_release(plant: Plant) -> None:
    target = Target(
        "helm.toolkit.fluxcd.io", "helmreleases", "HelmRelease", "flux-system", "app", "v2"
    )
    path = "/apis/helm.toolkit.fluxcd.io/v2/namespaces/flux-system/helmreleases/app"
    policy = POLICY._replace(targets=(target,))

    def released(version: int, chart: str) -> None:
        metadata: Json = {"name": "app", "namespace": "flux-system", "generation": 3}
        old = plant.api.objects.get(path, {})
        metadata["annotations"] = dig(old, "metadata", "annotations") or {}
        metadata["managedFields"] = dig(old, "metadata", "managedFields") or []
        live: Json = {"kind": "HelmRelease", "metadata": metadata, "spec": {}}
        plant.api.store(path, {**live, "status": release(version, chart)})

    released(1, "1.0.0")
    assert plant.run(policy)
    for count, (version, chart) in enumerate([(2, "2.0.0"), (3, "2.0.0")], 1):
        released(version, chart)
        assert plant.run(policy)
        assert plant.kinds() == ["after-apply"] * count
