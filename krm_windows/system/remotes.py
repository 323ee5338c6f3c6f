"""The addresses that a checked-out repository has, read from Git's own file as text.

Nothing in it is in force.
"""

import re
from pathlib import Path

from krm_windows.system import git_layout
from krm_windows.system.errors import WorkspaceError

# As `git remote add` writes them (git-config(1), "Syntax"): the section with its lines, and the
# address in one of them, which may be in quotes and have a comment behind it.
_ORIGIN = re.compile(r'^\[remote "origin"\][ \t]*$(?:\n[ \t]*(?:[^\[\s].*)?$)*', re.MULTILINE)
_URL = re.compile(r'^[ \t]*url[ \t]*=[ \t]*"?([^"#;\s]+)', re.MULTILINE)


def addresses(directory: Path) -> frozenset[str]:
    """Return the addresses of `origin`, none where a directory is not the top of a repository."""
    # Without Git: to ask it would put the repository's own settings in force.
    try:
        layout = git_layout.find(directory)
        config = layout.read("config")
    except (OSError, WorkspaceError):
        return frozenset()
    # A directory inside a repository is another source than the repository.
    if layout.top != directory.resolve():
        return frozenset()
    sections = _ORIGIN.findall(config.decode(errors="replace"))
    return frozenset(_URL.findall("\n".join(sections)))
