"""What hooks and Events add to what is emitted, and that nothing is added where there are none."""

import json

import pytest
import yaml
from calls import POLICY, call, wire

HOOKS = """\
  hooks:
    namespace: line
    beforeOpen:
      image: line:1
      timeout: 5m
      serviceAccountName: operator
      rollback: {image: "line:1", timeout: 2m}
    afterClose: {image: "line:1", timeout: 3m}
"""
EVENTS = "  events: true\n"
CORE = {
    "__init__",
    "__main__",
    "bits",
    "clocks",
    "connection",
    "coverage",
    "decide",
    "image",
    "kubernetes",
    "objects",
    "annotations",
    "recurrence",
    "target",
    "timetable",
    "wallclock",
    "zones",
}


def items(more: str) -> list[dict]:
    """Return what a policy yields with more in its spec."""
    found: list[dict] = yaml.safe_load(call(wire(config=POLICY.rstrip("\n") + "\n" + more)).out)[
        "items"
    ]
    return found


def config_map(more: str) -> dict[str, str]:
    """Return the data of the ConfigMap."""
    [data] = [item["data"] for item in items(more) if item["kind"] == "ConfigMap"]
    return data


@pytest.mark.parametrize(
    ("more", "parts"),
    [("", set()), (EVENTS, {"events"}), (HOOKS, {"hooks", "notes"}), (HOOKS + EVENTS, None)],
)
def test_what_is_not_used_is_not_shipped(more: str, parts: set[str] | None) -> None:
    """Modules, volume and first file have what the policy uses, and the rest is left out."""
    data = config_map(more)
    wanted = {"events", "hooks", "notes"} if parts is None else parts
    assert {key.split(".")[1] for key in data if key.startswith("gate.")} == CORE | {
        "__init__",
        "__main__",
    } | wanted
    assert ("hooks.json" in data) == ("hooks" in wanted)
    assert all((part in data["__main__.py"]) == (part in wanted) for part in ("events", "hooks"))
    [volume] = [
        item["spec"]["template"]["spec"]["volumes"][0]
        for item in items(more)
        if item["kind"] == "Job"
    ]
    assert {item["key"] for item in volume["configMap"]["items"]} == set(data)


def roles(more: str) -> dict[str, list[dict]]:
    """Return the rules of each Role by its namespace."""
    return {
        item["metadata"]["namespace"]: item["rules"]
        for item in items(more)
        if item["kind"] == "Role"
    }


def test_rights_are_only_where_they_are_used() -> None:
    """Jobs in the namespace of the hooks, Events where targets are."""
    plain = roles("")
    assert roles(HOOKS) == {
        **plain,
        "line": [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get"]}],
    }
    granted = [{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}]
    assert roles(EVENTS) == {namespace: granted + rules for namespace, rules in plain.items()}


def test_a_job_has_time_for_its_hooks() -> None:
    """In each of its two runs: 3 minutes for targets to calm down, 3, 5 and 2 for the Jobs.

    And what lies between.
    """
    assert deadlines(HOOKS) == {deadlines("").pop() + 2 * (13 * 60 + 4 * 120)}


def deadlines(more: str) -> set[int]:
    """Return the seconds that the CronJobs' Jobs may take."""
    found = [
        item["spec"]["jobTemplate"]["spec"] for item in items(more) if item["kind"] == "CronJob"
    ]
    return {spec["activeDeadlineSeconds"] for spec in found}


def test_a_hook_is_what_the_policy_says() -> None:
    """Image, account and time are its own.

    It has a token only with an account; only `Abort` aborts.
    """
    data = json.loads(config_map(HOOKS)["hooks.json"])
    before, rollback, after = (
        data["hooks"][kind] for kind in ("beforeOpen", "rollback", "afterClose")
    )
    assert data["namespace"] == "line"
    assert [hook["aborts"] for hook in (before, rollback, after)] == [True, False, False]
    assert [hook["seconds"] for hook in (before, rollback, after)] == [300, 120, 180]
    assert before["spec"]["activeDeadlineSeconds"] == 300
    pod = before["spec"]["template"]["spec"]
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("operator", True)
    assert "serviceAccountName" not in after["spec"]["template"]["spec"]
