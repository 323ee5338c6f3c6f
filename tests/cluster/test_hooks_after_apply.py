"""A hook that checks what was applied: it closes again where that is not well."""

import json

from environment import CLOSED, OPEN, Environment, condition, eventually, throughout
from lab import origins
from test_hooks import Plant, plant
from test_hooks_pending import begin, ends_well, eventually_offered
from test_sources import NAME, RELEASE, installed
from when import Spec

__all__ = ["plant"]


def noted(env: Environment) -> Spec:
    data = env.api.get("configmaps", env.name, "windows-hooks").get("data") or {}
    found: Spec = json.loads(data.get("note", "{}"))
    return found


def reasons(env: Environment) -> list[str]:
    return [found["reason"] for found in env.api.items("events", env.name)]


def test_a_change_is_checked(plant: Plant) -> None:
    """Once it is applied, by one Job; without a change there is none."""
    env, system = plant.env, plant.system
    hooks = {"afterApply": system.hook("checked"), "afterClose": system.hook("off")}
    begin(plant, **hooks)
    plant.opens(**hooks)
    ends_well(plant, "nothing-new")
    assert plant.calls == []

    eventually_offered(env, "2")
    env.eventually_applied("2")
    eventually("it is checked", lambda: bool(checks(plant)))
    ends_well(plant, "once-more")
    assert (plant.calls, len(plant.jobs())) == (["checked"], 1)
    assert env.open()

    plant.closes(**hooks)
    eventually("the hook after closing has run", lambda: plant.calls == ["checked", "off"])


def checks(plant: Plant) -> list[str]:
    ends_well(plant, f"check-{len(plant.env.api.items('jobs', plant.env.name))}")
    return plant.calls


def failing(plant: Plant) -> Spec:
    """Return hooks of which the one after applying fails, and is rolled back."""
    hook = plant.system.hook
    after = hook("fail", rollback=hook("undo"))
    return {"beforeOpen": hook("on"), "afterApply": after, "afterClose": hook("off")}


def test_a_change_that_is_not_well(plant: Plant) -> None:
    """Closed again, rolled back once; when the hook is corrected, opened and checked again."""
    env, system = plant.env, plant.system
    hooks = failing(plant)
    closed, opened = {**CLOSED, "events": True}, {**OPEN, "events": True}
    begin(plant, **hooks)
    plant.policy(closed, **hooks)
    eventually_offered(env, "2")
    plant.policy(opened, **hooks)
    env.eventually_applied("2")
    eventually("Flux is done", lambda: is_ready(env))
    env.job("check")
    eventually("it is rolled back", lambda: system.called("undo") == 1)
    eventually("the run fails", lambda: plant.ended("check") == "Failed")
    assert env.closed()
    [job] = [name for name in names(plant) if "after-apply-" in name and "rollback" not in name]
    why = f"hooks.afterApply failed: Job {plant.namespace}/{job}"
    assert why in str(env.target()["metadata"]["annotations"])
    eventually("an Event says so", lambda: "WindowHookFailed" in reasons(env))
    _, status, _ = env.ask("status")
    assert why in json.dumps(status)

    eventually_offered(env, "3")
    env.job("again")
    eventually("the run fails", lambda: plant.ended("again") == "Failed")
    throughout(5, "version 2 stays", lambda: env.version() == "2")
    assert plant.calls == ["on", "fail", "undo"]

    mended = {**hooks, "afterApply": system.hook("checked")}
    plant.policy(opened, **mended)
    env.eventually_applied("3")
    eventually("Flux is done", lambda: is_ready(env))
    ends_well(plant, "corrected")
    assert plant.calls == ["on", "fail", "undo", "on", "checked"]
    plant.policy(closed, **mended)
    env.eventually_closed()
    eventually("out of maintenance", lambda: plant.calls[-1] == "off")


def names(plant: Plant) -> list[str]:
    return [job["metadata"]["name"] for job in plant.jobs()]


def is_ready(env: Environment, name: str = "apps", plural: str = "kustomizations") -> bool:
    found = env.target(name, plural)
    is_observed = found["status"]["observedGeneration"] == found["metadata"]["generation"]
    return is_observed and condition(found)["status"] == "True"


def test_a_failure_at_the_close(plant: Plant) -> None:
    """No run came while it was open: the one that closes checks, and then takes it out."""
    env = plant.env
    hooks = failing(plant)
    begin(plant, **hooks)
    eventually_offered(env, "2")
    plant.opens("2", **hooks)
    assert plant.calls == ["on"]
    plant.closes(**hooks)
    eventually("all has run", lambda: plant.calls == ["on", "fail", "undo", "off"])
    assert env.closed()
    eventually("that is noted", lambda: noted(env)["stage"] == "Closed")
    ends_well(plant, "once-more")
    assert len(plant.jobs()) == 4


def test_a_release_is_checked(plant: Plant) -> None:
    """A HelmRelease: a new chart that is not well closes it, and the next one waits."""
    env, system = plant.env, plant.system
    hooks = {"afterApply": system.hook("fail", rollback=system.hook("undo"))}
    installed(env)
    plant.policy({**CLOSED, **RELEASE}, **hooks)
    env.eventually_suspended(NAME, "helmreleases")
    origins.publish_chart(env.name, "1.0.0", "2.0.0")
    plant.policy({**OPEN, **RELEASE}, **hooks)
    env.eventually_applied("2.0.0", origins.CHART)
    eventually("Helm is done", lambda: is_ready(env, NAME, "helmreleases"))
    env.job("check")
    eventually("it is rolled back", lambda: system.called("undo") == 1)
    eventually("the run fails", lambda: plant.ended("check") == "Failed")
    assert env.suspended(NAME, "helmreleases")
    origins.publish_chart(env.name, "1.0.0", "2.0.0", "3.0.0")
    throughout(10, "2.0.0 stays", lambda: env.version(origins.CHART) == "2.0.0")
    assert plant.calls == ["fail", "undo"]
