"""Clients of the forges: what the merge gate asks of GitHub, GitLab, Gitea and Forgejo.

The extra `forge`: nothing else in the package loads it.
"""

from krm_windows.forge.errors import ConflictError, ForgeError, RefusedError
from krm_windows.forge.model import (
    Group,
    Method,
    Progress,
    PullRequest,
    Readiness,
    State,
    Status,
)

__all__ = [
    "ConflictError",
    "ForgeError",
    "Group",
    "Method",
    "Progress",
    "PullRequest",
    "Readiness",
    "RefusedError",
    "State",
    "Status",
]
