"""A repository with a policy, and the application that serves it, asked without a network."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import pytest
from starlette.types import ASGIApp

from krm_windows.cli import rendered
from krm_windows.service import application
from krm_windows.service.access import EVERYTHING, Access, Caller, Ways
from krm_windows.service.log import Log
from krm_windows.service.rendering import Renew
from krm_windows.service.settings import Settings
from krm_windows.service.windows import Windows
from krm_windows.system.git_branch import Person

POLICY = """\
# Ours.
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: week # the name
  namespace: flux-system
spec:
  timeZone: Europe/Berlin
  targets: [{kind: Kustomization, names: [apps]}]
  windows:
    week: {opens: Mon 08:00, closes: Thu 17:00} # no deploys on Fridays
  clusters:
    north: {}
    south:
      windows:
        week: {opens: Tue 08:00}
---
# Another object.
kind: ConfigMap
apiVersion: v1
metadata: {name: other}
"""
Git = Callable[..., str]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "clusters").mkdir(parents=True)
    (folder / "clusters/week.yaml").write_text(POLICY)
    return folder


# What reads commits alone, and needs no files beside them.
READING = ("cat-file", "fsck", "log", "ls-remote", "rev-list", "rev-parse", "show")


@pytest.fixture(scope="session")
def committed(tool: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Git keeps of one commit of the policy: a copy of it is quicker than a commit."""
    folder = tmp_path_factory.mktemp("committed")
    (folder / "clusters").mkdir()
    (folder / "clusters/week.yaml").write_text(POLICY)
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", "Operator"),
        ("config", "user.email", "operator@example.com"),
        ("add", "."),
        ("commit", "--quiet", "--message=first"),
        ("checkout", "--quiet", "--detach"),
    ):
        subprocess.run([str(tool("git")), "-C", str(folder), *words], check=True)
    return folder / ".git"


@pytest.fixture
def git(repository: Path, tool: Callable[[str], Path], committed: Path) -> Git:
    """Git in the repository, with `main` checked out while it runs: only then has it files."""
    program = tool("git")

    def plain(*arguments: str) -> str:
        command = [str(program), "-C", str(repository), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def run(*arguments: str) -> str:
        if arguments[0] in READING:
            head = repository / ".git/HEAD"
            before = head.read_text()
            head.write_text("ref: refs/heads/main\n")
            found = plain(*arguments)
            head.write_text(before)
            return found
        plain("checkout", "--quiet", "main")
        try:
            return plain(*arguments)
        finally:
            plain("checkout", "--quiet", "--detach")

    shutil.copytree(committed, repository / ".git")
    if len(list(repository.glob("*/*.yaml"))) > 1:
        run("add", ".")
        run("commit", "--quiet", "--amend", "--no-edit")
    return run


@pytest.fixture
def commit(repository: Path, git: Git) -> Callable[..., str]:
    def made(files: Mapping[str, str], message: str = "more") -> str:
        for path, text in files.items():
            (repository / path).parent.mkdir(parents=True, exist_ok=True)
            (repository / path).write_text(text)
        git("add", ".")
        git("commit", "--quiet", f"--message={message}")
        return git("rev-parse", "HEAD").strip()

    return made


@pytest.fixture
def remote(git: Git, repository: Path, tmp_path: Path) -> Path:
    place = tmp_path / "remote.git"
    git("clone", "--quiet", "--bare", str(repository), str(place))
    git("remote", "add", "origin", str(place))
    return place


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def tag(self) -> str:
        return self.headers["etag"]

    def json(self) -> Any:  # noqa: ANN401 - whatever it is
        return json.loads(self.body)


@dataclass(frozen=True)
class Client:
    application: ASGIApp
    windows: Windows

    def ask(self, method: str, target: str, body: bytes | object = b"", **headers: str) -> Answer:
        sent = {name.replace("_", "-"): text for name, text in headers.items()}
        if not isinstance(body, bytes):
            sent.setdefault("content-type", "application/json")
            body = json.dumps(body).encode()
        return asyncio.run(self._asked(method, target, body, sent))

    def patch(self, target: str, body: object, **headers: str) -> Answer:
        sent = {"if_match": "*", "content_type": "application/merge-patch+json", **headers}
        return self.ask("PATCH", target, body, **sent)

    async def _asked(
        self, method: str, target: str, body: bytes, headers: Mapping[str, str]
    ) -> Answer:
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [
                (name.lower().encode(), text.encode())
                for name, text in {"host": "127.0.0.1", **headers}.items()
            ],
            "client": ("127.0.0.1", 40000),
            "server": ("127.0.0.1", 80),
        }
        parts = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)
            return parts.pop() if parts else {"type": "http.disconnect"}

        async def send(message: Any) -> None:  # noqa: ANN401 - ASGI's
            await asyncio.sleep(0)
            sent.append(message)

        await self.application(cast("Any", scope), cast("Any", receive), send)
        found = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
        return Answer(
            sent[0]["status"], found, b"".join(part.get("body", b"") for part in sent[1:])
        )


ADA = Caller("ada", Person("Ada", "ada@example.com"), EVERYTHING)
Serve = Callable[..., Client]


class Timed(Windows):
    time: datetime | None = None

    def now(self) -> datetime:
        return self.time or super().now()


@pytest.fixture
def serve(repository: Path, git: Git) -> Serve:
    assert git

    def start(
        caller: Caller | None = ADA,
        at: datetime | None = None,
        renew: Renew | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> Client:
        found = Settings(repo=repository, **{"branch": "main", **settings})
        windows = Timed(found, renew, rendered.resources)
        windows.time = at
        return Client(application.make(windows, Access(Ways(anonymous=caller))), windows)

    return start


@pytest.fixture
def started(serve: Serve) -> Serve:
    def start(ways: Ways, lines: list[dict[str, Any]]) -> Client:
        log = Log(lambda line: lines.append(dict(line)))
        windows, access = serve().windows, Access(ways, log=log)
        if access.keys is not None:
            access.keys.refresh()
        return Client(application.make(windows, access, log), windows)

    return start


@pytest.fixture
def client(serve: Serve) -> Client:
    return serve()
