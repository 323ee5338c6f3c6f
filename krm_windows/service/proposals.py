"""Pull requests: changes that are proposed on a branch of their own, and not made."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from krm_windows.forge import http
from krm_windows.system import addresses, bounded, programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_program import RemoteError
from krm_windows.system.programs import Limits

PREFIX = "krm-windows"
"""Of the names of all branches that changes are proposed on."""
_MOST = 1 << 20
_LIMITS = Limits(60.0, _MOST)


@dataclass(frozen=True, slots=True)
class Proposed:
    """What is proposed: the branch with the commit, the branch it is for, and what it says."""

    head: str
    base: str
    title: str
    body: str


class PullRequests(Protocol):
    """Opens pull requests."""

    def open(self, proposed: Proposed) -> str:
        """Open one; return its address. Raises RemoteError where it cannot be opened."""


@dataclass(frozen=True, slots=True)
class Forge:
    """The REST interface that GitHub, Gitea and Forgejo share.

    `address` is that of a repository: `https://api.github.com/repos/acme/fleet`.
    """

    address: str
    token: Path | SecretStr

    def open(self, proposed: Proposed) -> str:
        """Open a pull request (POST /repos/{owner}/{repo}/pulls)."""
        content: http.Record = {
            "head": proposed.head,
            "base": proposed.base,
            "title": proposed.title,
            "body": proposed.body,
        }
        try:
            answer = self._client().send("POST", "pulls", content)
            address = http.text(http.record(answer.value), "html_url")
        except WorkspaceError as error:
            raise RemoteError(f"the pull request failed: {error}") from None
        if not address:
            raise RemoteError("the pull request failed: the forge returned no URL for it")
        return address

    def _client(self) -> http.Client:
        try:
            token = _read(self.token)
        except OSError as error:
            raise WorkspaceError(f"its token cannot be read: {error.strerror}") from None
        # Gitea takes this form alone, GitHub both. Sent once: whether a request that failed has
        # opened one is not known, and a person waits for the answer.
        return http.Client(self.address, "Authorization", f"token {token}", tries=1)


@dataclass(frozen=True, slots=True)
class Command:
    """A program that opens pull requests: it is called with head, base, title and body."""

    program: str

    def open(self, proposed: Proposed) -> str:
        """Run it; the last line that it prints is the address."""
        arguments = [proposed.head, proposed.base, proposed.title, proposed.body]
        ended = programs.run([self.program, *arguments], environment=os.environ, limits=_LIMITS)
        if ended.code != 0:
            raise RemoteError(f"the pull request failed: {ended.last_line}")
        return ended.output.decode(errors="replace").strip().rpartition("\n")[2]


def _read(token: Path | SecretStr) -> str:
    if isinstance(token, SecretStr):
        return token.get_secret_value()
    # Each time, as it may be replaced.
    return bounded.read_file(token, most=_MOST).decode(errors="replace").strip()


def forge(address: str, token: Path | SecretStr) -> Forge:
    """Return what opens pull requests; raises WorkspaceError for an address that is not safe."""
    # The token would be sent for everybody to read.
    addresses.confidential(address)
    return Forge(address, token)


def branch_name(namespace: str, name: str, commit: str) -> str:
    """Return the name of a branch for a change, which no other change has."""
    # What a name of a branch may have (git-check-ref-format(1)), and nothing that it may not.
    plain = re.sub(r"[^A-Za-z0-9]+", "-", f"{namespace}-{name}").strip("-")
    return f"{PREFIX}/{plain[:100]}-{commit[:12]}"
