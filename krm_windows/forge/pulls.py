"""What GitHub, Gitea and Forgejo have alike: the same paths, with small differences."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import quote

from krm_windows.forge import http
from krm_windows.forge.http import Client, Record
from krm_windows.forge.model import (
    CommitState,
    Group,
    Progress,
    PullRequest,
    Readiness,
    Status,
    checked,
    moved,
    once_each,
)


@dataclass(frozen=True)
class Pulls(ABC):
    """A repository, `OWNER/NAME`, whose changes are pull requests.

    `page` is the name of the parameter that says how many entries a page has, `entries` the most;
    `order` asks for open ones, the oldest first; `state` is the field of a status that has its
    state, and `approves` the word for a review that approves.
    """

    client: Client
    repository: str
    page: ClassVar[str] = "per_page"
    entries: ClassVar[int] = 100
    order: ClassVar[dict[str, str]] = {"state": "open", "sort": "created", "direction": "asc"}
    state: ClassVar[str] = "state"
    approves: ClassVar[str] = "APPROVE"

    @property
    def root(self) -> str:
        """The path of the repository."""
        # Neither may lead elsewhere on the forge, such as by `..` or a question mark.
        owner, _, name = self.repository.partition("/")
        return f"repos/{quote(owner, safe='')}/{quote(name, safe='')}"

    def listed(self, path: str, **query: str | int) -> Iterator[Record]:
        """Yield the entries of a list below the repository."""
        return self.client.pages(f"{self.root}/{path}", {**query, self.page: self.entries})

    def open_changes(self) -> Iterable[PullRequest]:
        """Yield the open pull requests, the oldest first."""
        return once_each(map(_change, self.listed("pulls", **self.order)))

    def default_branch(self) -> str:
        """Return the default branch (GET …/repos/{owner}/{name})."""
        return http.text(http.record(self.client.get(self.root)), "default_branch")

    def change(self, number: int) -> PullRequest:
        """Read one pull request anew."""
        return _change(http.record(self.client.get(f"{self.root}/pulls/{number}")))

    def queued(self) -> Iterator[Group]:
        """Yield nothing: Gitea has no merge queue."""
        yield from ()

    def statuses(self, sha: str) -> dict[str, Status]:
        """Return what is said of a commit last, by context."""
        found: dict[str, Status] = {}
        for each in self.listed(f"commits/{quote(sha, safe='')}/statuses"):
            status = Status(
                http.text(each, "context"),
                _state(http.text(each, self.state)),
                http.text(each, "description"),
                http.text(each, "target_url"),
            )
            # The newest comes first.
            found.setdefault(status.context, status)
        return found

    def set_status(self, sha: str, status: Status) -> None:
        """Say something of a commit."""
        content: Record = {
            "context": status.context,
            "state": status.state.value,
            "description": status.description,
        }
        if status.link:
            content["target_url"] = status.link
        self.client.send("POST", f"{self.root}/statuses/{quote(sha, safe='')}", content)

    def readiness(self, change: PullRequest, ours: str) -> Readiness:
        """Say whether a pull request can be merged now (GET …/pulls/{number})."""
        # The list of open ones has neither `merged` nor what says whether it can be merged.
        entry = http.record(self.client.get(f"{self.root}/pulls/{change.number}"))
        if entry.get("merged") is True:
            return Readiness(Progress.MERGED)
        # What is merged is closed, too.
        if http.text(entry, "state") != "open":
            return Readiness(Progress.BLOCKED, "it is closed")
        sha = _change(entry).sha
        if sha != change.sha:
            return moved(sha)
        if entry.get("draft") is True:
            return Readiness(Progress.BLOCKED, "it is a draft")
        return self.mergeable(entry, self._checks(sha, ours))

    def _checks(self, sha: str, ours: str) -> Readiness:
        """Say what the checks of a commit leave to be waited for."""
        states = self.check_runs(sha)
        for status in self.statuses(sha).values():
            # Ours says that the window is open, or is about to: whoever merges has just judged.
            if status.context != ours:
                states[status.context] = status.state
        return checked(states)

    def check_runs(self, _sha: str) -> dict[str, CommitState]:
        """Return the states of checks that are no statuses, by name."""
        return {}

    @abstractmethod
    def mergeable(self, entry: Record, checks: Readiness) -> Readiness:
        """Say whether an open pull request can be merged, as the forge shows it."""

    def approve(self, change: PullRequest, words: str) -> bool:
        """Approve a pull request at a commit (POST …/pulls/{number}/reviews)."""
        path = f"pulls/{change.number}/reviews"
        # A second review would be news for everybody who reads along.
        content: Record = {"commit_id": change.sha, "body": words}
        # As it is read it has a state, as it is written an event.
        approval = {**content, "state": "APPROVED"}
        for each in self.listed(path):
            if {name: each.get(name) for name in approval} == approval:
                return False
        self.client.send("POST", f"{self.root}/{path}", {**content, "event": self.approves})
        return True


def _change(entry: Record) -> PullRequest:
    labels = entry.get("labels")
    named = []
    if isinstance(labels, list):
        named = [http.text(http.record(each), "name") for each in labels]
    return PullRequest(
        number=http.number(entry, "number"),
        sha=http.text(entry, "head", "sha"),
        labels=frozenset(named),
        base=http.text(entry, "base", "ref"),
    )


def _state(word: str) -> CommitState:
    """Read a state: what is neither done nor under way is a failure (`error`, `failure`)."""
    return CommitState(word) if word in ("success", "pending") else CommitState.FAILURE
