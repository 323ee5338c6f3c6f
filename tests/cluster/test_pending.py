"""`krm-windows pending` on the real cluster: what waits is shown while closed, and then gone."""

from environment import OPEN, PARENT, Environment, eventually
from lab import origins
from lab.api import Object
from test_sources import NAME, ORIGINS, RELEASE, app, close_release, installed


def pending(env: Environment, *options: str) -> Object:
    code, asked, said = env.ask("pending", *options)
    assert code == 0, said
    [target] = asked["targets"]
    found: Object = target
    return found


def revisions(found: Object) -> tuple[str, str]:
    return found["applied"]["revision"], found["offered"]["revision"]


def eventually_gone(env: Environment) -> None:
    def gone() -> bool:
        found = pending(env)
        return (found["pending"], found["open"]) == (False, True)

    eventually("nothing waits any more", gone)


def test_a_commit_is_pending(env: Environment) -> None:
    """With its subject and author, and the object that it changes; after the opening it is gone."""
    env.begin_closed()
    env.release("2")
    # The source is the test's own repository, and no object in it says so.
    here = ("--repo", ".", "--clusters", "cluster", "--source", f"{PARENT}=.")
    eventually("the commit is offered", lambda: env.head() in pending(env)["offered"]["revision"])
    found = pending(env, *here)
    assert (found["pending"], found["open"], found["keptBy"]) == (True, False, None)
    assert found["opens"]
    assert [each["subject"] for each in found["commits"]][:1] == ["Release 2"]
    assert found["objects"] == [{"change": "changed", "object": f"ConfigMap {env.name}/app"}]
    assert env.version() == "1"
    env.opens(version="2")
    eventually_gone(env)


def test_an_artifact_is_pending(env: Environment) -> None:
    """Of an OCIRepository that is not closed itself, with the commit that it was made of."""
    [origin] = (each for each in ORIGINS if each.kind == "OCIRepository")
    origin.publish(env.name, "1")
    spec = {"interval": "5s", **origin.spec(env.name)}
    source = env.object("source.toolkit.fluxcd.io/v1", origin.kind, NAME, spec=spec)
    env.add("source.yaml", source)
    env.begin(sourceRef={"kind": origin.kind, "name": NAME})
    env.closes()
    before = pending(env)
    assert (before["pending"], before["source"]) == (False, f"OCIRepository {env.name}/{NAME}")
    origins.push(env.name, "latest", {"apps/app.yaml": app("2")})
    eventually("the artifact is offered", lambda: pending(env)["pending"] is True)
    found = pending(env)
    applied, offered = revisions(found)
    assert applied == before["applied"]["revision"] != offered
    assert found["offered"]["since"] > (before["offered"]["since"] or "")
    # What `flux push artifact` notes, and kustomize-controller takes over.
    commits = found["applied"]["commit"], found["offered"]["commit"]
    assert all(commits)
    assert commits[0] != commits[1]
    env.opens(version="2")
    eventually_gone(env)


def test_a_chart_is_pending(env: Environment) -> None:
    """Of a HelmRelease, as soon as source-controller has fetched it."""
    installed(env)
    close_release(env)
    before = pending(env)
    assert (before["pending"], revisions(before)) == (False, ("1.0.0", "1.0.0"))
    origins.publish_chart(env.name, "1.0.0", "2.0.0")
    eventually("the chart is offered", lambda: pending(env)["pending"] is True)
    assert revisions(pending(env)) == ("1.0.0", "2.0.0")
    env.policy({**OPEN, **RELEASE})
    env.eventually_applied("2.0.0", origins.CHART)
    eventually_gone(env)
