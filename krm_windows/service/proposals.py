"""Pull requests: changes that are proposed on a branch of their own, and not made."""

import json
import os
import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from krm_windows.system import addresses, bounded, programs
from krm_windows.system.git_branch import RemoteError
from krm_windows.system.programs import Limits

PREFIX = "krm-windows"
"""Of the names of all branches that changes are proposed on."""
_SECONDS = 20.0
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
    token: Path

    def open(self, proposed: Proposed) -> str:
        """Open a pull request (POST /repos/{owner}/{repo}/pulls)."""
        content = {
            "head": proposed.head,
            "base": proposed.base,
            "title": proposed.title,
            "body": proposed.body,
        }
        token = bounded.read_file(self.token, most=_MOST).decode().strip()
        request = urllib.request.Request(  # noqa: S310 - checked by `forge`
            f"{self.address.rstrip('/')}/pulls",
            json.dumps(content).encode(),
            {
                # Gitea takes this form alone, GitHub both.
                "Authorization": f"token {token}",
                "Content-Type": "application/json",
                "Accept": "application/json",
                "User-Agent": "krm-windows",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
                found = json.loads(answer.read(_MOST))
            return str(found["html_url"])
        except urllib.error.HTTPError as error:
            # Not what it says: that may repeat what was sent.
            raise RemoteError(f"the pull request was refused with {error.code}") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RemoteError(f"the pull request failed: {type(error).__name__}") from None


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


def forge(address: str, token: Path) -> Forge:
    """Return what opens pull requests; raises WorkspaceError for an address that is not safe."""
    # The token would be sent for everybody to read.
    addresses.confidential(address)
    return Forge(address, token)


def branch_name(namespace: str, name: str, commit: str) -> str:
    """Return the name of a branch for a change, which no other change has."""
    # What a name of a branch may have (git-check-ref-format(1)), and nothing that it may not.
    plain = re.sub(r"[^A-Za-z0-9]+", "-", f"{namespace}-{name}").strip("-")
    return f"{PREFIX}/{plain[:100]}-{commit[:12]}"
