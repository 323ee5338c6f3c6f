"""Least privilege, as the API server sees it.

It is asked with the token of the emitted account itself.
"""

from collections.abc import Collection, Iterator

import pytest
from environment import APPS, PARENT, Environment, eventually, far_window
from lab.api import Api, ApiError, Object
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
    """The API as the policy's account may use it, the policy being closed."""
    env.begin_closed()
    request: Object = {"spec": {"expirationSeconds": 3600}}
    answer = env.api.ask(
        "POST", f"api/v1/namespaces/{env.name}/serviceaccounts/windows-gate/token", request
    )
    yield (as_account := Api(answer["status"]["token"]))
    as_account.close()


def test_the_rights_are_the_expected_ones(env: Environment, account: Api) -> None:
    """`get` and `patch` on the target by name, and the question of who else may, there only.

    By SelfSubjectRulesReview in every namespace.
    """
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


HERE, NOWHERE = "the namespace", None
PATCH: Object = {"metadata": {"annotations": {"tried": "yes"}}}
TRIED: Object = {"metadata": {"name": "tried"}}
POD: Object = {"spec": {"containers": [], "restartPolicy": "Never"}}
# What the account must not do: a method of the API, its kind, where, and what else it takes.
REFUSED: list[tuple[str, str, str | None, tuple[object, ...]]] = [
    ("items", "kustomizations", HERE, ()),
    ("items", "kustomizations", NOWHERE, ()),
    ("get", "kustomizations", HERE, (PARENT,)),
    ("patch", "kustomizations", HERE, (PARENT, PATCH)),
    ("delete", "kustomizations", HERE, (APPS,)),
    ("create", "kustomizations", HERE, (TRIED,)),
    ("patch", "kustomizations", HERE, (f"{APPS}/status", {"status": {}})),
    ("get", "gitrepositories", HERE, (PARENT,)),
    ("patch", "gitrepositories", HERE, (PARENT, PATCH)),
    ("items", "secrets", HERE, ()),
    ("get", "secrets", HERE, ("any",)),
    ("get", "configmaps", HERE, ("windows-gate",)),
    ("patch", "configmaps", HERE, ("windows-gate", PATCH)),
    ("patch", "cronjobs", HERE, ("windows-resync", PATCH)),
    ("create", "jobs", HERE, ({**TRIED, "spec": {"template": POD}},)),
    ("items", "pods", HERE, ()),
    ("patch", "roles", HERE, ("windows-gate", PATCH)),
    ("patch", "rolebindings", HERE, ("windows-gate", PATCH)),
    ("get", "kustomizations", "flux-system", (APPS,)),
    ("items", "namespaces", NOWHERE, ()),
]


def test_everything_else_is_refused(env: Environment, account: Api) -> None:
    """Twenty-one things that the account might be misused for, each refused with 403."""
    token = f"api/v1/namespaces/{env.name}/serviceaccounts/windows-gate/token"
    with pytest.raises(ApiError) as refusal:
        account.ask("POST", token, {"spec": {}})
    assert refusal.value.status == 403
    for method, kind, where, more in REFUSED:
        namespace = env.name if where == HERE else where
        with pytest.raises(ApiError) as refusal:
            getattr(account, method)(kind, namespace, *more)
        assert refusal.value.status == 403, (method, kind, where, str(refusal.value))


def test_every_request_of_a_run_is_listed(env: Environment) -> None:
    """The API server's audit log has all that a run asks.

    The version of the group, and a GET and a PATCH a target. The machine that the cluster runs on
    has no way out, so a run that needed anything else would fail.
    """
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
    """Return the audit log's lines about an account.

    One is written when its answer has been sent.
    """
    return [line for line in (RUN / "audit.log").read_text().splitlines() if account in line]


def test_pod_security_restricted_admits_every_pod(env: Environment) -> None:
    """The namespace enforces it, and every CronJob's Job gets its Pod through.

    There is not so much as a warning.
    """
    env.begin()
    opened = {
        "windows": {"later": far_window().spec},
        "freezes": {"day": {"starts": "2030-01-01", "ends": "2030-01-01", "reason": "x"}},
    }
    env.policy(opened)
    env.eventually_closed()
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
    """Say whether a Job is done and was well."""
    return bool(env.api.get("jobs", env.name, job).get("status", {}).get("succeeded"))
