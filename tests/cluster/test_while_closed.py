"""What Flux leaves undone while a target is closed, and what it does at the opening."""

from environment import (
    APPS,
    INTERVAL,
    PARENT,
    SOURCE_INTERVAL,
    Environment,
    condition,
    config_map,
    eventually,
    throughout,
)
from lab import origins
from test_removal import CLOSED, OPEN, gone, remove
from test_sources import NAME, SOURCE, close_release, fetched, installed

SETTINGS, LOGIN = "settings", "login"


def secret(env: Environment, name: str, **values: str) -> None:
    env.api.create("secrets", env.name, {"metadata": {"name": name}, "stringData": values})


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
    eventually("apps is healthy", lambda: env.ready() == "True")
    env.closes(CLOSED)
    env.api.patch("secrets", env.name, SETTINGS, {"stringData": {"version": "v2"}}, manager="me")
    env.api.patch("configmaps", env.name, "drifting", {"data": {"version": "2"}}, manager="me")
    env.api.delete("secrets", env.name, LOGIN)
    eventually("needy fails", lambda: env.ready("needy", "gitrepositories") == "False")
    asked = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}
    env.api.patch("kustomizations", env.name, APPS, asked, manager="me")
    eventually("the request counts as handled", lambda: env.has_reconciled("now"))
    throughout(
        2 * INTERVAL,
        "apps is ready, and nothing is corrected",
        lambda: (env.ready(), env.version(), env.version("drifting")) == ("True", "v1", "2"),
    )
    found = env.target()
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    env.opens(OPEN, "v2")
    eventually("the drift is corrected", lambda: env.version("drifting") == "1")
    eventually("apps is found unhealthy", lambda: env.ready() == "False")


def test_who_depends_on_it_waits_for_a_commit_of_the_same_source_only(env: Environment) -> None:
    """Of another source nobody knows which commit would be meant."""
    env.api.create("gitrepositories", env.name, env.source("other"))
    for name, source in (("same", PARENT), ("other", "other")):
        env.write(f"{name}/app.yaml", config_map(name, "1"))
        depends = {"dependsOn": [{"name": APPS}]}
        where = {"kind": "GitRepository", "name": source}
        env.write(
            f"cluster/{name}.yaml", env.kustomization(name, f"./{name}", sourceRef=where, **depends)
        )
        env.include(f"{name}.yaml")
    env.begin()
    for name in ("same", "other"):
        eventually(f"{name} is applied", lambda name=name: env.version(name) == "1")
    env.closes(CLOSED)
    for name in ("same", "other"):
        env.write(f"{name}/app.yaml", config_map(name, "2"))
    env.commit("Release both")
    eventually("other does not wait", lambda: env.version("other") == "2")
    throughout(INTERVAL, "same waits", lambda: env.version("same") == "1")
    eventually("it says so", lambda: "dependency" in condition(env.target("same"))["message"])
    env.policy(OPEN)
    eventually("same is applied", lambda: env.version("same") == "2")


def test_what_applies_from_a_source_that_is_gone_fails_when_it_opens(env: Environment) -> None:
    """Until then it stays as it was; and nothing is pruned."""
    env.add("source.yaml", env.source("own"))
    env.begin(sourceRef={"kind": "GitRepository", "name": "own"})
    env.closes(CLOSED)
    remove(env, "source.yaml")
    eventually("the source is gone", gone(env, "gitrepositories", "own"))
    throughout(INTERVAL, "apps says ready", lambda: env.ready() == "True")
    env.policy(OPEN)
    eventually("apps fails", lambda: "not found" in condition(env.target())["message"])
    throughout(INTERVAL, "nothing is pruned", lambda: env.version() == "1")


def test_a_source_that_is_removed_while_closed_goes(env: Environment) -> None:
    """Its finalizer does not look at `suspend`."""
    env.add("source.yaml", env.source("own"))
    env.begin(sourceRef={"kind": "GitRepository", "name": "own"})
    env.policy({**CLOSED, "targets": [{"kind": "GitRepository", "names": ["own"]}]})
    eventually("it is closed", lambda: env.suspended("own", "gitrepositories"))
    remove(env, "source.yaml")
    eventually("the source is gone", gone(env, "gitrepositories", "own"))


def test_the_chart_of_a_removed_release_is_fetched_for_ever(env: Environment) -> None:
    """The HelmChart that it left is nobody's, and goes on."""
    installed(env)
    close_release(env, CLOSED)
    text = (env.tree / "cluster/release.yaml").read_text()
    env.write("cluster/release.yaml", text.partition("---\n")[0])
    env.commit("Remove the release")
    eventually("the release is gone", gone(env, "helmreleases", NAME))
    origins.publish_chart(env.name, "1.0.0", "2.0.0")
    eventually("its new chart is fetched", lambda: fetched(env) == "2.0.0")
    stays = "it is not installed"
    throughout(SOURCE_INTERVAL, stays, lambda: env.version(origins.CHART) == "1.0.0")
