"""Whether Git has files as they are here."""

import os
from pathlib import Path

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_layout import blob_name
from krm_windows.system.git_objects import Objects

# Files of a directory that was rendered for a large fleet.
_MOST = 500_000


def is_committed(*files: str | Path) -> bool | None:
    """Whether the newest commit has all of these files of one repository as they are.

    A file that is not here must not be there either. None outside a repository, without pygit2, and
    of a repository that is not read.
    """
    paths = [Path(os.path.realpath(file)) for file in files]
    try:
        objects = Objects(paths[0].parent)
        # A repository that is new has no commit yet.
        is_new = objects.repository.head_is_unborn
        tree = None if is_new else objects.tree(objects.commit_of("HEAD"))
        names = [path.relative_to(objects.layout.top).as_posix() for path in paths]
        found = [tree and objects.at(tree, name) for name in names]
        return all(
            node.name == blob_name(path.read_bytes())
            if node and path.exists()
            else node is None and not path.exists()
            for path, node in zip(paths, found, strict=True)
        )
    except (ImportError, WorkspaceError, OSError, ValueError):
        return None


def listed(directory: Path) -> list[Path]:
    """Return the files that the newest commit has below a directory; none where it is not read."""
    try:
        objects = Objects(directory)
        tree = objects.tree(objects.commit_of("HEAD"), objects.prefix)
        names = [path for path, _ in objects.files(tree, _MOST)] if tree else []
    except (ImportError, WorkspaceError, OSError, ValueError):
        return []
    return [Path(os.path.realpath(directory), name) for name in sorted(names)]
