"""Pull requests: changes that are proposed on a branch of their own, and not made."""

import os
import re
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import SecretStr, model_validator
from pydantic.dataclasses import dataclass

from krm_windows.forge import http
from krm_windows.system import addresses, bounded, programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_program import RemoteError
from krm_windows.system.programs import Limits

PREFIX = "krm-windows"
"""Of the names of all branches that changes are proposed on."""
_MOST = 1 << 20
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

    def _sent(self, url: str, proposed: Proposed) -> str:
        """Send it to the forge (POST /repos/{owner}/{repo}/pulls)."""
        try:
            token = self._secret()
        except OSError as error:
            raise WorkspaceError(f"its token cannot be read: {error.strerror}") from None
        # Gitea takes this form alone, GitHub both. Sent once: whether a request that failed has
        # opened one is not known, and a person waits for the answer.
        client = http.Client(url, "Authorization", f"token {token}")
        answer = client.send("POST", "pulls", proposed._asdict(), again=False)
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


def branch_name(namespace: str, name: str, commit: str) -> str:
    """Return the name of a branch for a change, which no other change has."""
    # What a name of a branch may have (git-check-ref-format(1)), and nothing that it may not.
    plain = re.sub(r"[^A-Za-z0-9]+", "-", f"{namespace}-{name}").strip("-")
    return f"{PREFIX}/{plain[:100]}-{commit[:12]}"
