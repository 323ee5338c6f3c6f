"""Which policies a repository has, and what becomes of files that cannot be read."""

from pathlib import Path
from typing import Any

Serve = Any
Git = Any
# The name can be read, and the syntax is right, but the spec refers to what is not there.
DOUBTFUL = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: doubtful, namespace: flux-system}
spec: {timeZone: Etc/UTC, windows: *missing}
"""


def commit(repository: Path, git: Git, name: str, text: str) -> None:
    """Commit a file beside the policy."""
    (repository / "clusters" / name).write_text(text)
    git("add", ".")
    git("commit", "--quiet", "--message=more")


def test_a_file_that_is_no_yaml_is_named(serve: Serve, repository: Path, git: Git) -> None:
    """With what is wrong in it; the others are served."""
    commit(repository, git, "broken.yaml", DOUBTFUL + "  : [\n")
    found = serve().ask("GET", "/policies").json()
    assert [each["name"] for each in found["policies"]] == ["week"]
    [unreadable] = found["unreadable"]
    assert unreadable["file"] == "clusters/broken.yaml"
    assert "line 4" in unreadable["detail"]


def test_a_policy_that_cannot_be_read_as_a_whole_is_a_conflict(
    serve: Serve, repository: Path, git: Git
) -> None:
    """It has a name, so it is listed; whoever asks for its hours is told why there are none."""
    commit(repository, git, "doubtful.yaml", DOUBTFUL)
    client = serve()
    listed = client.ask("GET", "/policies").json()["policies"]
    assert [each["name"] for each in listed] == ["doubtful", "week"]
    for what in ("state", "calendar"):
        answer = client.ask("GET", f"/policies/flux-system/doubtful/{what}")
        assert answer.status == 409
        assert answer.json()["detail"].startswith("clusters/doubtful.yaml")
