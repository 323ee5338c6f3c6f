"""What Flux leaves undone while a target is closed, and what it does at the opening.

The facts of docs/explanation/while-closed.md.
"""

from environment import (
    APPS,
    INTERVAL,
    Environment,
    Object,
    Spec,
    eventually,
    far_window,
    throughout,
)
from test_removal import gone, remove
from test_sources import SOURCE

CLOSED: Spec = {"interval": "1m", "windows": {"later": far_window().spec}}
OPEN: Spec = {**CLOSED, "state": "Open"}
SETTINGS, LOGIN = "settings", "login"


def ready(found: Object) -> tuple[str, str]:
    """Return the status of the condition Ready, and its message."""
    for each in found.get("status", {}).get("conditions", []):
        if each["type"] == "Ready":
            return each["status"], each["message"]
    return "", ""


def secret(env: Environment, name: str, **values: str) -> None:
    """Create a Secret by hand."""
    env.api.create("secrets", env.name, {"metadata": {"name": name}, "stringData": values})


def config_map(name: str, version: str) -> Object:
    """Return a ConfigMap with a version."""
    metadata = {"name": name}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"version": version},
    }


def test_secrets_drift_and_health_are_looked_at_when_it_opens(env: Environment) -> None:
    """Closed, nothing is corrected, and `Ready` and a request to reconcile say otherwise."""
    secret(env, SETTINGS, version="v1")
    secret(env, LOGIN, **dict.fromkeys(("username", "password"), "test"))
    login = {**env.source("needy")["spec"], "secretRef": {"name": LOGIN}}
    env.write("apps/needy.yaml", env.object(SOURCE, "GitRepository", "needy", spec=login))
    env.write("apps/drifting.yaml", config_map("drifting", "1"))
    substitute = {"substituteFrom": [{"kind": "Secret", "name": SETTINGS}]}
    env.begin(wait=True, timeout="10s", postBuild=substitute)
    env.release("${version}")
    env.eventually_applied("v1")
    eventually("apps is healthy", lambda: ready(env.target())[0] == "True")
    env.policy(CLOSED)
    env.eventually_closed()
    env.api.patch("secrets", env.name, SETTINGS, {"stringData": {"version": "v2"}}, manager="me")
    env.api.patch("configmaps", env.name, "drifting", {"data": {"version": "2"}}, manager="me")
    env.api.delete("secrets", env.name, LOGIN)
    eventually("needy fails", lambda: ready(env.target("needy", "gitrepositories"))[0] == "False")
    asked = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}
    env.api.patch("kustomizations", env.name, APPS, asked, manager="me")
    eventually(
        "the request counts as handled",
        lambda: env.target()["status"].get("lastHandledReconcileAt") == "now",
    )
    throughout(
        2 * INTERVAL,
        "apps is ready, and nothing is corrected",
        lambda: (
            (ready(env.target())[0], env.version(), env.version("drifting")) == ("True", "v1", "2")
        ),
    )
    found = env.target()
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    env.policy(OPEN)
    env.eventually_applied("v2")
    eventually("the drift is corrected", lambda: env.version("drifting") == "1")
    eventually("apps is found unhealthy", lambda: ready(env.target())[0] == "False")


def test_what_applies_from_a_source_that_is_gone_fails_when_it_opens(env: Environment) -> None:
    """Until then it stays as it was; and nothing is pruned."""
    env.write("cluster/source.yaml", env.source("own"))
    env.include("source.yaml")
    env.begin(sourceRef={"kind": "GitRepository", "name": "own"})
    env.policy(CLOSED)
    env.eventually_closed()
    remove(env, "source.yaml")
    eventually("the source is gone", gone(env, "gitrepositories", "own"))
    throughout(INTERVAL, "apps says ready", lambda: ready(env.target())[0] == "True")
    env.policy(OPEN)
    eventually("apps fails", lambda: "not found" in ready(env.target())[1])
    throughout(INTERVAL, "nothing is pruned", lambda: env.version() == "1")
