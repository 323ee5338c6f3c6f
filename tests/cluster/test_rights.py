"""Least privilege, as the API server sees it."""

from collections.abc import Collection, Iterator

import pytest
from environment import APPS, CLOSED, PARENT, Environment, eventually
from lab.api import Api, ApiError, Object, path
from lab.settings import RUN

KUSTOMIZE = "kustomize.toolkit.fluxcd.io"
# What every service account may ask, by Kubernetes' own default roles.
DEFAULT = {
    "selfsubjectaccessreviews",
    "selfsubjectreviews",
    "selfsubjectrulesreviews",
    "clustertrustbundles",
}
# What every policy's account may ask where its targets are: whether another may still patch them.
REVIEWS: tuple[list[str], ...] = (
    ["authorization.k8s.io"],
    ["localsubjectaccessreviews"],
    [],
    ["create"],
)


@pytest.fixture
def account(env: Environment) -> Iterator[Api]:
    env.begin_closed()
    yield (as_account := env.account())
    as_account.close()


def test_the_rights_are_the_expected_ones(env: Environment, account: Api) -> None:
    """By SelfSubjectRulesReview in every namespace."""
    for each in env.api.items("namespaces"):
        namespace = each["metadata"]["name"]
        expected = (
            [([KUSTOMIZE], ["kustomizations"], [APPS], ["get", "patch"]), REVIEWS]
            if namespace == env.name
            else []
        )
        found = granted(account, namespace, but=DEFAULT)
        assert sorted(found) == sorted(expected), namespace


def granted(
    account: Api, namespace: str, but: Collection[str] = (*DEFAULT, *REVIEWS[1])
) -> list[tuple[list[str], ...]]:
    """Return an account's rules in a namespace, but for those that every account of a gate has."""
    review = account.create("selfsubjectrulesreviews", None, {"spec": {"namespace": namespace}})
    assert not review["status"]["incomplete"]
    return [
        (rule["apiGroups"], rule["resources"], rule.get("resourceNames", []), rule["verbs"])
        for rule in review["status"]["resourceRules"]
        if not set(rule["resources"]) <= set(but)
    ]


def attempts(namespace: str) -> dict[str, tuple[str, str, Object | None]]:
    """Return what the account must not do, as requests."""
    patch: Object = {"metadata": {"annotations": {"tried": "yes"}}}
    job_pod = {"spec": {"containers": [], "restartPolicy": "Never"}}
    tried = {"name": "tried"}
    job = {"metadata": tried, "spec": {"template": job_pod}}

    def of(plural: str, name: str = "windows-gate") -> str:
        return path(plural, namespace, name)

    return {
        "list the targets' kind": ("GET", path("kustomizations", namespace), None),
        "list it everywhere": ("GET", path("kustomizations"), None),
        "read the neighbour": ("GET", of("kustomizations", PARENT), None),
        "patch the neighbour": ("PATCH", of("kustomizations", PARENT), patch),
        "delete the target": ("DELETE", of("kustomizations", APPS), None),
        "create a target": ("POST", path("kustomizations", namespace), {"metadata": tried}),
        "write its status": ("PATCH", of("kustomizations", f"{APPS}/status"), {"status": {}}),
        "read the source": ("GET", of("gitrepositories", PARENT), None),
        "patch the source": ("PATCH", of("gitrepositories", PARENT), patch),
        "list secrets": ("GET", path("secrets", namespace), None),
        "read a secret": ("GET", of("secrets", "any"), None),
        "read its own ConfigMap": ("GET", of("configmaps"), None),
        "patch its own ConfigMap": ("PATCH", of("configmaps"), patch),
        "patch its own CronJob": ("PATCH", of("cronjobs", "windows-resync"), patch),
        "create a Job": ("POST", path("jobs", namespace), job),
        "list Pods": ("GET", path("pods", namespace), None),
        "patch its own Role": ("PATCH", of("roles"), patch),
        "patch its own binding": ("PATCH", of("rolebindings"), patch),
        "make itself a token": ("POST", of("serviceaccounts", "windows-gate/token"), {"spec": {}}),
        "read a target elsewhere": ("GET", path("kustomizations", "flux-system", APPS), None),
        "list namespaces": ("GET", path("namespaces"), None),
    }


def test_everything_else_is_refused(env: Environment, account: Api) -> None:
    """Twenty-one things that the account might be misused for, each refused with 403."""
    for words, request in attempts(env.name).items():
        with pytest.raises(ApiError) as refusal:
            account.ask(*request)
        assert refusal.value.status == 403, f"{words}: {refusal.value}"


def test_it_may_do_what_it_is_for(env: Environment, account: Api) -> None:
    """It reads and patches its target."""
    assert account.get("kustomizations", env.name, APPS)["spec"]["suspend"] is True
    account.patch(
        "kustomizations", env.name, APPS, {"spec": {"suspend": False}}, manager="krm-windows"
    )
    assert not env.suspended()


def test_every_request_of_a_run_is_listed(env: Environment) -> None:
    """The machine has no way out, so a run that needed anything else would fail."""
    env.begin_closed()
    account = f'"username":"system:serviceaccount:{env.name}:windows-gate"'
    target = f"/apis/{KUSTOMIZE}/v1/namespaces/{env.name}/kustomizations/{APPS}"
    expected = [
        f'"requestURI":"/apis/{KUSTOMIZE}"',
        f'"requestURI":"{target}"',
        f'"requestURI":"{target}?',
    ]
    eventually("it is noted", lambda: len(requests(account)) >= len(expected))
    assert all(any(words in line for words in expected) for line in requests(account))


def requests(account: str) -> list[str]:
    """One is written when its answer has been sent."""
    return [line for line in (RUN / "audit.log").read_text().splitlines() if account in line]


def test_pod_security_restricted_admits_every_pod(env: Environment) -> None:
    """Without so much as a warning."""
    env.begin()
    opened = {
        **CLOSED,
        "freezes": {"day": {"starts": "2030-01-01", "ends": "2030-01-01", "reason": "x"}},
    }
    env.closes(opened)
    names = [found["metadata"]["name"] for found in env.api.items("cronjobs", env.name)]
    own = {"windows-open-later", "windows-close-later", "windows-resync"}
    edges = {name for name in names if name.startswith("windows-edge-utc-")}
    assert edges
    assert set(names) == own | edges
    for name in names:
        answer = env.kubectl("create", "job", f"try-{name}"[:52], f"--from=cronjob/{name}")
        assert "created" in answer
    tried = [f"try-{name}"[:52] for name in names]
    eventually("all are complete", lambda: all(succeeded(env, name) for name in tried))
    warnings = [
        event["message"]
        for event in env.api.items("events", env.name)
        if "PodSecurity" in event["message"]
    ]
    assert warnings == []


def succeeded(env: Environment, job: str) -> bool:
    return bool(env.api.get("jobs", env.name, job).get("status", {}).get("succeeded"))
