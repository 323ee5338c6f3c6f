"""A real Gitea on loopback, with SQLite, as `.ci/setup` builds it.

It has a clock of its own, which nothing here turns: what depends on an instant is decided by ours.
"""

import base64
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import urllib3

Json = object
HANG = 60.0
"""Seconds. Nothing here takes as long, on a busy machine either."""
OWNER = "acme"
_PASSWORD = secrets.token_hex(16)
SETTINGS = """\
RUN_MODE = prod
WORK_PATH = {folder}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
STATIC_ROOT_PATH = {static}
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
[security]
INSTALL_LOCK = true
SECRET_KEY = {secret}
PASSWORD_HASH_ALGO = pbkdf2$1$50
[indexer]
ISSUE_INDEXER_TYPE = db
[log]
LEVEL = Warn
[api]
MAX_RESPONSE_ITEMS = 5
[actions]
ENABLED = false
[packages]
ENABLED = false
"""


class GiteaError(Exception):
    """Gitea did not start, or did not do what a test asked it to prepare."""


@dataclass
class Gitea:
    address: str
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def api(self) -> str:
        return f"{self.address}/api/v1"

    def ask(
        self, method: str, path: str, content: Json = None, *, user: str = OWNER
    ) -> tuple[int, Json]:
        return self._ask(method, path, content, f"token {self.tokens[user]}")

    def call(self, method: str, path: str, content: Json = None, *, user: str = OWNER) -> Json:
        return _checked(path, self.ask(method, path, content, user=user))

    def token(self, user: str, *scopes: str) -> str:
        """Make a token of a user with some rights, which only the password may do."""
        pair = base64.b64encode(f"{user}:{_PASSWORD}".encode()).decode()
        content = {"name": secrets.token_hex(4), "scopes": list(scopes)}
        path = f"users/{user}/tokens"
        return _checked(path, self._ask("POST", path, content, f"Basic {pair}"))["sha1"]

    def user(self, name: str) -> None:
        content = {"username": name, "email": f"{name}@forge.test", "password": _PASSWORD}
        self.call("POST", "admin/users", {**content, "must_change_password": False})
        self.tokens[name] = self.token(name, "all")

    def repository(self) -> "Repository":
        name = f"fleet-{secrets.token_hex(4)}"
        content = {"name": name, "auto_init": True, "default_branch": "main"}
        self.call("POST", "user/repos", content)
        return Repository(self, name)

    def _ask(self, method: str, path: str, content: Json, by: str) -> tuple[int, Json]:
        answer = urllib3.request(
            method,
            f"{self.address}/api/v1/{path}",
            json=content,
            headers={"Authorization": by},
            timeout=HANG,
            retries=False,
        )
        return answer.status, answer.json() if answer.data.strip() else None


@dataclass
class Repository:
    gitea: Gitea
    name: str

    @property
    def full(self) -> str:
        return f"{OWNER}/{self.name}"

    @property
    def remote(self) -> str:
        scheme, _, place = self.gitea.address.partition("://")
        return f"{scheme}://{OWNER}:{self.gitea.tokens[OWNER]}@{place}/{self.full}.git"

    def call(self, method: str, path: str, content: Json = None, *, user: str = OWNER) -> Json:
        return self.gitea.call(method, f"repos/{self.full}/{path}", content, user=user)

    def protect(self, *contexts: str) -> None:
        """Demand a success of some contexts on the branch `main`, of its owner, too."""
        rule = {
            "rule_name": "main",
            "enable_status_check": True,
            "status_check_contexts": list(contexts),
            "block_admin_merge_override": True,
        }
        self.call("POST", "branch_protections", rule)

    def write(self, files: dict[str, str], branch: str, *, new: bool = True) -> None:
        changed = [
            {
                "operation": "create",
                "path": path,
                "content": base64.b64encode(text.encode()).decode(),
            }
            for path, text in files.items()
        ]
        place = {"branch": "main", "new_branch": branch} if new else {"branch": branch}
        self.call("POST", "contents", {"files": changed, "message": f"Change {branch}", **place})

    def pull(self, branch: str, files: dict[str, str]) -> int:
        self.write(files, branch)
        content = {"head": branch, "base": "main", "title": f"Change {branch}"}
        number = self.call("POST", "pulls", content)["number"]
        self.wait_for_checks(number)
        return number

    def wait_for_checks(self, number: int) -> None:
        """Wait until Gitea has looked for conflicts; before that it refuses every merge."""
        until("it can be merged", lambda: self.call("GET", f"pulls/{number}")["mergeable"])

    def label(self, number: int, name: str, *, user: str = OWNER) -> None:
        known = {each["name"]: each["id"] for each in self.call("GET", "labels")}
        if name not in known:
            made = self.call("POST", "labels", {"name": name, "color": "#00aabb"})
            known[name] = made["id"]
        self.call("POST", f"issues/{number}/labels", {"labels": [known[name]]}, user=user)

    def head(self, number: int) -> str:
        return self.call("GET", f"pulls/{number}")["head"]["sha"]

    def is_merged(self, number: int) -> bool:
        return self.call("GET", f"pulls/{number}")["merged"]

    def states(self, number: int) -> dict[str, str]:
        found = self.call("GET", f"commits/{self.head(number)}/status")["statuses"]
        return {each["context"]: each["status"] for each in found or []}

    def merge(self, number: int, **how: Json) -> tuple[int, str]:
        """Ask to merge, as who presses the button; return the status and the words with it."""
        path = f"repos/{self.full}/pulls/{number}/merge"
        end = time.monotonic() + HANG
        while True:
            # Whenever the branch has moved, Gitea looks for conflicts again, and says so.
            self.wait_for_checks(number)
            status, answer = self.gitea.ask("POST", path, {"Do": "merge", **how})
            words = answer.get("message", "") if isinstance(answer, dict) else ""
            if words != "Please try again later" or time.monotonic() > end:
                return status, words
            time.sleep(0.1)


def until(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + HANG
    while not holds():
        if time.monotonic() > end:
            raise GiteaError(f"not within {HANG:.0f} s: {what}")
        time.sleep(0.1)


@contextmanager
def running(program: Path, static: Path, folder: Path) -> Iterator[Gitea]:
    """It refuses to be run as root, who therefore runs it as nobody in a user namespace."""
    port = _free_port()
    settings = folder / "app.ini"
    settings.write_text(
        SETTINGS.format(folder=folder, port=port, static=static, secret=secrets.token_hex(16))
    )
    environment = {
        # Neither a person's home nor settings of Git.
        "HOME": str(folder),
        "USER": "gitea",
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    command = [*_somebody(), str(program), "--config", str(settings)]
    owner = ["--username", OWNER, "--password", _PASSWORD, "--email", f"{OWNER}@forge.test"]
    for first in (["migrate"], ["admin", "user", "create", "--admin", *owner]):
        done = subprocess.run(
            [*command, *first], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise GiteaError(f"{first[0]}: {(done.stdout + done.stderr)[-2000:]}")
    log = folder / "gitea.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "web"], env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield _answering(Gitea(f"http://127.0.0.1:{port}"), process, log)
    finally:
        _end(process)


def _answering(gitea: Gitea, process: subprocess.Popen[bytes], log: Path) -> Gitea:
    def answers() -> bool:
        if process.poll() is not None:
            raise GiteaError(f"it ended: {log.read_text()[-2000:]}")
        try:
            gitea.tokens[OWNER] = gitea.token(OWNER, "all")
        except urllib3.exceptions.HTTPError:
            return False
        return True

    until(f"Gitea answers ({log})", answers)
    return gitea


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(HANG)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _somebody() -> list[str]:
    if os.geteuid() != 0:
        return []
    return ["unshare", "--user", "--map-user=65534", "--map-group=65534"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _checked(path: str, answer: tuple[int, Json]) -> Json:
    status, value = answer
    if status >= 300:
        raise GiteaError(f"{path}: {status} {value}")
    return value
