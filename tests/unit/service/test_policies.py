"""Which policies a repository has, and what becomes of files that cannot be read."""

from pathlib import Path
from typing import Any

import pytest

from krm_windows.service.policies import Place

Serve = Any
Git = Any
Commit = Any
# The name can be read, and the syntax is right, but the spec refers to what is not there.
DOUBTFUL = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: doubtful, namespace: flux-system}
spec: {timeZone: Etc/UTC, windows: *missing}
"""


@pytest.mark.parametrize(
    ("rest", "said"), [("  : [\n", "line 4"), ("", "*missing has no anchor")], ids=["yaml", "alias"]
)
def test_a_file_that_cannot_be_read_is_named(
    rest: str, said: str, serve: Serve, commit: Commit
) -> None:
    commit({"clusters/broken.yaml": DOUBTFUL + rest})
    found = serve().ask("GET", "/policies").json()
    assert [each["name"] for each in found["policies"]] == ["week"]
    [unreadable] = found["unreadable"]
    assert unreadable["file"] == "clusters/broken.yaml"
    assert said in unreadable["detail"]


def test_a_mapping_that_is_no_object_loses_no_policy(serve: Serve, commit: Commit) -> None:
    policy = DOUBTFUL.replace("*missing", "{}")
    others = ("values: {a: b}", "values:\n  a: b", "{a: b}", "{}", "metadata: {name: other}")
    for number, other in enumerate(others):
        text = policy.replace("doubtful", f"beside-{number}")
        commit({f"clusters/beside-{number}.yaml": f"{other}\n---\n{text}---\n{other}\n"})
    found = serve().ask("GET", "/policies").json()
    assert found["unreadable"] == []
    assert len(found["policies"]) == len(others) + 1


def test_what_others_commit_is_seen(
    serve: Serve, repository: Path, git: Git, commit: Commit
) -> None:
    client = serve()
    text = (repository / "clusters/week.yaml").read_text()

    def names() -> list[str]:
        client.windows.refresh()
        return [each["name"] for each in client.ask("GET", "/policies").json()["policies"]]

    for name in ("other", "third"):
        commit({"clusters/other.yaml": text.replace("name: week", f"name: {name}")})
        assert names() == sorted([name, "week"])
    git("mv", "clusters/other.yaml", "moved.yaml")
    (repository / "clusters/link.yaml").symlink_to("week.yaml")
    git("add", ".")
    git("commit", "--quiet", "--message=move")
    assert names() == ["third", "week"]
    assert client.windows.snapshot.one(Place("flux-system", "third")).file == "moved.yaml"
    git("rm", "--quiet", "moved.yaml")
    names_of = {f"many-{number}.yaml": f"name: many-{number}" for number in range(300)}
    commit({file: text.replace("name: week", name) for file, name in names_of.items()})
    assert len(names()) == 301
    git("reset", "--quiet", "--hard", "HEAD~1")
    git("reflog", "expire", "--expire=now", "--all")
    git("gc", "--quiet", "--prune=now")
    assert names() == ["third", "week"]


def test_a_change_of_its_own_is_what_git_has(
    serve: Serve, repository: Path, git: Git, commit: Commit
) -> None:
    """What is kept after a write is what another service reads from the commit."""
    text = (repository / "clusters/week.yaml").read_text()
    commit({"clusters/same.yaml": text})
    commit({"clusters/other.yaml": text.replace("name: week", "name: other")})
    client = serve()
    later = {"spec": {"windows": {"week": {"closes": "Fri 12:00"}}}}
    path = "/policies/flux-system"
    for target in (f"{path}/week?file=clusters/week.yaml", f"{path}/other"):
        assert client.patch(target, later).status == 200
    assert client.ask("DELETE", f"{path}/other", if_match="*").status == 200
    mine, theirs = client.windows.snapshot, serve().windows.snapshot
    assert mine.commit == theirs.commit == git("rev-parse", "HEAD").strip()
    assert mine.parsed.keys() == theirs.parsed.keys()
    assert list(mine.policies) == list(theirs.policies)
    for one, other in zip(mine.every(), theirs.every(), strict=True):
        assert (one.title, one.file, one.blob) == (other.title, other.file, other.blob)
        assert one.config.span == other.config.span


def test_a_cluster_may_refer_to_another(serve: Serve, repository: Path, commit: Commit) -> None:
    text = (repository / "clusters/week.yaml").read_text()
    text = text.replace("north: {}", "north: &north {windows: {week: {opens: Mon 9:00}}}")
    commit({"clusters/week.yaml": text.replace("    south:\n", "    east: *north\n    south:\n")})
    client = serve()
    [stored] = client.windows.snapshot.every()
    assert client.windows.evaluator.clusters(stored) == ("north", "east", "south")
    # Open at 8:30 in the others.
    for cluster in ("north", "east"):
        target = f"/policies/flux-system/week/state?cluster={cluster}&at=2026-12-14T07:30:00Z"
        assert client.ask("GET", target).json()["open"] is False


@pytest.mark.parametrize(("query", "differing"), [("", ["south"]), ("?cluster=north", [])])
def test_hours_of_no_cluster_name_those_that_may_have_others(
    query: str, differing: list[str], serve: Serve
) -> None:
    client = serve()
    for answer in ("state", "pending", "calendar"):
        found = client.ask("GET", f"/policies/flux-system/week/{answer}{query}").json()
        assert found["clustersMayDiffer"] == differing, answer
    drawn = client.ask("GET", f"/policies/flux-system/week/calendar{query}", accept="text/calendar")
    assert (b"without a cluster\\; south may differ" in drawn.body) is bool(differing)
