"""Pull requests: changes that are proposed on a branch of their own, and not made."""

import os
import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import SecretStr, model_validator
from pydantic.dataclasses import dataclass

from krm_windows.forge import http
from krm_windows.service.policies import Stored
from krm_windows.system import addresses, bounded, programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Branch
from krm_windows.system.git_objects import Commit
from krm_windows.system.git_program import RemoteError
from krm_windows.system.programs import Limits

PREFIX = "krm-windows"
"""Of the names of all branches that changes are proposed on."""
_MOST = 1 << 20
# Proposed changes that are remembered when their branches are gone.
_MOST_KNOWN = 500
_LIMITS = Limits(60.0, _MOST)


class Proposed(NamedTuple):
    """What is proposed: the branch with the commit, the branch it is for, and what it says."""

    head: str
    base: str
    title: str
    body: str


@dataclass(frozen=True, config={"extra": "forbid"})
class PullRequests:
    """Where pull requests are opened: at a forge, with a token, or by a program.

    `url` is a repository in the REST interface that GitHub, Gitea and Forgejo share, such as
    `https://api.github.com/repos/acme/fleet`.
    """

    url: str | None = None
    token: SecretStr | None = None
    tokenFile: Path | None = None  # noqa: N815 - as the file has it
    command: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Refuse what could open none: now, and not at the first change."""
        if (self.url is None) is (self.command is None):
            raise ValueError("give url, or command, and not both")
        if self.command is not None and programs.find(self.command) is None:
            raise ValueError(f"{self.command}: no such program")
        if self.url is not None:
            if (self.token is None) is (self.tokenFile is None):
                raise ValueError("url needs tokenFile, or a token in the environment")
            # The token would be sent for everybody to read.
            addresses.confidential(self.url)
            self._secret()
        return self

    def open(self, proposed: Proposed) -> str:
        """Open one; return its address. Raises RemoteError where it cannot be opened."""
        try:
            if self.url is not None:
                return self._sent(self.url, proposed)
            return _run(str(self.command), proposed)
        except WorkspaceError as error:
            raise RemoteError(f"the pull request failed: {error}") from None

    def addresses(self) -> dict[str, str]:
        """Return the addresses of the open ones that the forge knows, by their latest commits."""
        if self.url is None:
            return {}
        # GitHub has as many on a page as `per_page` says, Gitea as `limit`.
        query: dict[str, str | int] = {"state": "open", "per_page": 100, "limit": 50}
        return {
            http.text(each, "head", "sha"): http.text(each, "html_url")
            for each in self._client(self.url).pages("pulls", query)
        }

    def _client(self, url: str) -> http.Client:
        try:
            return http.Client(url, "Authorization", f"token {self._secret()}")
        except OSError as error:
            raise WorkspaceError(f"its token cannot be read: {error.strerror}") from None

    def _sent(self, url: str, proposed: Proposed) -> str:
        """Send it to the forge (POST /repos/{owner}/{repo}/pulls)."""
        # Gitea takes this form alone, GitHub both. Sent once: whether a request that failed has
        # opened one is not known, and a person waits for the answer.
        answer = self._client(url).send("POST", "pulls", proposed._asdict(), again=False)
        address = http.text(http.record(answer.value), "html_url")
        if not address:
            raise WorkspaceError("the forge returned no URL for it")
        return address

    def _secret(self) -> str:
        if self.tokenFile is None:
            return self.token.get_secret_value() if self.token is not None else ""
        # Each time, as it may be replaced.
        return bounded.read_file(self.tokenFile, most=_MOST).decode(errors="replace").strip()


def _run(program: str, proposed: Proposed) -> str:
    """Run a program with head, base, title and body; it prints the address last."""
    command = [programs.find(program) or program, *proposed]
    ended = programs.run(command, environment=os.environ, limits=_LIMITS)
    if ended.code != 0:
        raise WorkspaceError(ended.last_line)
    return ended.output.decode(errors="replace").strip().rpartition("\n")[2]


class ProposedChange(NamedTuple):
    """A commit that is proposed; the `address` of its pull request is empty where it is unknown.

    `merged` is the commit by which the branch has the change.
    """

    commit: Commit
    address: str
    is_there: bool
    applies: bool
    merged: str | None

    @property
    def is_open(self) -> bool:
        """Whether somebody can still merge it."""
        return self.is_there and self.merged is None


class Watch:
    """What is proposed at the remote, as it was when the remote was last asked."""

    def __init__(self, branch: Branch, requests: PullRequests, remote: str) -> None:
        """Know of nothing yet."""
        self._branch = branch
        self._requests = requests
        self._remote = remote
        # By their commits; those whose branches are gone, too.
        self._addresses: dict[str, str] = {}
        self._known: dict[str, Commit] = {}
        self._there: frozenset[str] = frozenset()
        self._became = lru_cache(_MOST_KNOWN)(self._compared)

    def look(self) -> None:
        """Ask the remote, and the forge for addresses that are unknown; raises RemoteError."""
        found = {each.name: each for each in self._branch.proposed(self._remote, PREFIX)}
        self._there = frozenset(found)
        self._known = dict(list({**self._known, **found}.items())[-_MOST_KNOWN:])
        if not found.keys() <= self._addresses.keys():
            with suppress(WorkspaceError):
                self._addresses |= self._requests.addresses()

    def add(self, commit: Commit, address: str) -> None:
        """Know of a change that has just been proposed."""
        self._known[commit.name], self._addresses[commit.name] = commit, address
        self._there |= {commit.name}

    def of(self, stored: Stored, tip: str) -> list[ProposedChange]:
        """Return what is proposed for a policy, the newest first."""
        found = []
        for commit in sorted(self._known.values(), key=lambda each: each.committed, reverse=True):
            if f"\nPolicy: {stored.title}\n" in commit.message:
                merged, applies = self._became(commit, tip, stored.file)
                address = self._addresses.get(commit.name, "")
                is_there = commit.name in self._there
                found.append(ProposedChange(commit, address, is_there, applies, merged))
        return found

    def _compared(self, commit: Commit, tip: str, file: str) -> tuple[str | None, bool]:
        """Return as which commit a branch has a change, and whether it can still be merged."""
        merged = self._branch.merged_as(commit, tip, file)
        return merged, merged is None and self._branch.applies(commit.name, tip)


def branch_name(namespace: str, name: str, commit: str) -> str:
    """Return the name of a branch for a change, which no other change has."""
    # What a name of a branch may have (git-check-ref-format(1)), and nothing that it may not.
    plain = re.sub(r"[^A-Za-z0-9]+", "-", f"{namespace}-{name}").strip("-")
    return f"{PREFIX}/{plain[:100]}-{commit[:12]}"
