"""Hooks with `onlyIf: Pending` and targets that are edited: no change is applied without its hook.

The controllers are modelled as kustomize-controller 1.9 and helm-controller 1.6 write the status:
a reconcile applies the spec that it began with, but notes on conditions the generation that the
object has by then (fluxcd/pkg, runtime/patch), and so an edit that it has never seen. Every order
in which reconciles begin and end, people edit, and the gate closes and opens is tried.
"""

import json
from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import product
from types import ModuleType
from typing import Any

import pytest
from api_server import Api, Json, Memory, managed
from hook_runs import APPS, HOUR, NOON, NOTE, OURS, PACE, POLICY, file

from krm_windows.gate import pending
from krm_windows.gate.annotations import annotation
from krm_windows.gate.hooks import Hooks
from krm_windows.gate.jobs import Hook, Jobs
from krm_windows.gate.notes import HookName
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.gate.timetable import Target
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Timetable

REVISION = "main@sha1:1"
BEFORE = {
    HookName(name): Hook(**hook) for name, hook in json.loads(file("beforeOpen"))["hooks"].items()
}
SOURCE = Target("source.toolkit.fluxcd.io", "gitrepositories", "GitRepository", "flux-system", "f")
RELEASE = Target(
    "helm.toolkit.fluxcd.io",
    "helmreleases",
    "HelmRelease",
    "flux-system",
    "apps",
    "v2",
    applied=("history",),
)
# By turns closed and open, twice.
TIMES = [NOON - 5 * HOUR, NOON - HOUR, NOON + HOUR / 2, NOON + 2 * HOUR]


class Noting(Memory):
    """One in which Jobs are created, and end well at once; every other policy gates its targets."""

    def may_patch(self, *_: object) -> bool:
        return True

    def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        if method == "POST":
            name = dig(body, "metadata", "name")
            done = {"conditions": [{"type": "Complete", "status": "True"}]}
            self.api.objects[f"{path}/{name}"] = {**(body or {}), "status": done}
            return {}
        path = path.partition("?")[0]
        if method == "PATCH":
            return self.api.merge(path, body or {})
        return self.api.objects[path]


@dataclass
class World:
    kind: str = "Kustomization"
    api: Api = field(default_factory=Api)
    runs: int = 0
    reconciles: tuple[object, Json] | None = None
    """The generation and the spec with which a reconcile began that has not ended."""
    applied: Json = field(default_factory=dict)
    """The spec that was applied last."""
    unhooked: list[str] = field(default_factory=list)
    """What was opened with something to apply, and no hook before."""

    def __post_init__(self) -> None:
        source = {"kind": "GitRepository", "name": "f"}
        spec: Json = {"sourceRef": source, "edits": 0}
        if self.kind == "HelmRelease":
            spec = {"chartRef": {**source, "kind": "OCIRepository"}, "edits": 0}
        metadata: Json = {"name": "apps", "namespace": "flux-system", "generation": 1}
        metadata["managedFields"] = [managed("flux", {"spec": spec}, "Apply")]
        self.api.store(self.name, {"metadata": metadata, "spec": spec, "status": {}})
        self.api.store(NOTE, {"metadata": {"name": "p-hooks"}})
        self._offers()
        self.begins()
        self.ends()

    def _offers(self) -> None:
        ready = {"type": "Ready", "status": "True", "reason": "Succeeded"}
        for kind in ("GitRepository", "OCIRepository"):
            status = {"observedGeneration": 1, "conditions": [ready]}
            self.api.store(
                f"{kind} flux-system/f",
                {
                    "metadata": {"name": "f", "generation": 1},
                    "status": {**status, "artifact": {"revision": REVISION}},
                },
            )

    @property
    def target(self) -> Target:
        if self.kind == "HelmRelease":
            return RELEASE
        return APPS

    @property
    def name(self) -> str:
        return str(self.target)

    @property
    def live(self) -> Json:
        return self.api.objects[self.name]

    @property
    def jobs(self) -> int:
        return len(self.api.jobs())

    # The controller.

    def begins(self) -> None:
        """Let a reconcile begin; of what is suspended it only observes the generation."""
        if self.reconciles is not None:
            return
        spec, generation = self.live["spec"], dig(self.live, "metadata", "generation")
        assert isinstance(spec, dict)
        if spec.get("suspend") is True:
            if self._ready() == "True" or self.kind == "HelmRelease":
                self._write(observedGeneration=generation)
            return
        self.reconciles = generation, deepcopy(spec)
        self._write("Unknown", lastAttemptedGeneration=generation)

    def ends(self) -> None:
        self._ends("True", lastAppliedRevision=REVISION, history=[self._snapshot()])

    def fails(self) -> None:
        self._ends("False")

    def _ends(self, ready: str, **status: object) -> None:
        if self.reconciles is None:
            return
        generation, self.applied = self.reconciles
        self.reconciles = None
        if ready == "True":
            status["observedGeneration"] = generation
        self._write(ready, **status)

    def _snapshot(self) -> Json:
        return {"status": "deployed", "chartVersion": "1.0.0", "ociDigest": REVISION}

    def _write(self, ready: str = "", **status: object) -> None:
        found = {**(dict_of(self.live["status"])), **status}
        if ready:  # for the generation of the moment, whatever was reconciled
            generation = dig(self.live, "metadata", "generation")
            found["conditions"] = [
                {"type": "Ready", "status": ready, "reason": "r", "observedGeneration": generation}
            ]
        self.api.store(self.name, {**self.live, "status": found})

    def _ready(self) -> object:
        conditions = dict_of(self.live["status"])["conditions"]
        assert isinstance(conditions, list)
        return conditions[0]["status"]

    # People.

    def edits(self, **more: object) -> None:
        edits = dig(self.live, "spec", "edits")
        assert isinstance(edits, int)
        self._patch({"spec": {"edits": edits + 1, **more}})

    def resumes(self) -> None:
        self._patch({"spec": {"suspend": False}})

    def suspends(self) -> None:
        self.edits(suspend=True)

    def forges(self) -> None:
        generation = dig(self.live, "metadata", "generation")
        annotations = dict_of(dig(self.live, "metadata", "annotations"))
        for key, text in annotations.items():
            forged = {**json.loads(str(text)), "generation": generation}
            if key.startswith("closed-by"):
                self._patch({"metadata": {"annotations": {key: json.dumps(forged)}}})

    def _patch(self, patch: Json) -> None:
        self.api.merge(self.name, patch, "kubectl")

    # The gate.

    def closes(self) -> None:
        self.run(self._time(is_open=False))

    def opens(self) -> None:
        self.run(self._time(is_open=True))

    def _time(self, *, is_open: bool) -> datetime:
        # TIMES[1] and TIMES[3] are open.
        if self.runs % 2 != is_open:
            self.runs = min(self.runs + 1, len(TIMES) - 1 - (not is_open))
        return TIMES[self.runs]

    def run(
        self, time: datetime, timetable: Timetable = POLICY, part: ModuleType | None = pending
    ) -> None:
        timetable = timetable._replace(targets=(self.target,))
        was_closed, hooked = dig(self.live, "spec", "suspend"), self.jobs
        gate = Gate(shipped(timetable), partial(decide, timetable), lambda: time, lambda **_: None)
        cluster: Any = Noting(self.api)
        jobs = Jobs(cluster, "maintenance", **PACE)
        Hooks(gate, cluster, jobs, NOTE, BEFORE, part).run(allow_missing=False)
        opened = was_closed and not dig(self.live, "spec", "suspend")
        if opened and self.jobs == hooked and self.waits():
            self.unhooked.append(f"generation {dig(self.live, 'metadata', 'generation')}")

    def twin(self) -> "World":
        twin = copy(self)
        twin.api = Api(deepcopy(self.api.objects), version=self.api.version)
        twin.unhooked = list(self.unhooked)
        return twin

    @property
    def state(self) -> str:
        """All by which one world differs from another, but for versions."""
        objects = deepcopy(self.api.objects)
        for live in objects.values():
            dict_of(live["metadata"]).pop("resourceVersion", None)
        return repr((objects, self.reconciles, self.applied, self.runs, self.unhooked))

    def waits(self) -> bool:
        return dig(self.live, "spec", "edits") != self.applied.get("edits")


def dict_of(found: object) -> Json:
    return found if isinstance(found, dict) else {}


KINDS = pytest.mark.parametrize("kind", ["Kustomization", "HelmRelease"])


def story(world: World, *steps: str) -> World:
    for step in steps:
        getattr(world, step)()
    return world


def worlds(kind: str, steps: Sequence[str], most: int) -> Iterator[tuple[World, tuple[str, ...]]]:
    """Yield every world that so many steps lead to, each with the first steps that do."""
    found: dict[str, tuple[World, tuple[str, ...]]] = {World(kind).state: (World(kind), ())}
    last = dict(found)
    for _ in range(most):
        later: dict[str, tuple[World, tuple[str, ...]]] = {}
        for (world, before), step in product(last.values(), steps):
            there = story(world.twin(), step)
            if there.state not in found:
                later[there.state] = (there, (*before, step))
        found |= later
        last = later
    for world, several in found.values():
        yield world, several


STORIES = {
    "closed at rest": ("begins ends closes begins closes opens begins ends " * 2, 0),
    "closed in the middle of a reconcile": ("begins closes ends begins opens begins ends " * 2, 0),
    "an edit that was reconciled before the close": ("edits begins ends closes begins opens", 0),
    # Its condition notes the generation of the close, and the edit looks like the close.
    "an edit after a close": ("begins closes ends begins edits begins opens", 1),
    # Its condition notes the generation of the edit, which the reconcile never saw.
    "an edit in the middle of a reconcile": ("begins closes edits ends begins opens", 1),
    "an edit before the close": ("begins edits closes ends begins opens", 1),
    # What was applied before the gate closes it anew was reconciled.
    "resumed by a person": ("closes edits resumes begins ends closes begins opens", 0),
    "resumed for too short a time": ("closes edits resumes closes begins opens", 1),
}


@KINDS
@pytest.mark.parametrize("name", STORIES)
def test_what_was_edited(kind: str, name: str) -> None:
    steps, jobs = STORIES[name]
    world = story(World(kind), *steps.split())
    assert (world.jobs, world.unhooked) == (jobs, [])
    assert dig(world.live, "spec", "suspend") is False


@KINDS
def test_an_edit_that_suspends(kind: str) -> None:
    """A policy that adopts it opens it again: what the edit has changed beside is not applied."""
    world = story(World(kind), "suspends", "begins")
    adopting = POLICY._replace(adopt_until=datetime(2030, 1, 1))
    for time in TIMES[:2]:
        world.run(time, adopting)
    assert (world.jobs, world.unhooked) == (1, [])


@KINDS
def test_a_note_that_the_gate_has_not_written(kind: str) -> None:
    for steps in (("opens",), ("closes", "opens")):
        world = story(World(kind), "closes", "edits", "forges", *steps)
        assert world.jobs == 1 or dig(world.live, "spec", "suspend") is True
        assert not world.unhooked


@KINDS
def test_a_target_that_an_earlier_release_has_closed(kind: str) -> None:
    """Nothing notes what it was, so the hook runs, and the next time it is known."""
    world = World(kind)
    world.run(TIMES[0], part=None)
    world.runs = 0
    story(world, "closes", "opens")
    assert world.jobs == 1
    story(world, "begins", "ends", "closes", "opens")
    assert world.jobs == 1


@KINDS
def test_a_policy_of_another_name(kind: str) -> None:
    world = story(World(kind), "closes")
    renamed = POLICY._replace(policy="flux-system/q", former_names=("flux-system/p",))
    for time in TIMES[:2]:
        world.run(time, renamed)
        assert OURS not in dict_of(dig(world.live, "metadata", "annotations"))
    assert (world.jobs, dig(world.live, "spec", "suspend")) == (0, False)
    edited = story(World(kind), "closes", "edits")
    for time in TIMES[:2]:
        edited.run(time, renamed)
    assert edited.jobs == 1


@KINDS
def test_what_is_noted(kind: str) -> None:
    world = story(World(kind), "closes", "begins", "edits", "closes")
    annotations = dict_of(dig(world.live, "metadata", "annotations"))
    assert json.loads(str(annotations[OURS]))["generation"] == 2
    story(world, "opens")
    assert OURS not in dict_of(dig(world.live, "metadata", "annotations"))
    # Without `onlyIf` nothing is.
    world = World(kind)
    world.run(TIMES[0], part=None)
    annotations = dict_of(dig(world.live, "metadata", "annotations"))
    assert "generation" not in json.loads(str(annotations[OURS]))


@KINDS
def test_a_note_of_another_policy(kind: str) -> None:
    """Anybody could have written it, if that policy is none; so it is not asked."""
    world = World(kind)
    world.run(TIMES[0], POLICY._replace(policy="flux-system/other"))
    story(world, "closes", "edits")
    other = annotation("flux-system/other")
    world.api.merge(world.name, {"metadata": {"annotations": {other: None}}})
    story(world, "opens")
    assert (world.jobs, world.unhooked) == (1, [])


@KINDS
def test_no_change_is_applied_without_its_hook(kind: str) -> None:
    steps = ("begins", "ends", "fails", "edits", "closes", "resumes", "suspends")
    for world, several in worlds(kind, steps, 5):
        story(world, "opens")
        assert not world.unhooked, several


@pytest.mark.slow
@KINDS
def test_no_change_is_applied_without_its_hook_in_a_second_window(kind: str) -> None:
    steps = ("begins", "ends", "edits", "closes", "opens")
    for world, several in worlds(kind, steps, 6):
        story(world, "opens")
        assert not world.unhooked, several
