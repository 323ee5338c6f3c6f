"""Which forges there are, where they are, and where their tokens are found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from krm_windows.forge.gitea import Gitea
from krm_windows.forge.github import GitHub
from krm_windows.forge.gitlab import GitLab
from krm_windows.forge.http import Client
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_program import Access

Connected = GitHub | GitLab | Gitea
"""A repository on a forge, with its client."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of forge: `variable` of the environment has the token.

    It is sent in `header`, with `scheme` before it. `address` is that of the REST interface, None
    where each forge of the kind has its own; `here` is the variable by which the forge's own
    pipelines say it, empty where there is none of its own.
    """

    make: Callable[[Client, str], Connected]
    address: str | None
    variable: str
    header: str
    here: str
    scheme: str = ""


KINDS = {
    "github": Kind(
        make=GitHub,
        address="https://api.github.com",
        variable="GITHUB_TOKEN",
        header="Authorization",
        here="GITHUB_API_URL",
        scheme="Bearer ",
    ),
    "gitlab": Kind(
        make=GitLab,
        address="https://gitlab.com/api/v4",
        variable="GITLAB_TOKEN",
        header="PRIVATE-TOKEN",
        here="CI_API_V4_URL",
    ),
    "gitea": Kind(
        make=Gitea,
        address=None,
        variable="GITEA_TOKEN",
        header="Authorization",
        # Its pipelines have GITHUB_API_URL, which on a runner of GitHub is GitHub's.
        here="",
        scheme="token ",
    ),
}


def connect(
    name: str,
    repository: str,
    address: str | None,
    environment: Mapping[str, str],
) -> Connected:
    """Return a repository on a forge; raises WorkspaceError where something is missing."""
    kind = KINDS[name]
    # A token of a GitHub Enterprise Server must not go to github.com.
    where = address or environment.get(kind.here) or kind.address
    if where is None:
        raise WorkspaceError(f"{name} has no default URL: give --url https://…/api/v1")
    # A file of secrets often ends in a line end.
    token = environment.get(kind.variable, "").strip()
    if not token:
        raise WorkspaceError(
            f"no token: set the environment variable {kind.variable}, or give --token-file"
        )
    client = Client(where, kind.header, f"{kind.scheme}{token}")
    return kind.make(client, repository)


def git_access(forge: Connected) -> Access:
    """Return how Git may read the repositories of a forge."""
    return Access(f"{site(forge.client.address)}/", forge.client.token.rpartition(" ")[2])


def site(interface: str) -> str:
    """Return the address below which a forge has its repositories, by that of its REST interface.

    That is at `https://api.github.com`, or below `https://gitlab.example/api/v4`.
    """
    where = interface.rstrip("/")
    above, _, version = where.rpartition("/api/")
    return above if version.startswith("v") else where.replace("://api.", "://", 1)
