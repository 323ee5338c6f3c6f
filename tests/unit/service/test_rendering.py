"""What was rendered of a policy is rendered again in the commit that changes it."""

from collections.abc import Callable
from contextlib import chdir
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from effort import mostly_slow

from krm_windows.cli import main, rendered

POLICY_PATH = "/policies/flux-system/week"
FRIDAY = {"spec": {"windows": {"week": {"closes": "Fri 12:00"}}}}
OPEN = {"state": "open", "for": "2h", "reason": "Hotfix"}
APPS = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 10m, path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: fleet}}
"""
Client = Any
Commit = Any
Git = Any
Render = Any
Serve = Any


@pytest.fixture
def render(repository: Path, git: Git) -> Render:
    (repository / "clusters/apps.yaml").write_text(APPS)

    def run(output: str, *options: str) -> None:
        with chdir(repository):
            assert main(["render", "clusters/week.yaml", "--output-dir", output, *options]) == 0
        git("add", ".")
        git("commit", "--quiet", "--allow-empty", "--message=render")

    return run


def changed(git: Git) -> list[str]:
    return git("show", "--name-only", "--no-renames", "--format=", "HEAD").split()


@pytest.mark.parametrize(
    "layout",
    mostly_slow([("clusters/windows", "--resources", "clusters"), ("fleet", "--all-clusters")], 3),
    ids=["one-directory", "overlays"],
)
def test_in_every_layout(serve: Serve, git: Git, render: Render, layout: tuple[str, ...]) -> None:
    render(*layout)
    client = serve(renew=rendered.renew)
    assert stale(client) == [False]
    one = "?file=clusters/week.yaml"
    done = client.patch(f"{POLICY_PATH}{one}", FRIDAY)
    assert done.status == 200, done.body
    assert done.json()["missing"] == ["push", "reconcile"]
    [directory] = done.json()["rendered"]
    assert (directory["directory"], directory["stale"]) == (layout[0], False)
    assert sorted([*directory["files"], "clusters/week.yaml"]) == sorted(changed(git))
    assert any(path.startswith(layout[0]) for path in changed(git))
    assert client.ask("POST", f"{POLICY_PATH}/overrides{one}", OPEN).status == 201
    assert git("status", "--porcelain") == ""
    # Another service finds the same.
    assert f"rendered: {layout[0]} is current" in page(client, "&check=rendered")
    question = f"{POLICY_PATH}/rendered{one}"
    known = client.ask("GET", question).json()
    assert known == serve(renew=rendered.renew).ask("GET", question).json()
    assert (known["rendered"][0]["stale"], known["rendered"][0]["files"]) == (False, [])
    render(*layout, "--check")


def stale(client: Client) -> list[bool | None]:
    answer = client.ask("GET", f"{POLICY_PATH}/rendered?file=clusters/week.yaml").json()
    assert answer["inCluster"] is None
    return [each["stale"] for each in answer["rendered"]]


def page(client: Client, query: str = "") -> str:
    text = client.ask("GET", f"/ui{POLICY_PATH}?file=clusters/week.yaml{query}").body.decode()
    return unescape(text)


def test_what_is_stale_or_unknown_is_said(
    serve: Serve, git: Git, render: Render, repository: Path, commit: Commit
) -> None:
    render("clusters/windows", "--resources", "clusters")
    client = serve(renew=rendered.renew)
    assert "look whether it is current" in page(client)
    file = repository / "clusters/week.yaml"
    file.write_text(file.read_text().replace("Thu 17:00", "Fri 12:00"))
    git("commit", "--quiet", "--all", "--message=by hand")
    client.windows.refresh()
    assert "look whether it is current" in page(client)
    text = page(client, "&check=rendered")
    assert "rendered: clusters/windows is stale (" in text
    assert "run krm-windows render clusters/week.yaml" in text
    assert stale(client) == [True]
    # A change that is there already renders it.
    done = client.patch(POLICY_PATH, FRIDAY).json()
    assert (done["commit"] is None, done["missing"]) == (False, ["push", "reconcile"])
    assert "clusters/week.yaml" not in changed(git)
    assert stale(client) == [False]
    again = client.patch(POLICY_PATH, FRIDAY).json()
    assert (again["commit"], again["missing"]) == (None, [])
    assert [each["stale"] for each in again["rendered"]] == [False]
    commit({"clusters/apps.yaml": "kind: ["})
    client.windows.refresh()
    assert stale(client) == [None]
    text = page(client, "&check=rendered")
    assert "rendered: unknown whether clusters/windows is current" in text


def test_who_moves_the_branch_meanwhile_has_it_rendered_anew(
    serve: Serve, git: Git, render: Render, repository: Path, tmp_path: Path
) -> None:
    render("clusters/windows", "--resources", "clusters")
    git("clone", "--quiet", "--bare", str(repository), str(tmp_path / "remote.git"))
    git("remote", "add", "origin", str(tmp_path / "remote.git"))
    client = serve(renew=rendered.renew, remote="origin")
    (repository / "clusters/apps.yaml").write_text(APPS.replace("10m", "5m"))
    git("commit", "--quiet", "--all", "--message=another")
    git("push", "--quiet", "origin", "main")
    git("reset", "--quiet", "--hard", "HEAD~1")
    done = client.ask("POST", f"{POLICY_PATH}/overrides", OPEN)
    assert done.status == 201
    [directory] = done.json()["rendered"]
    assert directory["stale"] is False
    assert stale(client) == [False]
    assert done.json()["missing"] == ["reconcile"]


def test_what_was_never_rendered_is_left_alone(serve: Serve, git: Git) -> None:
    """To render it first is for a person."""
    client = serve(renew=rendered.renew)
    assert client.patch(POLICY_PATH, FRIDAY).status == 200
    assert changed(git) == ["clusters/week.yaml"]
    assert "not rendered: no directory of this repository" in page(client, "&check=rendered")
    assert stale(client) == []


@pytest.mark.parametrize(
    "words",
    [
        None,
        "krm-windows render ../../clusters/week.yaml --output-dir ../../../out",
        "krm-windows render ../../clusters/week.yaml --output-dir . --resources /etc",
        "rm -rf ../../clusters/week.yaml --output-dir .",
    ],
)
def test_a_line_runs_nothing_else(
    serve: Serve, git: Git, render: Render, repository: Path, words: str | None
) -> None:
    """It comes from the repository, which may be anybody's."""
    render("clusters/windows")
    file = repository / "clusters/windows/kustomization.yaml"
    lines = file.read_text().splitlines()
    said = [] if words is None else [f"# krm-windows.dev/rendered-by: {words}", *lines[2:]]
    file.write_text("\n".join([lines[0], *said, ""]))
    git("commit", "--quiet", "--all", "--message=hostile")
    answer = serve(renew=rendered.renew).ask("POST", f"{POLICY_PATH}/overrides", OPEN)
    assert answer.status == 409
    assert words or "says how the windows" in answer.json()["detail"]
    assert git("status", "--porcelain") == ""
    assert not (repository.parent / "out").exists()


def test_a_link_leads_nowhere(
    serve: Serve,
    git: Git,
    render: Render,
    repository: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Of a commit no link is made a file: what it leads to is not read."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.yaml").write_text("secret: [")
    render("clusters/windows", "--resources", "clusters")
    (repository / "clusters/secret.yaml").symlink_to(outside / "secret.yaml")
    git("add", ".")
    git("commit", "--quiet", "--message=link")
    answer = serve(renew=rendered.renew).ask("POST", f"{POLICY_PATH}/overrides", OPEN)
    assert answer.status == 201
    assert b"secret" not in answer.body


def test_what_would_stay_shut_is_not_written(serve: Serve, git: Git, render: Render) -> None:
    render("clusters/windows")
    head = git("rev-parse", "HEAD")
    client = serve(renew=rendered.renew)
    answer = client.ask("DELETE", POLICY_PATH, if_match="*")
    assert answer.status == 409
    assert "clusters/windows" in answer.json()["detail"]
    other = {"spec": {"targets": [{"kind": "Kustomization", "names": ["other"]}]}}
    assert client.patch(POLICY_PATH, other).status == 422
    assert git("rev-parse", "HEAD") == head


@pytest.fixture
def closing_early(repository: Path, commit: Commit) -> Callable[..., None]:
    """Let the policy close as early as its target needs, which has a timeout in each directory."""

    def made(timeouts: dict[str, str]) -> None:
        policy = (repository / "clusters/week.yaml").read_text()
        if "closesEarly" not in policy:
            policy = policy.replace("spec:\n", "spec:\n  closesEarly: auto\n", 1)
        targets = {
            f"{directory}/apps.yaml": APPS.replace("spec: {", f"spec: {{timeout: {timeout}, ")
            for directory, timeout in timeouts.items()
        }
        commit({"clusters/week.yaml": policy, **targets})

    return made


def closes(client: Client, cluster: str) -> list[str]:
    target = f"{POLICY_PATH}/calendar?cluster={cluster}&from=2026-12-14"
    answer = client.ask("GET", target)
    assert answer.status == 200, answer.body
    assert client.ask("GET", target).body == answer.body
    found = [each["closes"] for each in answer.json()["intervals"]]
    state = f"{POLICY_PATH}/state?cluster={cluster}&at=2026-12-16T12:00:00Z"
    assert client.ask("GET", state).json()["until"] == found[0]
    return found


def test_each_cluster_has_its_own_targets(
    serve: Serve, closing_early: Callable[..., None], render: Render
) -> None:
    closing_early({"apps/north": "20m", "apps/south": "50m"})
    render("fleet", "--all-clusters", "--resources", "apps/{cluster}")
    client = serve(renew=rendered.renew)
    for _ in range(2):
        assert closes(client, "north") == ["2026-12-17T16:40:00+01:00"]
        assert closes(client, "south") == ["2026-12-17T16:10:00+01:00"]
    assert client.ask("GET", f"{POLICY_PATH}/state").status == 409
    assert client.ask("POST", f"{POLICY_PATH}/overrides", OPEN).status == 201
    done = client.patch(POLICY_PATH, FRIDAY)
    assert done.status == 200, done.body
    client.windows.refresh()
    assert closes(client, "south") == ["2026-12-18T11:10:00+01:00"]
    # A commit of a timeout alone moves them.
    closing_early({"apps/south": "40m"})
    client.windows.refresh()
    assert closes(client, "south") == ["2026-12-18T11:20:00+01:00"]
    page = client.ask("GET", f"/ui{POLICY_PATH}", accept="text/html")
    assert (page.status, b"timeout-unknown" in page.body) == (200, False)


def test_hours_that_nobody_knows_are_not_said(
    serve: Serve, commit: Commit, closing_early: Callable[..., None], render: Render
) -> None:
    """An answer would call open what is about to close."""
    closing_early({"clusters": "20m"})

    def said(client: Client) -> list[Any]:
        targets = [f"{POLICY_PATH}/{what}?cluster=north" for what in ("state", "calendar")]
        answers = [client.ask("GET", target) for target in targets]
        assert [answer.status for answer in answers] == [409, 409]
        return [answer.json() for answer in answers]

    for answer in said(serve(renew=rendered.renew)):
        assert [each["rule"] for each in answer["findings"]] == ["timeout-unknown"]
    render("clusters/windows", "--resources", "clusters")
    commit({"clusters/broken.yaml": "a: [\n"})
    for answer in said(serve(renew=rendered.renew)):
        assert answer["detail"].startswith("clusters/broken.yaml:")


def test_a_target_that_another_policy_gates_is_given_up(
    serve: Serve, commit: Commit, repository: Path
) -> None:
    policy = (repository / "clusters/week.yaml").read_text()
    other = policy.partition("---")[0].replace("name: week", "name: other")
    other, place = other.replace("[apps]", "[infra]"), "clusters/other.yaml"
    commit({place: other.replace("    north: {}\n", "")})
    commit({"clusters/week.yaml": policy.replace("[apps]", "[apps, infra]")})
    client = serve(renew=rendered.renew)
    give_up = {"spec": {"targets": [{"kind": "Kustomization", "names": ["apps"]}]}}
    done = client.patch(POLICY_PATH, give_up)
    rules = {each["rule"] for each in done.json()["findings"] if each["severity"] == "error"}
    assert (done.status, rules) == (422, {"target-dropped"})
    commit({place: other})
    done = client.patch(POLICY_PATH, give_up)
    assert done.status == 200
