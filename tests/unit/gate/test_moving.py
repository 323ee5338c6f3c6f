"""A target moves from one policy to another: nothing is opened that a policy holds closed.

Both policies are applied and run in every order, by the calendars of both, while Jobs that began
before are still under way.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from pathlib import Path

import pytest
import zoned
from api_server import Api, Json, Memory, closed_by, kustomization, managed, said, status
from hook_runs import APPLIED, BOTH, HOUR, NOON, Lab

from krm_windows.gate.annotations import annotation
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.gate.target import Observed, observe
from krm_windows.gate.timetable import Target
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide

APPS = kustomization("apps", "v1")
OLD, NEW = "flux-system/old", "shop/new"
POLICIES = (OLD, NEW)
STEPS = tuple(
    f"{step} {policy}" for step in ("apply", "run", "finish", "turn") for policy in POLICIES
)


@dataclass(frozen=True)
class World:
    """A target and its policies; `finish` is a Job of the older commit that ends only now."""

    gated_by: frozenset[str] = frozenset({OLD})
    open: frozenset[str] = frozenset()
    applied: frozenset[str] = frozenset()
    live: str = ""
    wrong: tuple[str, ...] = ()
    releases: bool = False

    def after(self, step: str) -> "World":
        action, policy = step.split()
        if action == "turn":
            return replace(self, open=self.open ^ {policy})
        if action == "apply":
            gated_by = self.gated_by | {policy}
            if policy == OLD and not self.releases:
                gated_by = self.gated_by - {policy}
            return replace(self, gated_by=gated_by, applied=self.applied | {policy})
        if action == "run" and policy not in self.gated_by:
            return self  # its timetable does not name the target
        if policy == NEW and policy not in self.applied:
            return self
        return self._run(policy)

    def _run(self, policy: str) -> "World":
        state = "Open" if policy in self.open else "Closed"
        timetable = zoned.timetable(policy, targets=(APPS,), state=state)
        is_released = self.releases and policy == OLD and policy in self.applied
        if is_released:
            timetable = timetable._replace(targets=(), released=(APPS,))
        before = json.loads(self.live)
        memory = Permitted(deepcopy(before), policy, self.gated_by)
        gate = Gate(
            shipped(timetable), lambda at: decide(timetable, at), lambda: NOON, lambda **_: None
        )
        gate.run(memory, allow_missing=False)  # type: ignore[arg-type]
        after = replace(self, live=json.dumps(memory.api.objects[str(APPS)]))
        if before["spec"].get("suspend") and not after.suspended:
            held = {
                other
                for other in self.gated_by - {policy} - self.open
                if annotation(other) in before["metadata"].get("annotations", {})
            }
            may = is_released or policy in self.open
            if held or not may or policy not in self.gated_by:
                return replace(after, wrong=(*self.wrong, f"{policy} opened it"))
        return after

    @property
    def suspended(self) -> bool:
        return json.loads(self.live)["spec"].get("suspend") is True

    @property
    def annotations(self) -> set[str]:
        return set(json.loads(self.live)["metadata"].get("annotations", {}))


class Permitted(Memory):
    def __init__(self, live: Json, policy: str, gated_by: frozenset[str]) -> None:
        super().__init__(Api())
        self.policy, self.gated_by = policy, gated_by
        self.api.store(str(APPS), live)

    def get(self, target: Target) -> Json:
        if self.policy not in self.gated_by:
            raise ApiError("forbidden", 403)
        return super().get(target)

    def may_patch(self, policy: str, target: Target) -> bool:
        assert target == APPS
        return policy in self.gated_by


def begun() -> World:
    spec: Json = {"interval": "10m"}
    metadata: Json = {"name": "apps", "namespace": "flux-system"}
    metadata["managedFields"] = [managed("flux", {"spec": spec}, "Apply")]
    live = {"metadata": metadata, "spec": spec, "status": {"lastAppliedRevision": "main"}}
    world = World(live=json.dumps(live)).after(f"run {OLD}")
    assert (world.suspended, world.annotations) == (True, {annotation(OLD)})
    return world


def worlds(most: int, *, releases: bool) -> Iterator[tuple[World, tuple[str, ...]]]:
    found: dict[World, tuple[str, ...]] = {replace(begun(), releases=releases): ()}
    last = dict(found)
    for _ in range(most):
        later: dict[World, tuple[str, ...]] = {}
        for (world, before), step in product(last.items(), STEPS):
            there = world.after(step)
            there = replace(there, live=_unversioned(there.live))
            if there not in found:
                later[there] = (*before, step)
        found |= later
        last = later
    yield from found.items()


def _unversioned(live: str) -> str:
    item = json.loads(live)
    item["metadata"].pop("resourceVersion", None)
    return json.dumps(item, sort_keys=True)


def test_no_order_opens_what_a_policy_holds_closed() -> None:
    for world, steps in worlds(9, releases=False):
        assert not world.wrong, steps
        end = world.after(f"apply {OLD}").after(f"apply {NEW}").after(f"run {NEW}")
        assert not end.wrong, steps
        assert end.suspended == (NEW not in end.open), steps
        assert end.annotations <= {annotation(NEW)}, steps


def test_what_the_old_policy_releases_stays_closed_as_the_new_one_has_closed_it() -> None:
    """No build lets that through which sees both; where none does, the new policy wins at last."""
    for world, steps in worlds(9, releases=True):
        assert not world.wrong, steps
        end = world.after(f"apply {OLD}").after(f"apply {NEW}")
        for policy in (NEW, OLD, NEW):
            end = end.after(f"run {policy}")
            assert not end.wrong, steps
        assert end.suspended == (NEW not in end.open), steps
        assert end.annotations <= {annotation(NEW)}, steps


# The same as requests.

POLICY = zoned.timetable(NEW, targets=(APPS,), state="Closed")
ACCOUNT = "system:serviceaccount:flux-system:old-gate"
REVIEW = "localsubjectaccessreviews"


@pytest.fixture
def run_once(api: Api, port: int, account: Path) -> Callable[..., bool]:
    api.add("apps", {"suspend": True}, annotations={annotation(OLD): closed_by(OLD)})

    def run(*, opens: bool, resyncs: bool = False) -> bool:
        held = POLICY._replace(state="Open" if opens else "Closed")
        gate = Gate(shipped(held), lambda at: decide(held, at), lambda: NOON)
        cluster = Cluster("127.0.0.1", str(port), account, 5)
        return gate.run(cluster, allow_missing=not resyncs)

    return run


RunOnce = Callable[..., bool]


def state(api: Api) -> tuple[object, set[str]]:
    live = api.object("apps")
    annotations = dig(live, "metadata", "annotations")
    assert isinstance(annotations, dict)
    return dig(live, "spec", "suspend"), set(annotations)


def test_what_is_asked(api: Api, run_once: RunOnce, capsys: pytest.CaptureFixture[str]) -> None:
    api.gone.add(ACCOUNT)
    assert run_once(opens=False)
    assert any(line.endswith(REVIEW) for line in api.asked)
    api.asked.clear()
    assert run_once(opens=False)
    assert state(api) == (True, {annotation(NEW)})
    assert not any(line.endswith(REVIEW) for line in api.asked)
    assert "annotation updated: taken over from flux-system/old" in capsys.readouterr().out
    assert run_once(opens=True)
    assert state(api) == (False, set())


def test_what_another_policy_still_gates(api: Api, run_once: RunOnce) -> None:
    """It stays closed. The apply Job tries again; later runs leave it to that policy."""
    assert not run_once(opens=True)
    assert run_once(opens=True, resyncs=True)
    assert state(api) == (True, {annotation(OLD)})
    assert run_once(opens=False)
    assert state(api) == (True, {annotation(OLD), annotation(NEW)})


@pytest.mark.parametrize(
    "fault",
    [
        status(403),
        said({"status": {}}),
        said({"status": {"allowed": "false"}}),
        said({"status": {"allowed": False, "evaluationError": "no answer"}}),
    ],
)
def test_what_is_not_known_opens_nothing(api: Api, run_once: RunOnce, fault: object) -> None:
    api.gone.add(ACCOUNT)
    api.fault("POST", REVIEW, *[fault] * 20)  # type: ignore[list-item]
    assert not run_once(opens=True, resyncs=True)
    assert state(api) == (True, {annotation(OLD)})
    assert not run_once(opens=False, resyncs=True)
    assert state(api) == (True, {annotation(OLD), annotation(NEW)})


# Hooks: what is taken over waits like all else, so they run before it is opened.


@dataclass(frozen=True)
class Waits:
    names: tuple[str, ...]

    def observe(self, names: Sequence[str], target: Target, live: object) -> Observed:
        del names
        return observe(target, live)

    def any_waits(self, gate: Gate, cluster: Cluster, targets: Sequence[Target]) -> bool:
        del gate, cluster
        return any(target.name in self.names for target in targets)


@pytest.fixture
def lab(api: Api, port: int, account: Path) -> Lab:
    """`apps` was moved to a policy with hooks while another one had closed it."""
    lab = Lab(api, port, account)
    lab.closes("infra")
    notes: Json = {annotation(OLD): closed_by(OLD)}
    api.add("apps", {"suspend": True}, annotations=notes, status=APPLIED)
    return lab


@pytest.mark.parametrize("time", [NOON - HOUR, NOON + HOUR / 2], ids=["open", "closed"])
def test_hooks_run_once(lab: Lab, time: datetime) -> None:
    lab.api.gone.add(ACCOUNT)
    lab.clock.time = time
    assert lab.run(BOTH)
    assert lab.open() == (time < NOON)
    assert lab.kinds() == (["before-open"] if time < NOON else [])
    lab.clock.time = NOON + 2 * HOUR
    for _ in range(2):
        assert lab.run(BOTH)
    assert (lab.open(), lab.kinds()) == (True, ["before-open"])
    lab.clock.time = NOON + 5 * HOUR
    for _ in range(2):
        assert lab.run(BOTH)
    assert (lab.open(), lab.kinds()) == (False, ["before-open", "after-close"])


def test_hooks_run_where_only_what_is_taken_over_has_something_to_apply(lab: Lab) -> None:
    lab.api.gone.add(ACCOUNT)
    assert lab.run(BOTH, parts={"pending": Waits(("apps",))})
    assert lab.kinds() == ["before-open"]
    assert lab.open()
    assert lab.open("infra")


def test_hooks_do_not_run_for_what_another_policy_keeps_closed(lab: Lab) -> None:
    assert lab.run(BOTH, parts={"pending": Waits(("apps",))})
    assert (lab.kinds(), lab.open(), lab.open("infra")) == ([], False, True)


def test_hooks_wait_until_it_is_known_whether_a_target_is_taken_over(lab: Lab) -> None:
    lab.api.gone.add(ACCOUNT)
    lab.api.fault("POST", REVIEW, status(500), status(500))
    assert not lab.run(BOTH, parts={"pending": Waits(("apps",))})
    assert (lab.kinds(), lab.open(), lab.open("infra")) == ([], False, False)
