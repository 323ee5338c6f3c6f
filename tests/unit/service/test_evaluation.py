"""What is kept of what was asked has a bound, and each cluster has its own answer."""

from pathlib import Path
from typing import Any

Serve = Any
Git = Any
MANY = 300


def fleet(repository: Path, git: Git) -> None:
    """Commit a policy of many clusters, one of which is wrong."""
    path = repository / "clusters/week.yaml"
    head, _, _ = path.read_text().partition("  clusters:\n")
    names = "".join(f"    c{number}: {{}}\n" for number in range(MANY))
    path.write_text(f"{head}  clusters:\n    wrong: {{windows: {{week: {{opens: Xri}}}}}}\n{names}")
    git("commit", "--quiet", "--all", "--message=fleet")


def test_a_question_reads_the_patch_of_its_cluster(
    serve: Serve, repository: Path, git: Git
) -> None:
    """A fleet answers for each, and says what is wrong with the one that is."""
    fleet(repository, git)
    client = serve()
    [stored] = client.windows.snapshot.every()
    names = ("wrong", *(f"c{number}" for number in range(MANY)))
    assert client.windows.evaluator.clusters(stored) == names
    for _ in range(2):
        for cluster in ("c0", f"c{MANY - 1}"):
            for what in ("state", "calendar"):
                target = f"/policies/flux-system/week/{what}?cluster={cluster}"
                answer = client.ask("GET", target)
                assert answer.status == 200, answer.body
                assert answer.json()["cluster"] == cluster
        wrong = client.ask("GET", "/policies/flux-system/week/state?cluster=wrong")
        assert wrong.status == 409
        [finding] = wrong.json()["findings"]
        assert finding["field"]["path"] == "spec.clusters.wrong.windows.week.opens"
        missing = client.ask("GET", "/policies/flux-system/week/state?cluster=west")
        assert missing.status == 404


def test_a_cluster_may_refer_to_another(serve: Serve, repository: Path, git: Git) -> None:
    """An anchor in one place and an alias in another."""
    path = repository / "clusters/week.yaml"
    text = path.read_text().replace(
        "north: {}", "north: &north {windows: {week: {opens: Mon 9:00}}}"
    )
    path.write_text(text.replace("    south:\n", "    east: *north\n    south:\n"))
    git("commit", "--quiet", "--all", "--message=alias")
    client = serve()
    [stored] = client.windows.snapshot.every()
    assert client.windows.evaluator.clusters(stored) == ("north", "east", "south")
    at = "at=2026-12-14T07:30:00Z"
    found = {
        cluster: client.ask(
            "GET", f"/policies/flux-system/week/state?cluster={cluster}&{at}"
        ).json()
        for cluster in ("north", "east")
    }
    assert {cluster: each["open"] for cluster, each in found.items()} == {
        "north": False,
        "east": False,
    }
