"""A repository with a policy, and what Flux applies of it; tests commit changes to it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from calls import POLICY

FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: flux-system}
spec: {interval: 10m, path: ./%s, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: default}\n"


CLUSTER = {
    "clusters/north/apps.yaml": FLUX % ("apps", "apps"),
    "clusters/north/sync.yaml": FLUX % ("flux-system", "clusters/north"),
    # Read as applied: it gates the Kustomization of its cluster.
    "clusters/north/policy.yaml": POLICY.replace(
        "metadata:\n", "metadata:\n  annotations: {config.kubernetes.io/local-config: 'true'}\n"
    ),
    "apps/map.yaml": MAP,
}


class Repository:
    def __init__(self, folder: Path, git: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self._git = git
        self._run("init", "--quiet")
        self.base = self.commit({"windows/policy.yaml": POLICY, **CLUSTER, "README.md": "Fleet\n"})

    def commit(self, files: dict[str, str]) -> str:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._run("add", "--all")
        self._run("commit", "--quiet", "--message", "change")
        return self._run("rev-parse", "HEAD").strip()

    def cloned(self, place: Path) -> Path:
        self._run("branch", "--force", "main")
        how = ("--quiet", "--no-local", "--single-branch", "--branch", "main")
        self._run("clone", *how, ".", place)
        return place

    def branch(self, name: str, commit: str) -> None:
        self._run("branch", "--force", name, commit)

    def orphan(self) -> str:
        return self.merge("HEAD")

    def merge(self, files: str, *parents: str) -> str:
        before = [word for each in parents for word in ("-p", each)]
        return self._run("commit-tree", "-m", "merge", *before, f"{files}^{{tree}}").strip()

    def submodule(self, path: str, commit: str) -> str:
        self._run("update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
        self._run("commit", "--quiet", "--message", "submodule")
        return self._run("rev-parse", "HEAD").strip()

    def checkout(self, commit: str) -> None:
        self._run("checkout", "--quiet", "--detach", commit)

    def _run(self, *command: str | Path) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        done = subprocess.run(
            [self._git, "-C", self.folder, *who, *command],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout


def put_under_git(folder: Path, program: Path) -> Callable[..., str]:
    def git(*arguments: str) -> str:
        command = [str(program), "-C", str(folder), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    git("init", "--quiet", "--initial-branch=main")
    git("config", "user.name", "Ada")
    git("config", "user.email", "ada@example.com")
    git("add", ".")
    git("commit", "--quiet", "--message=first")
    return git
