"""From where something is known: the words for the way of a policy from its file to the cluster.

Written, in Git, rendered, in the cluster: each may be ahead of the next, so none is said for
another. What no cluster was asked about is what should be, and not what is.
"""

from datetime import datetime, tzinfo

from krm_windows.preview.clock import shown

IN_GIT = "in Git"
NOT_ASKED = "in the cluster: not asked"


def in_file(file: str, *, uncommitted: bool = False) -> str:
    """Say that something is known from a file, which Git may not have as it is."""
    return f"in {file}, not committed" if uncommitted else f"in {file}"


def asked(at: datetime | None, zone: tzinfo) -> str:
    """Say that a cluster was asked, and when: `in the cluster (asked at Mon 2026-12-14 08:00)`."""
    return NOT_ASKED if at is None else f"in the cluster (asked at {shown(at, zone)})"
