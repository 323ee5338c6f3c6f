"""What is said to be none is known to be none: each such sentence, and where nobody knows it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import APPS, POLICY, SYNC, Run
from live import CLOSED, live
from past import Past

AT = "2026-11-20T12:00Z"
REVISION = f"main@sha1:{'a' * 40}"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\n"
JOB = {"kind": "Job", "apiVersion": "batch/v1", "metadata": {}}
Change = Callable[[Past], None]


def target(applied: str = REVISION) -> dict[str, object]:
    return live(suspend=True, applied=applied)


def source(revision: str = REVISION) -> dict[str, object]:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "fleet", "namespace": "flux-system"},
        "status": {"artifact": {"revision": revision}},
    }


def objects(*items: object) -> Change:
    content = "\n".join(map(json.dumps, items))
    return lambda past: past.write({"objects.json": content})


def committed(past: Past) -> None:
    past.commit("2026-01-01T00:00Z", {"policy.yaml": POLICY})
    sync = f"{SYNC}---\n{APPS}"
    past.commit(AT, {"clusters/north/sync.yaml": sync, "apps/map.yaml": MAP})
    past.commit(AT, {"README.md": "hello\n"})


def shallow(past: Past) -> None:
    committed(past)
    past.write({".git/shallow": f"{past('rev-parse', 'HEAD~1')}\n"})


def broken(past: Past) -> None:
    """Commit the same where what is gated cannot be built: it may read any file."""
    past.write({"apps/kustomization.yaml": "resources: [map.yaml, ../elsewhere]\n"})
    committed(past)


def applied(revision: str) -> Change:
    def write(past: Past) -> None:
        committed(past)
        old = revision and f"main@sha1:{past('rev-parse', revision)}"
        head = f"main@sha1:{past('rev-parse', 'HEAD')}"
        objects(target(old), source(head))(past)

    return write


def others(past: Past) -> None:
    committed(past)
    past.commit(AT, {"README.md": "more\n"})


def merged_shallow(past: Past) -> None:
    """Lack the first commit of the branch, which is the one that matters."""
    committed(past)
    past("checkout", "--quiet", "-b", "branch")
    past.commit(AT, {"apps/map.yaml": f"{MAP}data: {{a: b}}\n"})
    past.commit(AT, {"README.md": "more\n"})
    past("checkout", "--quiet", "main")
    past("merge", "--quiet", "--no-ff", "--message=Merge", "branch")
    past.write({".git/shallow": f"{past('rev-parse', 'branch')}\n"})


@pytest.fixture
def past(
    run: Run, tool: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Past:
    assert run
    made = Past(tool("git"), tmp_path / "fleet")
    made.write({"policy.yaml": POLICY})
    monkeypatch.chdir(made.top)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return made


SAME, ALONE = objects(target(), source()), objects(target())
PENDING = f"pending policy.yaml -f objects.json --at {CLOSED}"
FILES = "pending policy.yaml --repo . --base HEAD~1 --clusters clusters/*"
HISTORY = "history policy.yaml --repo . --from 2025-12-31 --until 2026-12-01"
# A call, what it says where that is known, and what it says instead where it is not.
STATEMENTS = [
    (PENDING, "apps: nothing waits", SAME, "apps: unknown", ALONE),
    (f"{PENDING} -o markdown", "- nothing waits for", SAME, "** unknown", ALONE),
    (f"{PENDING} -o json", '"pending": false', SAME, '"pending": null', ALONE),
    (
        f"{PENDING} --repo .",
        "apps: only the revision is new",
        applied("HEAD~1"),
        "nothing was applied before, so all commits are new",
        applied(""),
    ),
    (
        FILES,
        "apps: nothing waits",
        others,
        "commits may be missing, as the clone is shallow",
        merged_shallow,
    ),
    (f"status {PENDING[8:]}", "  never\n", objects(target(), JOB), "  unknown\n", ALONE),
    (
        HISTORY,
        "no policy: nothing is",
        committed,
        "what was before 2026-11-20 12:00Z is unknown",
        shallow,
    ),
    (
        "merge-gate policy.yaml --base HEAD~1 --head HEAD",
        "changes nothing that a window gates",
        committed,
        "",
        broken,
    ),
]


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("is_known", [True, False])
def test_what_is_said_to_be_none_is_known(
    statement: tuple[str, str, Change, str, Change], past: Past, run: Run, *, is_known: bool
) -> None:
    call, words, known, instead, unknown = statement
    (known if is_known else unknown)(past)
    shown = "".join(run(*call.split())[1:])
    assert (words in shown) is is_known, shown
    assert is_known or instead in shown, shown
