"""Hooks with `onlyIf: Pending`: nobody is put into maintenance for nothing."""

import yaml
from environment import CLOSED, OPEN, Environment, condition, eventually
from lab import origins
from lab.processes import run
from test_hooks import NOTE, Plant, plant, reconciles
from test_rights import KUSTOMIZE, granted
from test_sources import NAME, RELEASE, fetched, installed
from when import Spec

__all__ = ["plant"]

SOURCE = "source.toolkit.fluxcd.io"
BRANCH = "released"


def publish(env: Environment, version: str) -> None:
    """Commit a version of the application, and move the branch there that it is taken from."""
    env.release(version)
    run("git", "push", "--quiet", "origin", f"main:{BRANCH}", cwd=env.tree)


def eventually_offered(env: Environment, version: str) -> None:
    publish(env, version)
    head = env.head()
    eventually(f"version {version} is fetched", lambda: env.revision(BRANCH).endswith(head))


def begin(plant: Plant, **hooks: object) -> None:
    """Begin closed, with nothing new, and the target reconciled as it is."""
    start(plant)
    plant.closes(**hooks)


def start(plant: Plant, **apps: object) -> None:
    env = plant.env
    publish(env, "1")
    source = env.source(BRANCH)
    source["spec"]["ref"] = {"branch": BRANCH}
    env.add("source.yaml", source)
    env.begin(interval="1h", sourceRef={"kind": "GitRepository", "name": BRANCH}, **apps)
    eventually("the target is reconciled", lambda: is_reconciled(env))


def around(plant: Plant) -> Spec:
    system = plant.system
    return {"onlyIf": "Pending", "beforeOpen": system.hook("on"), "afterClose": system.hook("off")}


def ends_well(plant: Plant, name: str) -> None:
    plant.env.job(name)
    eventually(f"the run {name} ends well", lambda: plant.ended(name) == "Complete")


def is_reconciled(env: Environment) -> bool:
    found = env.target()
    ready, generation = condition(found), found["metadata"]["generation"]
    return (ready["status"], ready.get("observedGeneration")) == ("True", generation)


def test_nothing_runs_for_nothing(plant: Plant) -> None:
    """A commit that comes while open starts no Job late; one that waits starts both."""
    env, hooks = plant.env, around(plant)
    begin(plant, **hooks)
    plant.opens(**hooks)
    ends_well(plant, "while-open")
    assert not plant.jobs()

    eventually_offered(env, "2")
    env.eventually_applied("2")
    ends_well(plant, "after-a-commit")
    plant.closes(**hooks)
    ends_well(plant, "while-closed")
    assert (plant.jobs(), plant.calls) == ([], [])

    eventually_offered(env, "3")
    assert env.version() == "2"
    plant.opens("3", **hooks)
    assert plant.system.maintenance
    ends_well(plant, "once-more")
    assert (len(plant.jobs()), plant.calls) == (1, ["on"])
    plant.closes(**hooks)
    eventually("out of maintenance", lambda: plant.calls == ["on", "off"])

    ends_well(plant, "closed-again")
    plant.opens(**hooks)
    ends_well(plant, "open-again")
    assert plant.calls == ["on", "off"]


def test_an_edited_target_is_a_change(plant: Plant) -> None:
    """So it is while the source is suspended, as nobody looks for what is new."""
    env, hooks = plant.env, around(plant)
    begin(plant, **hooks)
    edit(env, "north")
    plant.opens(**hooks)
    assert plant.calls == ["on"]
    eventually("the edit is applied", lambda: is_reconciled(env))
    plant.closes(**hooks)
    eventually("out of maintenance", lambda: plant.calls == ["on", "off"])

    env.api.patch("gitrepositories", env.name, BRANCH, {"spec": {"suspend": True}}, manager="flux")
    plant.opens(**hooks)
    assert plant.calls == ["on", "off", "on"]
    assert any("is suspended" in str(line.get("pending")) for line in env.log())


def edit(env: Environment, site: str, **apps: object) -> None:
    reference = {"kind": "GitRepository", "name": BRANCH}
    edited = env.kustomization("apps", "./apps", interval="1h", sourceRef=reference, **apps)
    edited["spec"]["postBuild"] = {"substitute": {"site": site}}
    env.write("cluster/apps.yaml", edited)
    env.commit(f"Edit apps for {site}")
    eventually("the edit is in the cluster", lambda: site in str(env.target()["spec"]))


# A reconcile of a later version than the first ends once somebody says that this one is well.
WAITING: Spec = {
    "wait": True,
    "timeout": "10m",
    "healthCheckExprs": [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "current": "data.version == '1' || (has(metadata.annotations) && "
            "has(metadata.annotations.well) && metadata.annotations.well == data.version)",
        }
    ],
}


def closes_in_the_middle(plant: Plant, version: str, **hooks: object) -> None:
    """The reconcile then ends well, and its condition notes the generation by the close."""
    env = plant.env
    publish(env, version)
    env.eventually_applied(version)
    eventually("it is being reconciled", lambda: reconciles(env))
    plant.closes(**hooks)
    assert reconciles(env)
    well = {"metadata": {"annotations": {"well": version}}}
    env.api.patch("configmaps", env.name, "app", well)
    eventually("the reconcile has ended", lambda: is_reconciled(env))


def test_a_close_in_the_middle_of_a_reconcile(plant: Plant) -> None:
    """By its status a target edited once then looks as any that was closed at rest."""
    env, hooks = plant.env, {"onlyIf": "Pending", "beforeOpen": plant.system.hook("on")}
    start(plant, **WAITING)
    plant.policy(OPEN, **hooks)
    plant.eventually_may_open()
    closes_in_the_middle(plant, "2", **hooks)
    plant.opens(**hooks)
    eventually("what was opened is reconciled", lambda: is_reconciled(env))
    assert (plant.jobs(), plant.calls) == ([], [])

    closes_in_the_middle(plant, "3", **hooks)
    edit(env, "north", **WAITING)
    assert since_ready(env) == 1
    plant.opens(**hooks)
    assert plant.calls == ["on"]
    assert any("has changed since it was closed" in str(line.get("pending")) for line in env.log())


def since_ready(env: Environment) -> int:
    found = env.target()
    changes: int = found["metadata"]["generation"] - condition(found)["observedGeneration"]
    return changes


def test_a_release_with_nothing_new(plant: Plant) -> None:
    """A HelmRelease: the hook runs for a new chart and for changed values, and not for nothing."""
    env, hooks = plant.env, around(plant)

    def closes() -> None:
        plant.policy({**CLOSED, **RELEASE}, **hooks)
        env.eventually_suspended(NAME, "helmreleases")

    def opens() -> None:
        plant.policy({**OPEN, **RELEASE}, **hooks)
        eventually("the release is open", lambda: not env.suspended(NAME, "helmreleases"))

    installed(env)
    closes()
    opens()
    closes()
    assert not plant.jobs()

    origins.publish_chart(env.name, "1.0.0", "2.0.0")
    eventually("the new chart is fetched", lambda: fetched(env) == "2.0.0")
    opens()
    env.eventually_applied("2.0.0", origins.CHART)
    closes()
    eventually("out of maintenance", lambda: plant.calls == ["on", "off"])

    repository, release = yaml.safe_load_all((env.tree / "cluster/release.yaml").read_text())
    release["spec"]["values"] = {"site": "north"}
    env.write("cluster/release.yaml", [repository, release])
    env.commit("Change values")
    eventually("the values are there", lambda: "north" in str(env.target(NAME, "helmreleases")))
    opens()
    assert plant.calls == ["on", "off", "on"]


def test_the_right_to_read_sources(plant: Plant) -> None:
    """It is to get, only with `onlyIf: Pending`; where a target is seen, on its source alone."""
    env, hooks = plant.env, around(plant)
    begin(plant, **hooks)
    account = env.account()
    target = ([KUSTOMIZE], ["kustomizations"], ["apps"], ["get", "patch"])
    kinds = ("buckets", "externalartifacts", "gitrepositories", "ocirepositories")
    any_source = [([SOURCE], [kind], [], ["get"]) for kind in kinds]
    assert granted(account, env.name) == [target, *any_source, NOTE]
    env.render("windows.yaml", "cluster/windows", "--resources", "cluster")
    env.commit("Render with what it applies to")
    named = ([SOURCE], ["gitrepositories"], [BRANCH], ["get"])
    eventually("the right is on one", lambda: granted(account, env.name) == [target, named, NOTE])
    plant.policy(CLOSED, **{**hooks, "onlyIf": "Always"})
    eventually("the right is gone", lambda: granted(account, env.name) == [target, NOTE])
    account.close()
