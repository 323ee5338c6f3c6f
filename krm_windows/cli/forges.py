"""Which forge a command asks, and where its repository is there: the extra `forge`."""

import argparse
import os
from typing import TYPE_CHECKING

from krm_windows.cli import inputs

if TYPE_CHECKING:
    from krm_windows.forge.connect import Connected
    from krm_windows.system.git_program import Access

NAMES = ("github", "gitlab", "gitea")


def options(parser: argparse._ActionsContainer) -> None:
    """Declare the options that say which repository of which forge is meant."""
    parser.add_argument("--forge", choices=NAMES, help="the forge of the repository")
    parser.add_argument("--repo", type=_repository, metavar="OWNER/NAME", help="the repository")
    parser.add_argument(
        "--url",
        metavar="URL",
        help="the URL of the forge's REST API, such as https://gitea.example/api/v1 (default: from "
        "GITHUB_API_URL or CI_API_V4_URL in its own pipelines, or else that of github.com or "
        "gitlab.com)",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help="a file with the token, or a pipe, which no other program sees (default: the variable "
        "GITHUB_TOKEN, GITLAB_TOKEN or GITEA_TOKEN)",
    )


def is_named(arguments: argparse.Namespace) -> bool:
    """Whether a command was given both, a forge and a repository of it."""
    return arguments.forge is not None and arguments.repo is not None


def connected(arguments: argparse.Namespace) -> "Connected":
    """Return the repository; raises WorkspaceError where there is no token."""
    from krm_windows.forge import connect  # noqa: PLC0415 - the extra `forge`

    environment = dict(os.environ)
    if arguments.token_file is not None:
        token = inputs.content(arguments.token_file).decode(errors="replace")
        environment[connect.KINDS[arguments.forge].variable] = token
    return connect.connect(arguments.forge, arguments.repo, arguments.url, environment)


def git_access(forge: "Connected") -> "Access":
    """Return how Git may read the repository."""
    from krm_windows.forge import connect  # noqa: PLC0415 - the extra `forge`

    return connect.git_access(forge)


def _repository(name: str) -> str:
    # GitLab's groups may be in each other: `group/subgroup/name`.
    if "/" not in name or not all(name.split("/")):
        raise argparse.ArgumentTypeError(f"must be OWNER/NAME, got {name!r}")
    return name
