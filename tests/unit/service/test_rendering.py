"""What was rendered of a policy is rendered again in the commit that changes it."""

import json
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from effort import mostly_slow

from krm_windows.cli import rendered

POLICY_PATH = "/policies/flux-system/week"
MERGE = "application/merge-patch+json"
FRIDAY = {"spec": {"windows": {"week": {"closes": "Fri 12:00"}}}}
OPEN = {"state": "open", "for": "2h", "reason": "Hotfix"}
APPS = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 10m, path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: fleet}}
"""
Serve = Any
Git = Any


@pytest.fixture
def render(repository: Path, git: Git, function: Path) -> Any:  # noqa: ANN401
    """Render with the command, as a person does, and commit it."""
    (repository / "clusters/apps.yaml").write_text(APPS)

    def run(output: str, *options: str) -> None:
        command = [function, "render", "clusters/week.yaml", "--output-dir", output, *options]
        subprocess.run(command, cwd=repository, check=True, capture_output=True)
        git("add", ".")
        git("commit", "--quiet", "--allow-empty", "--message=render")

    return run


def changed(git: Git) -> list[str]:
    """Return the paths of the newest commit."""
    return git("show", "--name-only", "--no-renames", "--format=", "HEAD").split()


def test_it_is_what_the_command_renders(serve: Serve, git: Git, render: Any) -> None:  # noqa: ANN401
    """One commit has both, the tree is clean, and `render` finds nothing to write after it."""
    render("clusters/windows", "--resources", "clusters")
    client = serve(renew=rendered.renew)
    done = client.ask("PATCH", POLICY_PATH, FRIDAY, if_match="*", content_type=MERGE)
    assert done.status == 200
    paths = changed(git)
    assert "clusters/week.yaml" in paths
    assert "clusters/windows/configmap_week-gate.yaml" in paths
    assert git("status", "--porcelain") == ""
    head = git("rev-parse", "HEAD")
    render("clusters/windows", "--resources", "clusters")
    assert git("diff", "--stat", head.strip(), "HEAD") == ""


@pytest.mark.slow
def test_so_it_is_for_each_cluster(serve: Serve, git: Git, render: Any) -> None:  # noqa: ANN401
    """What one cluster's patch changes is rendered for that cluster alone."""
    for cluster in ("north", "south"):
        render(f"rendered/{cluster}", "--cluster", cluster)
    client = serve(renew=rendered.renew)
    later = {"windows": {"week": {"closes": "Fri 12:00"}}}
    target = f"{POLICY_PATH}?cluster=south"
    assert client.ask("PATCH", target, later, if_match="*", content_type=MERGE).status == 200
    folders = {path.rpartition("/")[0] for path in changed(git)}
    assert folders == {"clusters", "rendered/south"}


def test_an_override_is_rendered_too(serve: Serve, git: Git, render: Any) -> None:  # noqa: ANN401
    """It is in the timetable that the gate reads."""
    render("clusters/windows")
    client = serve(renew=rendered.renew)
    assert client.ask("POST", f"{POLICY_PATH}/overrides", OPEN).status == 201
    assert "clusters/windows/configmap_week-gate.yaml" in changed(git)


LAYOUTS = {
    "one-directory": ("clusters/windows", "--resources", "clusters"),
    "overlays": ("fleet", "--all-clusters"),
}


@pytest.mark.parametrize("layout", mostly_slow(LAYOUTS.values(), every=3), ids=LAYOUTS)
def test_in_every_layout(
    serve: Serve,
    git: Git,
    render: Any,  # noqa: ANN401
    layout: tuple[str, ...],
) -> None:
    """What was rendered says how; `render --check` finds nothing after a change."""
    render(*layout)
    client = serve(renew=rendered.renew)
    assert stale(client) == [False]
    one = "?file=clusters/week.yaml"
    target = f"{POLICY_PATH}{one}"
    done = client.ask("PATCH", target, FRIDAY, if_match="*", content_type=MERGE)
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


def stale(client: Any) -> list[bool | None]:  # noqa: ANN401
    """Say of each directory whether it is out of date."""
    answer = client.ask("GET", f"{POLICY_PATH}/rendered?file=clusters/week.yaml").json()
    assert answer["inCluster"] is None
    return [each["stale"] for each in answer["rendered"]]


def page(client: Any, query: str = "") -> str:  # noqa: ANN401
    """Return the page of the policy as it is read."""
    text = client.ask("GET", f"/ui{POLICY_PATH}?file=clusters/week.yaml{query}").body.decode()
    return unescape(text)


def test_what_is_stale_or_unknown_is_said(
    serve: Serve,
    git: Git,
    render: Any,  # noqa: ANN401
    repository: Path,
) -> None:
    """And never taken for current: by hand, the policy was changed, or what it was made of."""
    render("clusters/windows", "--resources", "clusters")
    client = serve(renew=rendered.renew)
    assert "rendered: unknown: not checked here" in page(client)
    file = repository / "clusters/week.yaml"
    file.write_text(file.read_text().replace("Thu 17:00", "Fri 12:00"))
    git("commit", "--quiet", "--all", "--message=by hand")
    client.windows.refresh()
    assert "rendered: unknown: not checked here" in page(client)
    text = page(client, "&check=rendered")
    assert "rendered: clusters/windows is stale (" in text
    assert "run krm-windows render clusters/week.yaml" in text
    assert stale(client) == [True]
    # A change that is there already renders it.
    done = client.ask("PATCH", POLICY_PATH, FRIDAY, if_match="*", content_type=MERGE).json()
    assert (done["commit"] is None, done["missing"]) == (False, ["push", "reconcile"])
    assert "clusters/week.yaml" not in changed(git)
    assert stale(client) == [False]
    again = client.ask("PATCH", POLICY_PATH, FRIDAY, if_match="*", content_type=MERGE).json()
    assert (again["commit"], again["missing"]) == (None, [])
    assert [each["stale"] for each in again["rendered"]] == [False]
    (repository / "clusters/apps.yaml").write_text("kind: [")
    git("commit", "--quiet", "--all", "--message=broken")
    client.windows.refresh()
    assert stale(client) == [None]
    text = page(client, "&check=rendered")
    assert "rendered: unknown whether clusters/windows is current" in text


def test_who_moves_the_branch_meanwhile_has_it_rendered_anew(
    serve: Serve,
    git: Git,
    render: Any,  # noqa: ANN401
    repository: Path,
    tmp_path: Path,
) -> None:
    """The commit is made on top of theirs, and has what is rendered from it."""
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
    assert client.ask("PATCH", POLICY_PATH, FRIDAY, if_match="*", content_type=MERGE).status == 200
    assert changed(git) == ["clusters/week.yaml"]
    assert "not rendered: no directory of this repository" in page(client, "&check=rendered")
    assert stale(client) == []


def test_what_does_not_say_how_it_was_rendered_would_not_follow(
    serve: Serve,
    git: Git,
    render: Any,  # noqa: ANN401
    repository: Path,
) -> None:
    """So nothing is written: whoever asked would take the window to be open."""
    render("clusters/windows")
    file = repository / "clusters/windows/kustomization.yaml"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:1]))
    git("commit", "--quiet", "--all", "--message=as an earlier version")
    answer = serve(renew=rendered.renew).ask("POST", f"{POLICY_PATH}/overrides", OPEN)
    assert answer.status == 409
    assert "says how the windows" in answer.json()["detail"]


@pytest.mark.parametrize(
    "words",
    [
        "krm-windows render ../../clusters/week.yaml --output-dir ../../../out",
        "krm-windows render ../../clusters/week.yaml --output-dir . --resources /etc",
        "rm -rf ../../clusters/week.yaml --output-dir .",
    ],
)
def test_a_line_runs_nothing_else(
    serve: Serve,
    git: Git,
    render: Any,  # noqa: ANN401
    repository: Path,
    words: str,
) -> None:
    """It comes from the repository, which may be anybody's; nor is it passed over."""
    render("clusters/windows")
    file = repository / "clusters/windows/kustomization.yaml"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], f"# krm-windows.dev/rendered-by: {words}", *lines[2:]]))
    git("commit", "--quiet", "--all", "--message=hostile")
    answer = serve(renew=rendered.renew).ask("POST", f"{POLICY_PATH}/overrides", OPEN)
    assert answer.status == 409
    assert git("status", "--porcelain") == ""
    assert not (repository.parent / "out").exists()


def test_a_link_leads_nowhere(
    serve: Serve,
    git: Git,
    render: Any,  # noqa: ANN401
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


def test_a_policy_that_is_rendered_is_not_removed(serve: Serve, git: Git, render: Any) -> None:  # noqa: ANN401
    """What it shut would stay shut."""
    render("clusters/windows")
    head = git("rev-parse", "HEAD")
    client = serve(renew=rendered.renew)
    answer = client.ask("DELETE", POLICY_PATH, if_match="*")
    assert answer.status == 409
    assert "clusters/windows" in answer.json()["detail"]
    assert git("rev-parse", "HEAD") == head


def test_what_cannot_be_rendered_is_not_written(serve: Serve, git: Git, render: Any) -> None:  # noqa: ANN401
    """A target that would be dropped while it is shut would stay suspended."""
    render("clusters/windows")
    head = git("rev-parse", "HEAD")
    client = serve(renew=rendered.renew)
    other = {"spec": {"targets": [{"kind": "Kustomization", "names": ["other"]}]}}
    answer = client.ask("PATCH", POLICY_PATH, other, if_match="*", content_type=MERGE)
    assert answer.status == 422
    assert git("rev-parse", "HEAD") == head


def closing_early(repository: Path, git: Git, timeouts: dict[str, str]) -> None:
    """Let the policy close as early as its target needs, which has a timeout in each directory."""
    path = repository / "clusters/week.yaml"
    path.write_text(path.read_text().replace("spec:\n", "spec:\n  closesEarly: auto\n", 1))
    commit_timeouts(repository, git, timeouts)


def commit_timeouts(repository: Path, git: Git, timeouts: dict[str, str]) -> None:
    """Write the target into directories."""
    for directory, timeout in timeouts.items():
        file = repository / directory / "apps.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(APPS.replace("spec: {", f"spec: {{timeout: {timeout}, "))
    git("add", ".")
    git("commit", "--quiet", "--message=timeouts")


def closes(client: Any, cluster: str) -> list[str]:  # noqa: ANN401
    """Return when a cluster closes in a week, as the calendar says; `state` says the same."""
    target = f"{POLICY_PATH}/calendar?cluster={cluster}&from=2026-12-14"
    answer = client.ask("GET", target)
    assert answer.status == 200, answer.body
    assert client.ask("GET", target).body == answer.body
    found = [each["closes"] for each in answer.json()["intervals"]]
    state = f"{POLICY_PATH}/state?cluster={cluster}&at=2026-12-16T12:00:00Z"
    assert client.ask("GET", state).json()["until"] == found[0]
    return found


def overlay(repository: Path) -> None:
    """Have a kustomization beside the target give it ten minutes more."""
    (repository / "clusters/kustomization.yaml").write_text("""\
resources: [apps.yaml]
patches:
- target: {kind: Kustomization}
  patch: |
    - {op: replace, path: /spec/timeout, value: 30m}
""")


@pytest.mark.slow
@pytest.mark.parametrize("patched", [False, True])
def test_hours_end_as_early_as_targets_need(  # noqa: PLR0913, PLR0917 - fixtures
    serve: Serve,
    repository: Path,
    git: Git,
    function: Path,
    render: Any,  # noqa: ANN401
    patched: bool,  # noqa: FBT001
) -> None:
    """As the command says with the same resources; a commit of a timeout alone moves them."""
    if patched:
        overlay(repository)
    closing_early(repository, git, {"clusters": "20m"})
    render("clusters/windows", "--resources", "clusters")
    client = serve(renew=rendered.renew)
    assert closes(client, "north") == [f"2026-12-17T16:{30 if patched else 40}:00+01:00"]
    options = ("--resources", "clusters", "--cluster", "north", "--from", "2026-12-14")
    command = [function, "calendar", "clusters/week.yaml", *options, "-o", "json"]
    git("checkout", "--quiet", "main")
    done = subprocess.run(command, cwd=repository, check=True, capture_output=True)
    target = f"{POLICY_PATH}/calendar?cluster=north&from=2026-12-14"
    assert json.loads(done.stdout) == client.ask("GET", target).json()
    if not patched:
        commit_timeouts(repository, git, {"clusters": "40m"})
        client.windows.refresh()
        assert closes(client, "north") == ["2026-12-17T16:20:00+01:00"]
    assert client.ask("GET", "/fleet").status == 200
    page = client.ask("GET", f"/ui{POLICY_PATH}", accept="text/html")
    assert (page.status, b"timeout-unknown" in page.body) == (200, False)
    # At 3 a.m.
    assert client.ask("POST", f"{POLICY_PATH}/overrides", OPEN).status == 201
    assert client.ask("GET", f"{POLICY_PATH}/overrides").status == 200


LAYOUTS_APART = {
    "fleet": [("fleet", "--all-clusters", "--resources", "apps/{cluster}")],
    "each": [
        (f"rendered/{name}", "--cluster", name, "--resources", f"apps/{name}")
        for name in ("north", "south")
    ],
}


@pytest.mark.parametrize("layout", mostly_slow(LAYOUTS_APART.values(), every=2), ids=LAYOUTS_APART)
def test_each_cluster_has_its_own_targets(
    serve: Serve,
    repository: Path,
    git: Git,
    render: Any,  # noqa: ANN401
    layout: list[tuple[str, ...]],
) -> None:
    """Where each was rendered with its own; for none in particular, it is not known which."""
    closing_early(repository, git, {"apps/north": "20m", "apps/south": "50m"})
    for options in layout:
        render(*options)
    client = serve(renew=rendered.renew)
    for _ in range(2):
        assert closes(client, "north") == ["2026-12-17T16:40:00+01:00"]
        assert closes(client, "south") == ["2026-12-17T16:10:00+01:00"]
    assert client.ask("GET", f"{POLICY_PATH}/state").status == 409
    assert client.ask("POST", f"{POLICY_PATH}/overrides", OPEN).status == 201
    done = client.ask("PATCH", POLICY_PATH, FRIDAY, if_match="*", content_type=MERGE)
    assert done.status == 200, done.body
    client.windows.refresh()
    assert closes(client, "south") == ["2026-12-18T11:10:00+01:00"]


@pytest.mark.parametrize("broken", [False, True])
def test_hours_that_nobody_knows_are_not_said(
    serve: Serve,
    repository: Path,
    git: Git,
    render: Any,  # noqa: ANN401
    broken: bool,  # noqa: FBT001
) -> None:
    """An answer would call open what is about to close."""
    if broken:
        render("clusters/windows", "--resources", "clusters")
        (repository / "clusters/broken.yaml").write_text("a: [\n")
    closing_early(repository, git, {"clusters": "20m"})
    client = serve(renew=rendered.renew)
    for what in ("state", "calendar"):
        answer = client.ask("GET", f"{POLICY_PATH}/{what}?cluster=north")
        assert answer.status == 409
        said = answer.json()
        if broken:
            assert said["detail"].startswith("clusters/broken.yaml:")
        else:
            assert [each["rule"] for each in said["findings"]] == ["timeout-unknown"]


def test_a_target_that_another_policy_gates_is_given_up(
    serve: Serve, git: Git, repository: Path
) -> None:
    """Nothing has to be released of it, on the clusters where that policy gates it."""
    policy = repository / "clusters/week.yaml"
    policy.write_text(policy.read_text().replace("[apps]", "[apps, infra]"))
    other = policy.read_text().partition("---")[0].replace("name: week", "name: other")
    other = other.replace("[apps, infra]", "[infra]")
    (repository / "clusters/other.yaml").write_text(other.replace("    north: {}\n", ""))
    git("add", ".")
    git("commit", "--quiet", "--message=both")
    client = serve(renew=rendered.renew)
    give_up = {"spec": {"targets": [{"kind": "Kustomization", "names": ["apps"]}]}}
    done = client.ask("PATCH", POLICY_PATH, give_up, if_match="*", content_type=MERGE)
    rules = {each["rule"] for each in done.json()["findings"] if each["severity"] == "error"}
    assert (done.status, rules) == (422, {"target-dropped"})
    (repository / "clusters/other.yaml").write_text(other)
    git("commit", "--quiet", "--all", "--message=north, too")
    done = client.ask("PATCH", POLICY_PATH, give_up, if_match="*", content_type=MERGE)
    assert done.status == 200
