"""Which forges there are, where they are, and where their tokens are found."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from krm_windows.forge.gitea import Gitea
from krm_windows.forge.github import GitHub
from krm_windows.forge.gitlab import GitLab
from krm_windows.forge.http import Client
from krm_windows.forge.model import Forge
from krm_windows.system.errors import WorkspaceError


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of forge: `variable` of the environment has the token, `scheme` stands before it.

    `here` is the variable by which the forge's own pipelines say where it is.
    """

    make: Callable[[Client, str], Forge]
    address: str | None
    variable: str
    header: str
    here: str | None
    scheme: str = ""


KINDS = {
    "github": Kind(
        GitHub,
        "https://api.github.com",
        "GITHUB_TOKEN",
        "Authorization",
        "GITHUB_API_URL",
        "Bearer ",
    ),
    "gitlab": Kind(
        GitLab,
        "https://gitlab.com/api/v4",
        "GITLAB_TOKEN",
        "PRIVATE-TOKEN",
        "CI_API_V4_URL",
    ),
    # Its pipelines have GITHUB_API_URL, which on a runner of GitHub is GitHub's.
    "gitea": Kind(Gitea, None, "GITEA_TOKEN", "Authorization", None, "token "),
}


def connect(
    name: str,
    repository: str,
    address: str | None,
    environment: Mapping[str, str],
    sleep: Callable[[float], None] = time.sleep,
) -> Forge:
    """Return a repository on a forge; raises WorkspaceError where something is missing.

    `sleep` takes seconds.
    """
    kind = KINDS[name]
    where = address or kind.address
    # A token of a GitHub Enterprise Server must not go to github.com.
    if address is None and kind.here is not None:
        where = environment.get(kind.here) or kind.address
    if where is None:
        raise WorkspaceError(f"{name} has no default URL: give --url https://…/api/v1")
    # A file of secrets often ends in a line end.
    token = environment.get(kind.variable, "").strip()
    if not token:
        raise WorkspaceError(f"no token: set the environment variable {kind.variable}")
    client = Client(where, kind.header, f"{kind.scheme}{token}", sleep)
    return kind.make(client, repository)
