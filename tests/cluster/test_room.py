"""Room in a namespace: quotas, bounds and images keep Pods from starting; what fits runs, what does not is named."""

import json
from collections.abc import Iterator
from copy import deepcopy

import pytest
from lab.api import Api, ApiError, Object
from lab.settings import REGISTRY_PORT
from line import Line
from telling import Spec, Story, eventually, far_window
from test_hooks import CLOSED, DENIED, OPEN, Plant, answer, container, job_of, never_ready, token
from test_status import row, status

from krm_windows.policy.images import DEFAULTS

LOOK = "windows-resync"
NOWHERE = f"127.0.0.1:{REGISTRY_PORT}/nowhere/python:3.13"  # the node's containerd asks, and is told that there is none
NOBODY_LOOKS = ("open", "closed", None)
IMAGE = "/spec/jobTemplate/spec/template/spec/containers/0/image"
# What docs/how-to/fit-a-namespace.md says of the Pods of looks.
REQUESTS = {"cpu": "10m", "memory": "64Mi", "ephemeral-storage": "0"}
LIMITS = {"cpu": "1", "memory": "128Mi", "ephemeral-storage": "64Mi"}


def closing(**more: object) -> Spec:
    """Return a policy that is closed for hours, and looked at every minute."""
    return {"interval": "1m", "windows": {"later": far_window().spec}, **more}


def refusal(api: Api, namespace: str, **requests: str) -> str:
    """Return what the API server says to a Pod with these requests, empty if it would take it."""
    pod = never_ready()
    pod["spec"]["containers"][0]["resources"] = {"requests": requests}
    try:
        api.ask("POST", f"api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
    except ApiError as error:
        return str(error)
    return ""


def set_quota(story: Story, hard: dict[str, str]) -> None:
    """Bound what all Pods of the namespace use together."""
    story.api.create(
        "resourcequotas", story.name, {"metadata": {"name": "room"}, "spec": {"hard": hard}}
    )


def set_limits(api: Api, namespace: str, *limits: Object) -> None:
    """Bound what each Pod of the namespace may use, and wait until one below the bounds is refused."""
    api.create(
        "limitranges", namespace, {"metadata": {"name": "room"}, "spec": {"limits": list(limits)}}
    )
    eventually(
        "it is in force", lambda: "minimum memory usage" in refusal(api, namespace, memory="32Mi")
    )


def eventually_looked(story: Story) -> None:
    """Wait until a look that its CronJob started has ended well."""
    eventually(
        "a look of a CronJob has succeeded",
        lambda: "lastSuccessfulTime" in look(story).get("status", {}),
    )


def look(story: Story) -> Object:
    """Return the CronJob of the interval."""
    return story.api.get("cronjobs", story.name, LOOK)


def eventually_named(story: Story, cause: str) -> Object:
    """Wait until `status` fails and names a cause, with the target still open; return what it says of the trouble."""
    said: Object = {}

    def named() -> bool:
        code, found, _ = status(story)
        said.clear()
        said.update(found["failure"] or {}, code=code, row=row(found), last=found["lastRun"])
        nobody_looked = (code, said["row"], said["last"]) == (1, NOBODY_LOOKS, None)
        return nobody_looked and said.get("cause") == cause

    try:
        eventually(f"status names {cause}", named)
    except AssertionError as error:
        raise AssertionError(f"{error}; it said {said}") from error
    return said


@pytest.mark.long
def test_looks_fit_a_quota(story: Story) -> None:
    """A quota on all that Pods may ask for, with room for three looks: they run, and the target is closed."""
    limits = {"limits.cpu": "3", "limits.memory": "384Mi", "limits.ephemeral-storage": "192Mi"}
    requests = {
        "requests.cpu": "30m",
        "requests.memory": "192Mi",
        "requests.ephemeral-storage": "0",
    }
    set_quota(story, {**limits, **requests})
    eventually(
        "it is in force", lambda: "must specify limits.cpu" in refusal(story.api, story.name)
    )
    story.begin()
    story.policy(closing())
    story.eventually_closed()
    eventually_looked(story)
    assert status(story)[0] == 0


@pytest.mark.long
def test_looks_fit_a_limit_range(story: Story) -> None:
    """Bounds that are just those of a look, and other defaults: looks run with what their Pods say."""
    bounds: Object = {
        "type": "Container",
        "min": {"cpu": "10m", "memory": "64Mi"},
        "max": LIMITS,
        "default": {"cpu": "500m", "memory": "100Mi", "ephemeral-storage": "32Mi"},
        "defaultRequest": {"cpu": "100m", "memory": "80Mi", "ephemeral-storage": "16Mi"},
    }
    set_limits(story.api, story.name, bounds, {"type": "Pod", "max": LIMITS})
    story.begin()
    story.policy(closing())
    story.eventually_closed()
    eventually_looked(story)
    pods = story.api.items(
        "pods", story.name, labelSelector=f"krm-windows.dev/policy={story.name}.windows"
    )
    said = [pod["spec"]["containers"][0]["resources"] for pod in pods]
    assert said
    assert all(amounts == {"requests": REQUESTS, "limits": LIMITS} for amounts in said)


@pytest.mark.long
def test_a_look_takes_what_a_limit_range_demands(story: Story) -> None:
    """Bounds that a look's defaults do not meet are named; with `actuator.resources` the target is closed."""
    bounds: Object = {
        "type": "Container",
        "min": {
            "cpu": "50m",
            "memory": "128Mi",
        },  # no storage: this node, in memory, has none to give
        "max": {"cpu": "500m"},
        "maxLimitRequestRatio": {"cpu": "10"},
    }
    set_limits(story.api, story.name, bounds)
    story.begin()
    story.policy(closing())
    story.eventually_delivered()
    said = eventually_named(story, "limit range")
    assert "minimum memory usage per Container is 128Mi" in said["message"]
    requests = {"cpu": "50m", "memory": "128Mi"}
    story.policy(closing(actuator={"resources": {"requests": requests, "limits": {"cpu": "500m"}}}))
    story.eventually_closed()
    eventually_looked(story)
    assert status(story)[0] == 0


def test_a_quota_that_is_used_up_is_named(story: Story) -> None:
    """No look can start, and `status` says why; as soon as there is room again, the target is closed."""
    story.begin()
    set_quota(story, {"pods": "1"})
    story.api.create("pods", story.name, never_ready())
    eventually("there is no room", lambda: "exceeded quota: room" in refusal(story.api, story.name))
    story.policy(closing())
    story.eventually_delivered()
    said = eventually_named(story, "quota")
    assert said["message"].startswith("FailedCreate")
    assert "exceeded quota: room" in said["message"]
    assert said["by"].startswith("Job windows-")
    story.api.delete("pods", story.name, "slow")
    story.eventually_closed()
    assert status(story)[0] == 0


def test_an_image_that_cannot_be_pulled_is_named(story: Story) -> None:
    """The Pod is there, and waits; `status` says for what, by the Pod or by what the kubelet says of it."""
    story.begin()
    story.policy(closing(actuator={"image": NOWHERE}))
    story.eventually_delivered()
    said = eventually_named(story, "image")
    assert said["by"].startswith("Pod windows-")


@pytest.mark.long
def test_a_stuck_look_does_not_suppress_the_next(story: Story) -> None:
    """Two looks of one CronJob wait for an image that is nowhere; the third finds its own, and closes beside them."""
    story.begin()
    story.policy(closing(actuator={"image": NOWHERE}))
    story.eventually_delivered()
    eventually("two looks of one CronJob wait side by side", lambda: len(stuck(story)) > 1)
    assert story.open()
    story.suspend_delivery()
    eventually("a look with an image closes", lambda: give_image(story) and story.closed())
    assert stuck(story)
    eventually_looked(story)
    assert status(story)[0] == 0


def give_image(story: Story) -> bool:
    """Have the interval's CronJob use the default image; again and again, as a delivery under way may put it back."""
    found = DEFAULTS["Gate"].reference
    story.api.json_patch(
        "cronjobs", story.name, LOOK, {"op": "replace", "path": IMAGE, "value": found}
    )
    return True


def stuck(story: Story) -> list[str]:
    """Return the Jobs of the interval's CronJob that wait for an image that is nowhere: they have not ended."""
    jobs = [
        job
        for job in story.api.items("jobs", story.name)
        if job["metadata"]["name"].startswith(f"{LOOK}-")
    ]
    waiting = [
        job
        for job in jobs
        if container(job)["image"] == NOWHERE and job.get("status", {}).get("active")
    ]
    return [job["metadata"]["name"] for job in waiting]


def test_cron_jobs_that_are_gone_or_suspended_are_named(story: Story) -> None:
    """The target is as it should be, and nobody would open it: `status` fails, until Flux has put them back."""
    story.begin()
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()
    assert status(story)[0] == 0
    story.suspend_delivery()
    story.api.delete("cronjobs", story.name, LOOK)
    story.api.patch("cronjobs", story.name, "windows-open-later", {"spec": {"suspend": True}})
    eventually("one is gone", lambda: story.api.find("cronjobs", story.name, LOOK) is None)
    code, found, _ = status(story)
    assert (code, row(found)) == (1, ("closed", "closed", "this policy"))
    assert sorted(found["stopped"]) == [
        f"CronJob {story.name}/windows-open-later is suspended: it starts no run",
        f"CronJob {story.name}/{LOOK} is missing: was it pruned, or never applied?",
    ]
    story.suspend_delivery(suspend=False)
    eventually("Flux has put them back", lambda: status(story)[0] == 0)


def test_windows_that_were_pruned_while_closed_are_named(story: Story) -> None:
    """They went with a commit, and the target stays shut for ever: `status` fails, and names each CronJob."""
    story.begin()
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()
    own = [found["metadata"]["name"] for found in story.api.items("cronjobs", story.name)]
    assert LOOK in own
    story.leave_out("windows")
    story.commit("Remove the windows, too early")
    eventually("Flux has pruned them", lambda: not story.api.items("cronjobs", story.name))
    code, found, _ = status(story)
    assert (code, row(found)) == (1, ("closed", "closed", "this policy"))
    missing = [
        f"CronJob {story.name}/{name} is missing: was it pruned, or never applied?"
        for name in sorted(own)
    ]
    assert sorted(found["stopped"]) == missing


@pytest.fixture
def plant(story: Story, neighbour: Story) -> Iterator[Plant]:
    """A story's scene with a line, and a second namespace for its hooks, whose Pods are bounded."""
    bounds: Object = {"type": "Container", "min": {"memory": "96Mi"}, "max": {"memory": "1Gi"}}
    set_limits(story.api, neighbour.name, bounds)
    line = Line()
    server = line.serve()
    yield Plant(story, line, neighbour.name)
    server.shutdown()
    server.server_close()


def test_hooks_with_amounts_of_their_own(plant: Plant) -> None:
    """However they are spelled, the admission policy lets their Jobs pass, and no others."""
    story, line = plant.story, plant.line
    opening = {
        "requests": {"cpu": 0.25, "memory": "0.125Gi"},
        "limits": {"cpu": "1.50", "memory": "1024Mi"},
    }
    ending = {
        "requests": {"memory": "100663296"},
        "limits": {"memory": "5e8", "ephemeral-storage": ".5Gi"},
    }
    hooks = {
        "beforeOpen": line.hook("on", resources=opening),
        "afterClose": line.hook("off", resources=ending),
    }
    plant.closed(**hooks)
    plant.policy(OPEN, **hooks)
    story.eventually_applied("2")
    plant.policy(CLOSED, **hooks)
    story.eventually_closed()
    eventually("out of maintenance", lambda: line.called("off") == 1)
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
    """Ask for the policy's own Jobs with the account's token, and for the same with more of anything."""
    story, where = plant.story, f"apis/batch/v1/namespaces/{plant.namespace}/jobs?dryRun=All"
    account = token(story)
    tables = story.api.get("configmaps", story.name, "windows-gate")["data"]
    for hook in json.loads(tables["hooks.json"])["hooks"].values():
        account.ask("POST", where, job_of(hook))
        for name in LIMITS:
            for words, other in (
                ("greater limit", greater_limit),
                ("request", request_of_its_limit),
            ):
                job = deepcopy(job_of(hook))
                other(container(job)["resources"], name)
                assert answer(account, where, job) == DENIED, (words, name)
    account.close()


def greater_limit(amounts: Object, name: str) -> None:
    """Have it use up more."""
    amounts["limits"][name] = "2Gi" if name != "cpu" else "2"


def request_of_its_limit(amounts: Object, name: str) -> None:
    """Have it ask for all that it may use up."""
    amounts["requests"][name] = amounts["limits"][name]
