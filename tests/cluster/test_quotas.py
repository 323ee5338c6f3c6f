"""Quotas, limit ranges and images that keep Pods from starting."""

import json
from copy import deepcopy

import pytest
from environment import CLOSED, Environment, eventually
from lab.api import ApiError, Object, path
from lab.settings import REGISTRY_PORT
from test_hooks import DENIED, Plant, answer, container, job_of, never_ready, plant
from test_status import by_windows, row, status
from when import Spec

from krm_windows.policy.images import DEFAULTS

__all__ = ["plant"]

RESYNC = "windows-resync"
# The node's containerd asks for it, and hears that there is none.
NOWHERE = f"127.0.0.1:{REGISTRY_PORT}/nowhere/python:3.13"
NOTHING_RAN = ("open", "closed", None)
IMAGE = "/spec/jobTemplate/spec/template/spec/containers/0/image"
# What docs/how-to/hold-the-gate-to-its-field.md says of the gate's Pods.
REQUESTS = {"cpu": "10m", "memory": "64Mi", "ephemeral-storage": "0"}
LIMITS = {"cpu": "1", "memory": "128Mi", "ephemeral-storage": "64Mi"}


def closing(**more: object) -> Spec:
    return {**CLOSED, "interval": "1m", **more}


def refusal(env: Environment, **requests: str) -> str:
    pod = never_ready()
    pod["spec"]["containers"][0]["resources"] = {"requests": requests}
    try:
        env.api.ask("POST", f"{path('pods', env.name)}?dryRun=All", pod)
    except ApiError as error:
        return str(error)
    return ""


def bound(env: Environment, kind: str, **spec: object) -> None:
    env.api.create(kind, env.name, {"metadata": {"name": "bounds"}, "spec": spec})


def set_limits(env: Environment, *limits: Object) -> None:
    """Wait until a Pod below the bounds is refused."""
    bound(env, "limitranges", limits=list(limits))
    low = "minimum memory usage"
    eventually("it is in force", lambda: low in refusal(env, memory="32Mi"))


def eventually_ran(env: Environment) -> None:
    cron_job = (RESYNC, "cronjobs")
    eventually("a run has succeeded", lambda: "lastSuccessfulTime" in str(env.target(*cron_job)))


def eventually_named(env: Environment, cause: str) -> Object:
    """Wait until `status` fails and names a cause; return what it says of the trouble."""
    said: Object = {}

    def named() -> bool:
        code, found, _ = status(env)
        said.clear()
        said.update(found["failure"] or {}, code=code, row=row(found), last=found["lastRun"])
        nothing_ran = (code, said["row"], said["last"]) == (1, NOTHING_RAN, None)
        return nothing_ran and said.get("cause") == cause

    eventually(f"status names {cause}", named)
    return said


@pytest.mark.long
def test_runs_fit_a_quota(env: Environment) -> None:
    """There is enough for three runs."""
    limits = {"limits.cpu": "3", "limits.memory": "384Mi", "limits.ephemeral-storage": "192Mi"}
    storage = {"requests.ephemeral-storage": "0"}
    requests = {"requests.cpu": "30m", "requests.memory": "192Mi", **storage}
    bound(env, "resourcequotas", hard={**limits, **requests})
    eventually("it is in force", lambda: "must specify limits.cpu" in refusal(env))
    env.begin_closed(closing())
    eventually_ran(env)
    assert status(env)[0] == 0


@pytest.mark.long
def test_runs_fit_a_limit_range(env: Environment) -> None:
    """Bounds that are just those of a run, and other defaults."""
    bounds: Object = {
        "type": "Container",
        "min": {"cpu": "10m", "memory": "64Mi"},
        "max": LIMITS,
        "default": {"cpu": "500m", "memory": "100Mi", "ephemeral-storage": "32Mi"},
        "defaultRequest": {"cpu": "100m", "memory": "80Mi", "ephemeral-storage": "16Mi"},
    }
    set_limits(env, bounds, {"type": "Pod", "max": LIMITS})
    env.begin_closed(closing())
    eventually_ran(env)
    mine = f"krm-windows.dev/policy={env.name}.windows"
    pods = env.api.items("pods", env.name, labelSelector=mine)
    said = [pod["spec"]["containers"][0]["resources"] for pod in pods]
    assert said
    assert all(amounts == {"requests": REQUESTS, "limits": LIMITS} for amounts in said)


@pytest.mark.long
def test_a_run_takes_what_a_limit_range_demands(env: Environment) -> None:
    """By `actuator.resources`, where its defaults do not meet the bounds."""
    bounds: Object = {
        "type": "Container",
        # No storage: this node, in memory, has none to give.
        "min": {"cpu": "50m", "memory": "128Mi"},
        "max": {"cpu": "500m"},
        "maxLimitRequestRatio": {"cpu": "10"},
    }
    set_limits(env, bounds)
    env.begin()
    env.delivers(closing())
    said = eventually_named(env, "limit range")
    assert "minimum memory usage per Container is 128Mi" in said["message"]
    requests = {"cpu": "50m", "memory": "128Mi"}
    env.closes(closing(actuator={"resources": {"requests": requests, "limits": {"cpu": "500m"}}}))
    eventually_ran(env)
    assert status(env)[0] == 0


def test_a_quota_that_is_used_up_is_named(env: Environment) -> None:
    """As soon as there is enough left again, the target is closed."""
    env.begin()
    bound(env, "resourcequotas", hard={"pods": "1"})
    env.api.create("pods", env.name, never_ready())
    eventually("it is in force", lambda: "exceeded quota: bounds" in refusal(env))
    env.delivers(closing())
    said = eventually_named(env, "quota")
    assert said["message"].startswith("FailedCreate")
    assert "exceeded quota: bounds" in said["message"]
    assert said["by"].startswith("Job windows-")
    env.api.delete("pods", env.name, "slow")
    env.eventually_closed()
    assert status(env)[0] == 0


def test_an_image_that_cannot_be_pulled_is_named(env: Environment) -> None:
    """By the Pod, or by what the kubelet says of it."""
    env.begin()
    env.delivers(closing(actuator={"image": NOWHERE}))
    said = eventually_named(env, "image")
    assert said["by"].startswith("Pod windows-")


@pytest.mark.long
def test_a_stuck_run_does_not_suppress_the_next(env: Environment) -> None:
    """Two runs of one CronJob wait for an image that is nowhere; the third has one."""
    env.begin()
    env.delivers(closing(actuator={"image": NOWHERE}))
    eventually("two runs of one CronJob wait side by side", lambda: len(stuck(env)) > 1)
    assert env.open()
    env.suspend_delivery()
    eventually("a run with an image closes", lambda: give_image(env) and env.closed())
    assert stuck(env)
    eventually_ran(env)
    assert status(env)[0] == 0


def give_image(env: Environment) -> bool:
    """Again and again, as a delivery under way may put it back."""
    change = {"op": "replace", "path": IMAGE, "value": DEFAULTS["Gate"].reference}
    env.api.json_patch("cronjobs", env.name, RESYNC, change)
    return True


def stuck(env: Environment) -> list[Object]:
    """Return the Jobs of the interval that wait for an image that is nowhere."""
    return [
        job
        for job in env.api.items("jobs", env.name)
        if job["metadata"]["name"].startswith(f"{RESYNC}-")
        and container(job)["image"] == NOWHERE
        and job.get("status", {}).get("active")
    ]


def test_cron_jobs_that_are_gone_or_suspended_are_named(env: Environment) -> None:
    """The target is as it should be, but nobody would open it."""
    env.begin_closed()
    assert status(env)[0] == 0
    env.suspend_delivery()
    env.api.delete("cronjobs", env.name, RESYNC)
    env.api.patch("cronjobs", env.name, "windows-open-later", {"spec": {"suspend": True}})
    eventually("one is gone", lambda: env.api.find("cronjobs", env.name, RESYNC) is None)
    code, found, _ = status(env)
    assert (code, row(found)) == (1, ("closed", "closed", by_windows(env)))
    assert sorted(found["stopped"]) == [
        f"CronJob {env.name}/windows-open-later is suspended, so it starts no runs",
        f"CronJob {env.name}/{RESYNC} not found: was it pruned, or never applied?",
    ]
    env.suspend_delivery(suspend=False)
    eventually("Flux has put them back", lambda: status(env)[0] == 0)


def test_windows_that_were_pruned_while_closed_are_named(env: Environment) -> None:
    """The target stays shut for ever."""
    env.begin_closed()
    own = [found["metadata"]["name"] for found in env.api.items("cronjobs", env.name)]
    assert RESYNC in own
    env.leave_out("windows")
    env.commit("Remove the windows, too early")
    eventually("Flux has pruned them", lambda: not env.api.items("cronjobs", env.name))
    code, found, _ = status(env)
    assert (code, row(found)) == (1, ("closed", "closed", by_windows(env)))
    gone = "not found: was it pruned, or never applied?"
    assert sorted(found["stopped"]) == [f"CronJob {env.name}/{name} {gone}" for name in sorted(own)]


def test_hooks_with_amounts_of_their_own(plant: Plant, neighbour: Environment) -> None:
    """However they are spelled, the admission policy lets their Jobs pass, and no others."""
    system = plant.system
    bounds: Object = {"type": "Container", "min": {"memory": "96Mi"}, "max": {"memory": "1Gi"}}
    set_limits(neighbour, bounds)
    requests, limits = {"cpu": 0.25, "memory": "0.125Gi"}, {"cpu": "1.50", "memory": "1024Mi"}
    opening = {"requests": requests, "limits": limits}
    ending = {
        "requests": {"memory": "100663296"},
        "limits": {"memory": "5e8", "ephemeral-storage": ".5Gi"},
    }
    hooks = {
        "beforeOpen": system.hook("on", resources=opening),
        "afterClose": system.hook("off", resources=ending),
    }
    plant.closed(**hooks)
    plant.opens("2", **hooks)
    plant.closes(**hooks)
    eventually("out of maintenance", lambda: system.called("off") == 1)
    assert [container(job)["resources"] for job in plant.jobs()] == [
        {
            "requests": {"cpu": "250m", "memory": "128Mi", "ephemeral-storage": "0"},
            "limits": {"cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "256Mi"},
        },
        {
            "requests": {"cpu": "10m", "memory": "100663296", "ephemeral-storage": "0"},
            "limits": {"cpu": "1", "memory": "500M", "ephemeral-storage": "512Mi"},
        },
    ]
    assert_no_other_amounts(plant)


def assert_no_other_amounts(plant: Plant) -> None:
    env, where = plant.env, f"apis/batch/v1/namespaces/{plant.namespace}/jobs?dryRun=All"
    account = env.account()
    tables = env.api.get("configmaps", env.name, "windows-gate")["data"]
    for hook in json.loads(tables["hooks.json"])["hooks"].values():
        account.ask("POST", where, job_of(hook))
        for name in LIMITS:
            for other in (greater_limit, request_of_its_limit):
                job = deepcopy(job_of(hook))
                other(container(job)["resources"], name)
                assert answer(account, where, job) == DENIED, (other, name)
    account.close()


def greater_limit(amounts: Object, name: str) -> None:
    amounts["limits"][name] = "2Gi" if name != "cpu" else "2"


def request_of_its_limit(amounts: Object, name: str) -> None:
    amounts["requests"][name] = amounts["limits"][name]
