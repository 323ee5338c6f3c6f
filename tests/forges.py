"""A small forge on loopback: the endpoints that are used, in the shapes of three interfaces.

The shapes are those of the documents of GitHub (REST 2022-11-28), GitLab (v4) and Gitea (v1).
"""

import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from krm_windows.system import git, git_program

# The files of `merge-gate --config`: no part of any checkout.
_FILES = TemporaryDirectory()
_NUMBERS = count()
Json = object
Reply = tuple[int, dict[str, str], Json]
TOKEN = "s3cret-of-the-tests"  # noqa: S105 - of a server of ours
KINDS = ("github", "gitlab", "gitea")
REPOSITORY = "acme/fleet"
SENT = {
    "github": ("Authorization", f"Bearer {TOKEN}"),
    "gitea": ("Authorization", f"token {TOKEN}"),
    "gitlab": ("PRIVATE-TOKEN", TOKEN),
}
# What they answer to a merge by somebody who may not, and of what cannot be merged.
MAY_NOT: dict[str, Reply] = {
    "github": (403, {}, {"message": "Resource not accessible by personal access token"}),
    "gitlab": (401, {}, {"message": "401 Unauthorized"}),
    "gitea": (405, {}, {"message": "User not allowed to merge PR"}),
}
CANNOT_BE_MERGED: dict[str, Reply] = {
    "github": (405, {}, {"message": "Pull Request is not mergeable"}),
    "gitlab": (422, {}, {"message": "Branch cannot be merged"}),
    "gitea": (405, {}, {"message": "Does not have enough approvals"}),
}
# What a status may be; on GitLab these are the words of a job.
STATES = {
    "github": ("error", "failure", "pending", "success"),
    "gitlab": ("pending", "running", "success", "failed", "canceled", "skipped"),
    "gitea": ("pending", "success", "error", "failure", "warning", "skipped"),
}
APPROVE = {"github": "APPROVE", "gitea": "APPROVED"}


def configured(options: Sequence[str]) -> list[str]:
    """Return options of `merge-gate`; such as `merge: true` are put into its file."""
    lines = [option for option in options if re.match(r"[a-zA-Z]+: ", option)]
    others = [option for option in options if option not in lines]
    if not lines:
        return others
    file = Path(_FILES.name, f"{next(_NUMBERS)}.yaml")
    file.write_text("".join(f"{line}\n" for line in lines))
    return [*others, "--config", str(file)]


@dataclass
class Pull:
    number: int
    sha: str
    files: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    base: str = "main"
    state: str = "open"
    draft: bool = False
    conflicts: bool = False
    # The branch demands a review that it does not have.
    unreviewed: bool = False
    # The forge has not worked out yet whether it can be merged.
    unknown: bool = False
    # The states of its checks: check runs on GitHub, the pipeline on GitLab, statuses on Gitea.
    checks: dict[str, str] = field(default_factory=dict)
    reviews: list[dict[str, str]] = field(default_factory=list)


@dataclass
class Server:
    kind: str
    pulls: list[Pull] = field(default_factory=list)
    statuses: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    # Answers to the next requests in place of the right ones.
    troubles: list[Reply] = field(default_factory=list)
    # Called before a request is answered, with its method and path.
    before: Callable[[str, str], None] = lambda _method, _path: None
    merged: list[tuple[int, str]] = field(default_factory=list)
    # What was sent along with the last merge.
    sent: dict[str, str] = field(default_factory=dict)
    # The branches of merge queues, and what commits change that are at the head of none.
    refs: dict[str, str] = field(default_factory=dict)
    compared: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Whether the token may merge and approve.
    may_merge: bool = True
    repository: str = REPOSITORY
    address: str = ""
    # What was said on changes: number, login of the author, text. The token is `login`'s; a job's
    # token may not ask whose it is.
    comments: list[tuple[int, str, str]] = field(default_factory=list)
    login: str | None = "ada"

    @property
    def root(self) -> str:
        if self.kind == "gitlab":
            return f"/projects/{quote(self.repository, safe='')}/"
        return f"/repos/{self.repository}/"

    def latest(self, sha: str) -> dict[str, str]:
        return self.statuses[sha][-1]

    def changed(self, _directory: Path, base: str, sha: str) -> frozenset[str]:
        """Return what a commit changes, in place of `krm_windows.system.git.changed`."""
        assert base == "main"
        files = self.compared.get(sha)
        for pull in self.pulls:
            if files is None and pull.sha == sha:
                files = pull.files
        assert files is not None
        return frozenset(files)

    def is_checked_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let it be the remote of a checkout, without one; and let no pause take time."""
        monkeypatch.setattr(time, "sleep", lambda _: None)
        monkeypatch.setattr(git, "changed", self.changed)
        monkeypatch.setattr(git_program, "fetch_commit", lambda *_: None)
        monkeypatch.setattr(git_program, "fetch_branch", lambda _, _remote, branch, _access: branch)

    def answer(self, method: str, target: str, headers: dict[str, str], body: Json) -> Reply:
        url = urlsplit(target)
        self.asked.append(f"{method} {url.path}")
        self.before(method, url.path)
        if self.troubles:
            return self.troubles.pop(0)
        name, token = SENT[self.kind]
        if headers.get(name) != token:
            return 401, {}, {"message": "Bad credentials"}
        if about := self._about(url.path):
            return about
        if not url.path.startswith(self.root):
            return 404, {}, {"message": "Not Found"}
        path = url.path.removeprefix(self.root)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        found = self._commented(method, path, body)
        if found is None:
            found = self._found(method, path, body)
        if isinstance(found, list):
            return self._page(found, query)
        return found

    def _about(self, path: str) -> Reply | None:
        if f"{path}/" == self.root:
            return 200, {}, {"default_branch": "main"}
        if path != "/user":
            return None
        if self.login is None:
            return 403, {}, {"message": "Resource not accessible by integration"}
        name = "username" if self.kind == "gitlab" else "login"
        return 200, {}, {name: self.login}

    def _commented(self, method: str, path: str, body: Json) -> list[Json] | Reply | None:
        if match := re.fullmatch(r"(?:issues|merge_requests)/(\d+)/(?:comments|notes)", path):
            return self._comments_of(method, int(match[1]), body)
        one = r"merge_requests/\d+/notes" if self.kind == "gitlab" else "issues/comments"
        if match := re.fullmatch(rf"{one}/(\d+)", path):
            assert method == ("PUT" if self.kind == "gitlab" else "PATCH")
            number, author, _ = self.comments[int(match[1])]
            self.comments[int(match[1])] = number, author, body["body"]
            return 200, {}, {}
        return None

    def _comments_of(self, method: str, number: int, body: Json) -> list[Json] | Reply:
        if method == "POST":
            self.comments.append((number, self.login or "ci[bot]", body["body"]))
            return 201, {}, {}
        return [
            {
                "id": index,
                "body": text,
                # GitLab's name of it.
                "author": {"username": author},
                "user": {"login": author, "type": "Bot" if author.endswith("[bot]") else "User"},
            }
            for index, (of, author, text) in enumerate(self.comments)
            if of == number
        ]

    def _page(self, every: list[Json], query: dict[str, str]) -> Reply:
        size = int(query["limit" if self.kind == "gitea" else "per_page"])
        # As the forges do: more is not refused, but cut.
        size = min(size, 50 if self.kind == "gitea" else 100)
        page = int(query["page"])
        headers = {}
        if len(every) > page * size:
            # The address is another's on purpose: a client that followed it would fail.
            headers["Link"] = (
                f'<http://elsewhere.example/?page={page + 1}>; rel="next", <x>; rel="last"'
            )
        return 200, headers, every[(page - 1) * size : page * size]

    def _found(  # noqa: PLR0911 - a table of paths
        self, method: str, path: str, body: Json
    ) -> list[Json] | Reply:
        changes = "merge_requests" if self.kind == "gitlab" else "pulls"
        if path == changes:
            return [self.shape(each) for each in self.pulls if each.state == "open"]
        if match := re.fullmatch(rf"(?:{changes}|issues)/(\d+)(?:/(\w+))?", path):
            found = [each for each in self.pulls if each.number == int(match[1])]
            if not found:
                return 404, {}, {"message": "Not Found"}
            return self._of_pull(found[0], match[2], body)
        if path == "git/matching-refs/heads/gh-readonly-queue/":
            return 200, {}, [{"ref": ref, "object": {"sha": sha}} for ref, sha in self.refs.items()]
        if match := re.fullmatch(r"(?:repository/)?commits/(\w+)/([\w-]+)", path):
            return self._of_commit(match[1], match[2])
        if (match := re.fullmatch(r"statuses/(\w+)", path)) and method == "POST":
            return self._say(match[1], body)
        return 404, {}, {"message": "Not Found"}

    def _of_commit(self, sha: str, what: str) -> list[Json] | Reply:
        heads = [each.checks for each in self.pulls if each.sha == sha]
        checks = [(name, state) for each in heads for name, state in each.items()]
        if what == "check-runs":
            runs = [_check_run(*each) for each in checks]
            return 200, {}, {"total_count": len(runs), "check_runs": runs}
        said = [self.said(each) for each in self.statuses.get(sha, [])]
        if self.kind == "gitea":
            said += [self.said({"context": name, "state": state}) for name, state in checks]
        # GitLab gives the latest of each name, the others all, the newest first.
        return said if self.kind == "gitlab" else said[::-1]

    def _merge(self, pull: Pull, body: Json) -> Reply:
        sha = body.get("sha") or body.get("head_commit_id")
        if not self.may_merge:
            return MAY_NOT[self.kind]
        if pull.conflicts or pull.unreviewed or pull.draft or pull.state != "open":
            return CANNOT_BE_MERGED[self.kind]
        if sha != pull.sha:
            return 409, {}, {"message": "Head branch was modified. Review and try again."}
        self.merged.append((pull.number, sha))
        self.sent = body
        pull.state = "merged"
        return 200, {}, {"merged": True}

    def _of_pull(self, pull: Pull, what: str | None, body: Json) -> list[Json] | Reply:
        if what is None:
            return 200, {}, self.shape(pull)
        return self._merge(pull, body) if what == "merge" else self._review(pull, what, body)

    def _review(self, pull: Pull, what: str, body: Json) -> list[Json] | Reply:
        if what == "approvals":
            return 200, {}, {"user_has_approved": bool(pull.reviews)}
        if body is None:
            return list(pull.reviews)
        if not self.may_merge:
            return MAY_NOT[self.kind]
        sha = body.get("sha") or body.get("commit_id")
        if sha != pull.sha:
            return 409, {}, {"message": "SHA does not match HEAD of source branch"}
        if self.kind != "gitlab" and body["event"] != APPROVE[self.kind]:
            return 422, {}, {"message": "Unprocessable Entity"}
        pull.reviews.append({"commit_id": sha, "body": body.get("body"), "state": "APPROVED"})
        return 201, {}, {"id": len(pull.reviews)}

    def _detail(self, pull: Pull) -> str:
        reasons = {
            "not_open": pull.state != "open",
            "checking": pull.unknown,
            "draft_status": pull.draft,
            "conflict": pull.conflicts,
            "ci_still_running": "pending" in pull.checks.values(),
            "ci_must_pass": "failure" in pull.checks.values(),
            "not_approved": pull.unreviewed,
        }
        return next((name for name, is_so in reasons.items() if is_so), "mergeable")

    def _state(self, pull: Pull) -> str:
        is_blocked = pull.unreviewed or set(pull.checks.values()) - {"success"}
        reasons = {"unknown": pull.unknown, "dirty": pull.conflicts, "blocked": is_blocked}
        return next((name for name, is_so in reasons.items() if is_so), "clean")

    def _pipeline(self, pull: Pull) -> Json:
        for state, word in (("failure", "failed"), ("pending", "running")):
            if state in pull.checks.values():
                return {"sha": pull.sha, "status": word}
        return {"sha": pull.sha, "status": "success"} if pull.checks else None

    def _say(self, sha: str, body: Json) -> Reply:
        if body["state"] not in STATES[self.kind]:
            return 400, {}, {"message": f"state does not have a valid value: {body['state']}"}
        said = {**body, "context": body.get("context") or body.get("name")}
        before = self.statuses.setdefault(sha, [])
        if self.kind == "gitlab":
            same = [each for each in before if each["context"] == said["context"]]
            if same and same[-1]["state"] == said["state"] == "pending":
                words = "Cannot transition status via :enqueue from :pending"
                return 400, {}, {"message": words}
            before[:] = [each for each in before if each not in same]
        before.append(said)
        return 201, {}, self.said(said)

    def shape(self, pull: Pull) -> Json:
        if self.kind == "gitlab":
            return {
                "iid": pull.number,
                "id": 10_000 + pull.number,
                "sha": pull.sha,
                "labels": list(pull.labels),
                "target_branch": pull.base,
                "state": {"open": "opened"}.get(pull.state, pull.state),
                "draft": pull.draft,
                "detailed_merge_status": self._detail(pull),
                "head_pipeline": self._pipeline(pull),
            }
        found = {
            "state": "open" if pull.state == "open" else "closed",
            "merged": pull.state == "merged",
            "draft": pull.draft,
            "base": {"ref": pull.base},
            "mergeable": not (pull.conflicts or pull.unknown or pull.draft),
        }
        if self.kind == "github":
            found["mergeable_state"] = self._state(pull)
        return found | {
            "number": pull.number,
            "id": 10_000 + pull.number,
            "head": {"sha": pull.sha},
            "labels": [{"name": each} for each in pull.labels],
        }

    def said(self, status: dict[str, str]) -> Json:
        if self.kind == "gitlab":
            return {**status, "name": status["context"], "status": status["state"]}
        if self.kind == "gitea":
            return {**status, "status": status["state"], "state": None}
        return status


def _check_run(name: str, state: str) -> Json:
    if state == "pending":
        return {"name": name, "status": "in_progress", "conclusion": None}
    return {"name": name, "status": "completed", "conclusion": state}


@contextmanager
def serving(kind: str, *pulls: Pull, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    forge = Server(kind, list(pulls))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(forge))
    server.daemon_threads = True
    forge.address = f"http://127.0.0.1:{server.server_port}"
    if tls is not None:
        # The handshake is that of a thread of the connection, so that a bad one stops no other.
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        forge.address = f"https://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield forge
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(forge: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # An answer is two writes; the second must not wait for the first one's receipt.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.reply(None)

        def do_POST(self) -> None:
            self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        do_PUT = do_PATCH = do_POST  # noqa: N815 - as http.server calls it

        def reply(self, body: Json) -> None:
            status, headers, value = forge.answer(self.command, self.path, dict(self.headers), body)
            # Text is sent as it is, for answers that are no JSON.
            content = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    return Handler
