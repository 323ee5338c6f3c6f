"""Whether Git has a file as it is here."""

import os
from pathlib import Path

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_objects import Objects


def is_committed(file: str | Path) -> bool | None:
    """Whether the newest commit of its repository has a file as it is.

    None outside a repository, without pygit2, and of a repository that is not read.
    """
    path = Path(os.path.realpath(file))
    try:
        import pygit2  # noqa: PLC0415 - the extra `git`

        objects = Objects(path.parent)
        # A repository that is new has no commit yet.
        if objects.repository.head_is_unborn:
            return False
        name = path.relative_to(objects.layout.top).as_posix()
        node = objects.found(objects.commit_of("HEAD"), name)
        return node is not None and node.name == str(pygit2.hash(path.read_bytes()))
    except (ImportError, WorkspaceError, OSError, ValueError):
        return None
