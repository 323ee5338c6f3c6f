"""Clients of the forges: what the merge gate asks of GitHub, GitLab, Gitea and Forgejo.

The extra `forge`: nothing else in the package loads it.
"""

from krm_windows.forge.errors import ConflictError, ForgeError, RefusedError
from krm_windows.forge.model import (
    CommitState,
    Group,
    Method,
    Progress,
    PullRequest,
    Readiness,
    Status,
)

__all__ = [
    "CommitState",
    "ConflictError",
    "ForgeError",
    "Group",
    "Method",
    "Progress",
    "PullRequest",
    "Readiness",
    "RefusedError",
    "Status",
]
