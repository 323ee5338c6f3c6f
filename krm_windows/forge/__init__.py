"""Clients of the forges: what the merge gate asks of GitHub, GitLab, Gitea and Forgejo.

The extra `forge`: nothing else in the package loads it.
"""

from krm_windows.forge.errors import ConflictError, ForgeError, RefusedError
from krm_windows.forge.model import Change, Forge, Group, Method, Progress, Readiness, State, Status

__all__ = [
    "Change",
    "ConflictError",
    "Forge",
    "ForgeError",
    "Group",
    "Method",
    "Progress",
    "Readiness",
    "RefusedError",
    "State",
    "Status",
]
