"""What is said to be none is known to be none: each such sentence, and where nobody knows it.

A row has a situation in which a sentence is true, and changes of it after which nobody can know.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from calls import POLICY
from past import Past

from krm_windows.cli import main

AT = "2026-11-20T12:00Z"
REVISION = f"main@sha1:{'a' * 40}"
KUSTOMIZATION: dict[str, Any] = {
    "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
    "kind": "Kustomization",
    "metadata": {"name": "apps", "namespace": "flux-system", "generation": 2},
    "spec": {"suspend": True, "sourceRef": {"kind": "GitRepository", "name": "fleet"}},
    "status": {"lastAppliedRevision": REVISION},
}
SOURCE: dict[str, Any] = {
    "apiVersion": "source.toolkit.fluxcd.io/v1",
    "kind": "GitRepository",
    "metadata": {"name": "fleet", "namespace": "flux-system", "generation": 1},
    "spec": {},
    "status": {"artifact": {"revision": REVISION}, "observedGeneration": 1},
}
RELEASE: dict[str, Any] = {
    "apiVersion": "helm.toolkit.fluxcd.io/v2",
    "kind": "HelmRelease",
    "metadata": {"name": "apps", "namespace": "flux-system"},
    "spec": {"suspend": True, "chartRef": {"kind": "OCIRepository", "name": "fleet"}},
    "status": {"history": [{"ociDigest": f"sha256:{'a' * 64}", "status": "deployed"}]},
}
CHART: dict[str, Any] = {
    **SOURCE,
    "kind": "OCIRepository",
    "status": {"artifact": {"revision": f"1.0.0@sha256:{'a' * 64}"}, "observedGeneration": 1},
}
RELEASED = POLICY.replace("kind: Kustomization", "kind: HelmRelease")
SYNC = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/north, prune: true, sourceRef: {kind: GitRepository, name: fleet}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: fleet}}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\n"
Change = Callable[[Past], None]


@dataclass(frozen=True)
class Statement:
    """A sentence (`words`), the call that says it, and what is said where nobody knows it."""

    call: str
    words: str
    instead: str
    known: Change
    unknown: dict[str, Change] = field(default_factory=dict)


def objects(*items: object) -> Change:
    """Return what writes the objects of a cluster, as kubectl prints them."""
    content = "\n".join(map(json.dumps, items))
    return lambda past: past.write({"objects.json": content})


def changed(item: dict[str, Any], **parts: dict[str, Any]) -> dict[str, Any]:
    """Return an object with other fields in some of its parts."""
    return {**item, **{part: {**item[part], **fields} for part, fields in parts.items()}}


def released(*items: object) -> Change:
    """Return the same, where the target is a HelmRelease."""

    def write(past: Past) -> None:
        past.write({"policy.yaml": RELEASED})
        objects(*items)(past)

    return write


def committed(past: Past) -> None:
    """Commit the policy, what it gates, and a change of something else."""
    past.commit("2026-01-01T00:00Z", {"policy.yaml": POLICY})
    past.commit(AT, {"clusters/north/sync.yaml": SYNC, "apps/map.yaml": MAP})
    past.commit(AT, {"README.md": "hello\n"})


def shallow(past: Past) -> None:
    """Leave the last two commits, as `git clone --depth 2` does."""
    committed(past)
    past.write({".git/shallow": f"{past('rev-parse', 'HEAD~1')}\n"})


def broken(past: Past) -> None:
    """Commit the same where what is gated cannot be built: it may read any file."""
    kustomization = "resources: [map.yaml, ../elsewhere]\n"
    past.write({"apps/kustomization.yaml": kustomization})
    committed(past)


def applied(revision: str) -> Change:
    """Return what commits, and writes objects of which one has applied a revision."""

    def write(past: Past) -> None:
        committed(past)
        head = f"main@sha1:{past('rev-parse', 'HEAD')}"
        old = revision and f"main@sha1:{past('rev-parse', revision)}"
        source = changed(SOURCE, status={"artifact": {"revision": head}})
        objects(changed(KUSTOMIZATION, status={"lastAppliedRevision": old}), source)(past)

    return write


def others(past: Past) -> None:
    """Commit a change of something else."""
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


NOT_READY = {"conditions": [{"type": "Ready", "status": "False"}]}
SAME = objects(KUSTOMIZATION, SOURCE)
NOT_KNOWN_TO_WAIT = {
    "target missing": objects(SOURCE),
    "source missing": objects(KUSTOMIZATION),
    "source not fetched": objects(KUSTOMIZATION, changed(SOURCE, status=NOT_READY)),
    "source edited": objects(KUSTOMIZATION, changed(SOURCE, metadata={"generation": 2})),
    "source suspended": objects(KUSTOMIZATION, changed(SOURCE, spec={"suspend": True})),
    "substitutions": objects(
        changed(KUSTOMIZATION, spec={"postBuild": {"substituteFrom": [{"name": "a"}]}}), SOURCE
    ),
}
PENDING = "pending policy.yaml -f objects.json --at 2026-11-21T10:00Z"
STATEMENTS = {
    "text": Statement(PENDING, "apps: nothing waits", "apps: unknown", SAME, NOT_KNOWN_TO_WAIT),
    "markdown": Statement(
        f"{PENDING} -o markdown", "- nothing waits for", "** unknown", SAME, NOT_KNOWN_TO_WAIT
    ),
    "JSON": Statement(
        f"{PENDING} -o json", '"pending": false', '"pending": null', SAME, NOT_KNOWN_TO_WAIT
    ),
    "release": Statement(
        PENDING,
        "apps: nothing waits",
        "apps: unknown",
        released(RELEASE, CHART),
        {
            "values": released(changed(RELEASE, spec={"valuesFrom": [{"name": "a"}]}), CHART),
            "chart not fetched": released(RELEASE, changed(CHART, status=NOT_READY)),
        },
    ),
    "commits": Statement(
        f"{PENDING} --repo .",
        "apps: only the revision is new",
        "nothing was applied before, so all commits are new",
        applied("HEAD~1"),
        {"never applied": applied("")},
    ),
    "files": Statement(
        "pending policy.yaml --repo . --base HEAD~1 --clusters clusters/*",
        "apps: nothing waits",
        "commits may be missing, as the clone is shallow",
        others,
        {"shallow": merged_shallow},
    ),
    "runs": Statement(
        f"status {PENDING.removeprefix('pending ')}",
        "  never\n",
        "  unknown\n",
        objects(KUSTOMIZATION, {"kind": "Job", "apiVersion": "batch/v1", "metadata": {}}),
        {"no Jobs were read": objects(KUSTOMIZATION)},
    ),
    "policy": Statement(
        "history policy.yaml --repo . --from 2025-12-31 --until 2026-12-01",
        "no policy: nothing is gated",
        "what was before 2026-11-20 12:00Z is unknown",
        committed,
        {"shallow": shallow},
    ),
    "gated": Statement(
        "merge-gate policy.yaml --base HEAD~1 --head HEAD",
        "changes nothing that a window gates",
        "",
        committed,
        {"not built": broken},
    ),
}


def situations() -> Iterator[tuple[Statement, Change, bool]]:
    """Yield each situation, and whether the sentence is known to be true in it."""
    for each in STATEMENTS.values():
        yield each, each.known, True
        for change in each.unknown.values():
            yield each, change, False


def names() -> Sequence[str]:
    """Name the situations."""
    found: list[str] = []
    for name, each in STATEMENTS.items():
        found += (name, *(f"{name}: {why}" for why in each.unknown))
    return found


@pytest.fixture
def past(tool: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Past:
    """A repository with a policy, which is the current directory."""
    made = Past(tool("git"), tmp_path / "fleet")
    made.write({"policy.yaml": POLICY})
    monkeypatch.chdir(made.top)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return made


@pytest.mark.parametrize(("statement", "make", "known"), list(situations()), ids=names())
def test_what_is_said_to_be_none_is_known(
    statement: Statement,
    make: Change,
    past: Past,
    capsys: pytest.CaptureFixture[str],
    *,
    known: bool,
) -> None:
    """And where it is not, another sentence is said."""
    make(past)
    main(statement.call.split())
    shown = "".join(capsys.readouterr())
    assert (statement.words in shown) is known, shown
    assert known or statement.instead in shown, shown
