"""Where a repository begins, by what is in the directories above.

Git is not asked, as a repository may configure it to run commands.
"""

import os
from pathlib import Path, PurePath

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
