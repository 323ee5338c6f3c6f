"""Whether Git has a file as it is here."""

import os
from pathlib import Path

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_layout import blob_name
from krm_windows.system.git_objects import Objects


def is_committed(file: str | Path) -> bool | None:
    """Whether the newest commit of its repository has a file as it is.

    None outside a repository, without pygit2, and of a repository that is not read.
    """
    path = Path(os.path.realpath(file))
    try:
        objects = Objects(path.parent)
        # A repository that is new has no commit yet.
        if objects.repository.head_is_unborn:
            return False
        tree = objects.tree(objects.commit_of("HEAD"))
        node = objects.at(tree, path.relative_to(objects.layout.top).as_posix()) if tree else None
        return node is not None and node.name == blob_name(path.read_bytes())
    except (ImportError, WorkspaceError, OSError, ValueError):
        return None
