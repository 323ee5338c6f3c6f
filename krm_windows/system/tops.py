"""Where a repository begins, by what is in the directories above.

Git is not asked, as a repository may configure it to run commands.
"""

import os
from pathlib import Path, PurePath

from krm_windows.system.errors import WorkspaceError

_GIT = ".git"


def is_top(directory: PurePath) -> bool:
    """Whether a directory is the top of a repository."""
    # Also a file (of a worktree or submodule), and a link that leads nowhere: what it should lead
    # to may be missing, and a repository further out is another one all the same.
    return os.path.lexists(directory / _GIT)


def top(directory: Path) -> Path | None:
    """Return the top of the repository that a directory is in, None where it is in none.

    `directory` is absolute and without links, so that the directories above are those that it
    really is in.
    """
    # From the inside out, as git looks for it: a repository inside another one is its own.
    return next(filter(is_top, (directory, *directory.parents)), None)


def followed(path: Path) -> Path:
    """Return the path behind the links of a path.

    A link of a repository is followed within it, as kustomize does it; one of the working directory
    within that. Any other is the user's. Raises WorkspaceError where one leads out: who wrote the
    repository must not choose which file of another one is changed.
    """
    real = Path(os.path.realpath(path))
    here = Path.cwd()
    place = here / os.path.normpath(path.parent)
    around = top(place)
    if around is None and place.is_relative_to(here):
        around = here
    if around is not None and not real.is_relative_to(os.path.realpath(around)):
        raise WorkspaceError(
            f"{path}: a symbolic link leads out of {around}, to {real}, so it is not followed; use "
            "the path that it links to"
        )
    return real
