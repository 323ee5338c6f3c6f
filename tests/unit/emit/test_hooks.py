"""What hooks and Events add to what is emitted, and that nothing is added where there are none."""

import json

import pytest
from calls import POLICY, call, emitted, spec, wire

from krm_windows.function import window_policy
from krm_windows.gate.notes import HookName
from krm_windows.krm import KubeObject

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
PENDING = HOOKS + "    onlyIf: Pending\n"
APPLY = (
    HOOKS
    + """\
    afterApply:
      image: line:1
      timeout: 4m
      rollback: {image: "line:2"}
"""
)
SOURCE = "source.toolkit.fluxcd.io"
CORE = {"__init__", "__main__", "annotations", "clocks", "connection", "kubernetes", "names"}
CORE |= {"objects", "run", "table", "target", "timetable"}


def items(more: str, *kinds: str) -> list[dict]:
    return emitted(POLICY + more, *kinds)


def config_map(more: str) -> dict[str, str]:
    [data] = [item["data"] for item in items(more, "ConfigMap") if "data" in item]
    return data


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ("", set()),
        (EVENTS, {"events"}),
        (HOOKS, {"hooks", "jobs", "notes"}),
        (PENDING, {"hooks", "jobs", "notes", "pending", "revisions"}),
        (APPLY, {"hooks", "jobs", "notes", "revisions", "verification"}),
        (PENDING + EVENTS, {"events", "hooks", "jobs", "notes", "pending", "revisions"}),
    ],
)
def test_what_is_not_used_is_not_shipped(more: str, parts: set[str]) -> None:
    data = config_map(more)
    assert {key.split(".")[1] for key in data if key.startswith("gate.")} == CORE | parts
    assert ("hooks.json" in data) == ("hooks" in parts)
    named = {"events", "hooks", "pending", "verification"}
    assert set(json.loads(data["timetable.json"]).get("parts", [])) == parts & named
    [job] = items(more, "Job")
    volume = job["spec"]["template"]["spec"]["volumes"][0]
    assert {item["key"] for item in volume["configMap"]["items"]} == set(data)


def roles(more: str) -> dict[str, list[dict]]:
    return {item["metadata"]["namespace"]: item["rules"] for item in items(more, "Role")}


def test_rights_are_only_where_they_are_used() -> None:
    plain = roles("")
    note = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["week-hooks"]}
    assert roles(HOOKS) == {
        "flux-system": [*plain["flux-system"], note | {"verbs": ["get", "patch"]}],
        "line": [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get"]}],
    }
    granted = [{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}]
    assert roles(EVENTS) == {namespace: granted + rules for namespace, rules in plain.items()}


def target(kind: str, name: str, spec: str) -> str:
    group = {"Kustomization": "kustomize", "HelmRelease": "helm"}[kind]
    head = f"apiVersion: {group}.toolkit.fluxcd.io/v2\nkind: {kind}\n"
    return f"{head}metadata: {{name: {name}, namespace: flux-system}}\nspec: {spec}\n"


CHART = (
    f"apiVersion: {SOURCE}/v1\nkind: HelmChart\nmetadata: {{name: own, namespace: charts}}\n"
    "spec: {sourceRef: {kind: Bucket, name: store}}\n"
)
WITH_RELEASE = spec(
    targets="[{kind: HelmRelease, names: [app]}]",
    hooks='{namespace: line, onlyIf: Pending, afterClose: {image: "line:1"}}',
)


def reads(config: str, *seen: str) -> set[str]:
    found = set()
    answer = call(wire(*seen, config=config))
    assert not [each for each in answer.results if each["severity"] == "error"], answer.results
    for role in answer.objects:
        for rule in role["rules"] if role["kind"] == "Role" else ():
            if rule["apiGroups"] == [SOURCE]:
                assert rule["verbs"] == ["get"]
                [resource] = rule["resources"]
                [name] = rule.get("resourceNames", "*")
                found.add(f"{role['metadata']['namespace']}/{resource}/{name}")
    return found


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("kind: GitRepository, name: fleet", {"flux-system/gitrepositories/fleet"}),
        ("kind: OCIRepository, name: o, namespace: sources", {"sources/ocirepositories/o"}),
        ("kind: Secret, name: fleet", set()),
        ("", set()),
    ],
)
def test_the_source_of_a_target_may_be_read(reference: str, expected: set[str]) -> None:
    seen = target("Kustomization", "apps", f"{{sourceRef: {{{reference}}}}}")
    assert reads(POLICY + PENDING, seen) == expected
    assert reads(POLICY + HOOKS, seen) == set()


def test_where_no_target_is_seen_any_source_of_theirs_may_be_read() -> None:
    kinds = ("buckets", "externalartifacts", "gitrepositories", "ocirepositories")
    assert reads(POLICY + PENDING) == {f"flux-system/{kind}/*" for kind in kinds}


@pytest.mark.parametrize(
    ("chart", "expected"),
    [
        (
            "{chart: {spec: {chart: a, sourceRef: {kind: HelmRepository, name: charts}}}}",
            {"flux-system/helmcharts/flux-system-app", "flux-system/helmrepositories/charts"},
        ),
        (
            "{chart: {spec: {sourceRef: {kind: GitRepository, name: a, namespace: charts}}}}",
            {"charts/helmcharts/flux-system-app", "charts/gitrepositories/a"},
        ),
        ("{chartRef: {kind: OCIRepository, name: app}}", {"flux-system/ocirepositories/app"}),
        (
            "{chartRef: {kind: HelmChart, name: own, namespace: charts}}",
            {"charts/helmcharts/own", "charts/buckets/store"},
        ),
        (
            "{chartRef: {kind: HelmChart, name: unseen}}",
            {"flux-system/helmcharts/unseen"}
            | {
                f"flux-system/{kind}/*"
                for kind in ("buckets", "gitrepositories", "helmrepositories")
            },
        ),
    ],
)
def test_the_chart_of_a_release_may_be_read(chart: str, expected: set[str]) -> None:
    assert reads(WITH_RELEASE, target("HelmRelease", "app", chart), CHART) == expected


def verified(config: str, items: list[dict]) -> set[str]:
    stream = [KubeObject.from_value(item) for item in items]
    results = window_policy.verify(KubeObject.parse(config.encode()), stream)
    return {each.tags["rule"] for each in results if each.severity.value == "error"}


def test_what_may_be_read_is_verified() -> None:
    config = POLICY + PENDING
    seen = target("Kustomization", "apps", "{sourceRef: {kind: GitRepository, name: fleet}}")
    built = call(wire(seen, config=config)).objects
    [apps, *windows] = built
    assert verified(config, [apps, *windows]) == set()
    assert verified(config, windows) == set()
    roles = [item["rules"] for item in windows if item["kind"] == "Role"]
    [read] = [rule for rules in roles for rule in rules if rule["apiGroups"] == [SOURCE]]
    read["resourceNames"].append("other")
    assert verified(config, [apps, *windows]) == {"rights-excess"}
    read["resourceNames"].remove("fleet")
    assert verified(config, [apps, *windows]) == {"rights-excess", "rights-missing"}
    read.update(resourceNames=["fleet"], verbs=["get", "list"])
    assert "rights-excess" in verified(config, [apps, *windows])
    assert "rights-excess" in verified(config, windows)


def test_a_job_has_time_for_its_hooks() -> None:
    """In each of its two runs: 3 minutes for targets to calm down, 3, 5 and 2 for the Jobs."""
    assert deadlines(HOOKS) == {deadlines("").pop() + 2 * (13 * 60 + 4 * 120)}
    # What checks a change waits for targets, too; its rollback has the default, ten minutes.
    assert deadlines(APPLY) == {deadlines(HOOKS).pop() + 2 * (18 * 60 + 3 * 120)}


def test_what_checks_a_change() -> None:
    data = json.loads(config_map(APPLY)["hooks.json"])["hooks"]
    assert set(data) == set(HookName)  # the gate knows each by this name
    check, undo = data["afterApply"], data["afterApply.rollback"]
    assert (check["aborts"], undo["aborts"], check["seconds"]) == (True, False, 240)
    images = [each["spec"]["template"]["spec"]["containers"][0]["image"] for each in (check, undo)]
    assert images == ["line:1", "line:2"]
    passed = APPLY.replace('      rollback: {image: "line:2"}\n', "      onFailure: Continue\n")
    assert not json.loads(config_map(passed)["hooks.json"])["hooks"]["afterApply"]["aborts"]


def deadlines(more: str) -> set[int]:
    found = items(more, "CronJob")
    return {item["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"] for item in found}
