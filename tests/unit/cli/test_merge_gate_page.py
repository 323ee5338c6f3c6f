"""The commands of the page about the merge gate, run by a shell as they stand."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from calls import POLICY
from committed import MAP, Repository
from effort import mostly_slow
from forges import TOKEN, Pull, Server, serving

PAGE = Path(__file__).resolve().parents[3] / "docs/how-to/gate-the-merge.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
OPEN, CLOSED = "Open", "Closed"
# The commits of open changes.
GATED, FREE = "gated", "free"
# Of the commit that the queue and the train are about.
IT = "it"


@dataclass(frozen=True)
class Run:
    words: str
    state: str
    code: int
    statuses: dict[str, str] = field(default_factory=dict)
    merged: tuple[int, ...] = ()
    config: str = ""
    """What the file of `--config` has."""


PATHS = "paths: [apps/*, infra/*]\n"
MERGE = "merge: true\n"
RUNS = [
    Run("github --repo acme/fleet\n", CLOSED, 0, {GATED: "pending", FREE: "success"}),
    Run("--forge gitlab", CLOSED, 0, {GATED: "pending", FREE: "success"}, config=PATHS),
    Run("--event", CLOSED, 10, {IT: "failure"}),
    Run("--event", OPEN, 0, {IT: "success"}),
    Run("CI_COMMIT_SHA", CLOSED, 10),
    Run("--forge gitea", OPEN, 0, {GATED: "success", FREE: "success"}, (1,), MERGE),
]


def test_every_command_of_the_page_is_run() -> None:
    assert BLOCKS
    for block in BLOCKS:
        assert sum(words in block for words in {run.words for run in RUNS}) == 1, block


@pytest.mark.parametrize(
    "run", mostly_slow(RUNS, 6), ids=lambda run: f"{run.words.strip()} {run.state}"
)
def test_a_command_of_the_page_does_what_the_page_says(
    run: Run, tmp_path: Path, tool: Callable[[str], Path]
) -> None:
    [block] = [each for each in BLOCKS if run.words in each]
    [kind] = re.findall(r"--forge (\w+)", block) or ["github"]
    [name] = re.findall(r"--repo (\S+)", block) or ["acme/fleet"]
    repository = Repository(tmp_path / "fleet", tool("git"))
    state = f"spec:\n  state: {run.state}\n"
    open_changes = {
        FREE: repository.commit({"docs/page.md": "A page\n"}),
        GATED: repository.commit({"apps/map.yaml": MAP.replace("web", "gated")}),
    }
    repository.checkout(repository.base)
    base = repository.commit({"windows/policy.yaml": POLICY.replace("spec:\n", state)})
    clone = repository.cloned(tmp_path / "clone")
    if run.config:
        (clone / ".github").mkdir()
        (clone / ".github/merge-gate.yaml").write_text(run.config)
    sha = repository.commit({"apps/map.yaml": MAP.replace("web", "net")})
    # A queue and a train have checked it out.
    if "--event" in block or "CI_COMMIT_SHA" in block:
        clone = repository.folder
    commits = {**open_changes, IT: sha}
    pulls = (
        Pull(1, commits[GATED], ("apps/map.yaml",), ("window:week",)),
        Pull(2, commits[FREE], ("docs/page.md",)),
    )
    with serving(kind, *pulls) as server:
        server.repository = name
        done = subprocess.run(
            ["bash", "-euc", shown(block, server)],
            cwd=clone,
            env=environment(server, tmp_path, base, sha),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == run.code, done.stderr
    found = {commit: said[-1]["state"] for commit, said in server.statuses.items()}
    assert found == {commits[name]: what for name, what in run.statuses.items()}
    assert tuple(number for number, _ in server.merged) == run.merged
    assert TOKEN not in done.stdout + done.stderr


def shown(block: str, server: Server) -> str:
    return block.replace("…", TOKEN).replace("https://gitea.example/api/v1", server.address)


def environment(server: Server, folder: Path, base: str, sha: str) -> dict[str, str]:
    group = {
        "head_sha": sha,
        "head_ref": f"refs/heads/gh-readonly-queue/main/pr-1-{base}",
        "base_sha": base,
        "base_ref": "refs/heads/main",
    }
    event = folder / "event.json"
    event.write_text(json.dumps({"action": "checks_requested", "merge_group": group}))
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        f"{server.kind.upper()}_TOKEN": TOKEN,
        "GITHUB_API_URL": server.address,
        "CI_API_V4_URL": server.address,
        "GITHUB_EVENT_PATH": str(event),
        "CI_COMMIT_SHA": sha,
        "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": base,
    }
