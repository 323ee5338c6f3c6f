"""What Pods ask for and may use up: every name, so that a ResourceQuota is content."""

import json

import pytest
from calls import call, emitted, spec, wire

Given = dict[str, dict[str, str]]


def containers(resources: str, more: str = "") -> list[Given]:
    jobs = emitted(spec(actuator=f"{{{more}resources: {resources}}}"), "Job", "CronJob")
    pods = [job["spec"].get("jobTemplate", job)["spec"]["template"]["spec"] for job in jobs]
    assert pods
    return [container["resources"] for pod in pods for container in pod["containers"]]


@pytest.mark.parametrize("more", ["", "type: Kubectl, "])
def test_what_the_policy_gives(more: str) -> None:
    given = "{requests: {cpu: 0.05, ephemeral-storage: 16Mi}, limits: {cpu: 500m, memory: 0.25Gi}}"
    for each in containers(given, more):
        assert each == {
            "requests": {"cpu": "50m", "ephemeral-storage": "16Mi", "memory": "64Mi"},
            "limits": {"cpu": "500m", "ephemeral-storage": "64Mi", "memory": "256Mi"},
        }


@pytest.mark.parametrize(
    ("given", "name", "asked", "limit"),
    [
        ("{limits: {memory: 48Mi}}", "memory", "48Mi", "48Mi"),
        ("{limits: {cpu: 5m}}", "cpu", "5m", "5m"),
        ("{requests: {memory: 1Gi}}", "memory", "1Gi", "1Gi"),
        ("{requests: {ephemeral-storage: 1G}}", "ephemeral-storage", "1G", "1G"),
    ],
)
def test_a_default_gives_way(given: str, name: str, asked: str, limit: str) -> None:
    for each in containers(given):
        assert (each["requests"][name], each["limits"][name]) == (asked, limit)


def test_hooks_have_their_own() -> None:
    image = 'image: "line:1"'
    before_open = f"{{{image}, resources: {{requests: {{memory: 1.5Gi}}}}}}"
    hooks = f"{{namespace: line, beforeOpen: {before_open}, afterClose: {{{image}}}}}"
    config = spec(hooks=hooks, admissionPolicy="Disabled")
    gate, _ = emitted(config, "ConfigMap")
    hooks = json.loads(gate["data"]["hooks.json"])["hooks"]
    before, after = (
        hooks[name]["spec"]["template"]["spec"]["containers"][0]["resources"]
        for name in ("beforeOpen", "afterClose")
    )
    assert before["requests"] == {"cpu": "10m", "ephemeral-storage": "0", "memory": "1536Mi"}
    assert before["limits"]["memory"] == "1536Mi"
    assert after["limits"] == {"cpu": "1", "ephemeral-storage": "256Mi", "memory": "256Mi"}


WRONG = {
    "{requests: {cpu: 2}, limits: {cpu: 1500m}}": (
        'requests.cpu: must not exceed the limit, 1500m, got "2" (resources)'
    ),
    "{limits: {memory: 32Mi}}": (
        'limits.memory: must be at least 48Mi, or a run would be killed (OOMKilled), got "32Mi" '
        "(resources)"
    ),
}


@pytest.mark.parametrize("given", WRONG)
def test_what_is_wrong(given: str) -> None:
    answer = call(wire(config=spec(actuator=f"{{resources: {given}}}")), LOG_TO_STDERR="true")
    assert answer.code == 1
    assert f"spec.actuator.resources.{WRONG[given]}" in answer.err
