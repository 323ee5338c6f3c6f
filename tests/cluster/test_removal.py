"""What is removed from Git while its policy is closed, and the ways to remove it whole."""

from collections.abc import Callable

import environment
import proposed
import yaml
from environment import APPS, INTERVAL, Environment, eventually, throughout
from lab import origins
from test_sources import NAME, RELEASE, close_release, installed
from when import Spec

PAGE = "docs/how-to/remove-an-application.md"
CLOSED: Spec = {**environment.CLOSED, "interval": "1m"}
OPEN: Spec = {**CLOSED, "state": "Open"}


def gone(env: Environment, plural: str, name: str) -> Callable[[], bool]:
    return lambda: env.api.find(plural, env.name, name) is None


def remove(env: Environment, file: str) -> None:
    env.leave_out(file)
    (env.tree / "cluster" / file).unlink()
    env.commit(f"Remove {file}")


def test_what_is_removed_while_closed_stays(env: Environment) -> None:
    """Flux removes nothing of it, `status` misses it, and to bring it back first is a way out."""
    env.begin_closed(CLOSED)
    application = (env.tree / "cluster/apps.yaml").read_text()
    remove(env, "apps.yaml")
    eventually("apps is gone", gone(env, "kustomizations", APPS))
    throughout(2 * INTERVAL, "what it applied stays", lambda: env.version() == "1")
    code, found, _ = env.ask("status")
    assert (code, found["targets"][0]["state"]) == (1, "missing")
    # The way back: it takes over what it finds, and removes it when it is deleted open.
    env.add("apps.yaml", application)
    env.policy(OPEN)
    eventually("apps is back", lambda: not gone(env, "kustomizations", APPS)())
    eventually("apps has applied it", lambda: "lastAppliedRevision" in str(env.target()))
    remove(env, "apps.yaml")
    eventually("what it applied is gone", gone(env, "configmaps", "app"))


def test_what_is_removed_while_open_goes(env: Environment) -> None:
    """The first way: while the policy is open, by a window or an override."""
    env.begin_closed(CLOSED)
    override = {"state": "Open", "ends": "2099-01-01", "reason": "To remove apps"}
    env.opens({**CLOSED, "overrides": {"removal": override}})
    remove(env, "apps.yaml")
    # Flux deletes what it applied first, and lets the Kustomization go after it.
    eventually("apps is gone", gone(env, "kustomizations", APPS))
    assert gone(env, "configmaps", "app")()


def test_what_is_emptied_first_leaves_nothing(env: Environment) -> None:
    """The second way: empty it at any time, let a window pass, remove it at any time."""
    env.begin_closed(CLOSED)
    (env.tree / "apps/app.yaml").unlink()
    env.write("apps/kustomization.yaml", EMPTY)
    env.commit("Empty apps")
    throughout(INTERVAL, "what it applied stays", lambda: env.version() == "1")
    env.policy(OPEN)
    eventually("what it applied is gone", gone(env, "configmaps", "app"))
    env.closes(CLOSED)
    remove(env, "apps.yaml")
    eventually("apps is gone", gone(env, "kustomizations", APPS))


def test_what_was_left_is_deleted_by_hand(env: Environment) -> None:
    """By the commands of the page."""
    env.begin_closed(CLOSED)
    remove(env, "apps.yaml")
    eventually("apps is gone", gone(env, "kustomizations", APPS))
    [delete] = proposed.commands(PAGE, "kubectl delete")
    listing = (proposed.ROOT / PAGE).read_text().partition("```sh\n")[2].partition("```")[0]
    assert "configmap/app" in env.shell(listing)
    env.shell(f"{listing}\n{delete}")
    assert gone(env, "configmaps", "app")()


EMPTY = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n"


def test_a_release_that_is_removed_while_closed_stays(env: Environment) -> None:
    """Its objects, Helm's record of it and its HelmChart; removed while open, all of it goes."""
    installed(env)
    close_release(env, CLOSED)
    text = (env.tree / "cluster/release.yaml").read_text()
    repository, _, release = text.partition("---\n")
    env.write("cluster/release.yaml", repository)
    env.commit("Remove the release")
    eventually("the release is gone", gone(env, "helmreleases", NAME))
    throughout(2 * INTERVAL, "it stays", lambda: env.version(origins.CHART) == "1.0.0")
    assert env.ask("status")[1]["targets"][0]["state"] == "missing"
    assert records(env) == [f"sh.helm.release.v1.{NAME}.v1"]
    # The way back: the HelmRelease takes the release over.
    env.write("cluster/release.yaml", f"{repository}---\n{release}")
    env.policy({**OPEN, **RELEASE})
    eventually("the release is back", lambda: applied(env))
    env.write("cluster/release.yaml", repository)
    env.commit("Remove the release")
    eventually("it is uninstalled", gone(env, "configmaps", origins.CHART))
    eventually("the HelmChart is gone", lambda: not env.api.items("helmcharts", env.name))
    assert records(env) == []


def applied(env: Environment) -> bool:
    found = env.api.find("helmreleases", env.name, NAME)
    return bool(found and found.get("status", {}).get("history"))


def records(env: Environment) -> list[str]:
    found = (each["metadata"]["name"] for each in env.api.items("secrets", env.name))
    return sorted(name for name in found if name.startswith("sh.helm."))


def test_what_moves_while_closed_moves_when_it_opens(env: Environment) -> None:
    """A release's new name and a Kustomization's new namespace: the old ones go at the opening."""
    elsewhere = f"{env.name}-2"
    env.api.create("namespaces", None, {"metadata": {"name": elsewhere}})
    installed(env)
    both = [*RELEASE["targets"], {"kind": "Kustomization", "names": [APPS]}]  # type: ignore[misc]
    env.policy({**CLOSED, "targets": both})
    env.eventually_suspended(NAME, "helmreleases")
    env.eventually_closed()
    text = (env.tree / "cluster/release.yaml").read_text()
    repository, release = yaml.safe_load_all(text)
    release["spec"]["releaseName"] = "renamed"
    env.write("cluster/release.yaml", [repository, release])
    moved = env.kustomization(APPS, "./apps", targetNamespace=elsewhere)
    env.write("cluster/apps.yaml", moved)
    env.commit("Rename the release, and move apps")
    env.eventually_delivered()
    assert env.target(NAME, "helmreleases")["spec"]["releaseName"] == "renamed"
    throughout(INTERVAL, "apps stays where it is", lambda: env.version() == "1")
    assert records(env) == [f"sh.helm.release.v1.{NAME}.v1"]
    env.policy({**OPEN, "targets": both})
    eventually("apps is gone here", gone(env, "configmaps", "app"))
    assert env.api.find("configmaps", elsewhere, "app")
    eventually("the old release is gone", lambda: records(env) == ["sh.helm.release.v1.renamed.v1"])
    env.api.delete("namespaces", None, elsewhere)
