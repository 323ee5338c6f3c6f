"""The addresses that a checked-out repository has, read from Git's own file as text.

Nothing in it is in force.
"""

from collections.abc import Iterator
from pathlib import Path

from krm_windows.system import git_layout
from krm_windows.system.errors import WorkspaceError

# As Git writes the section; another form, such as `[Remote "origin"]`, is not looked for.
_ORIGIN = '[remote "origin"]'


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
    return frozenset(_origin(config.decode(errors="replace")))


def _origin(config: str) -> Iterator[str]:
    """Yield the addresses of `origin` as `git remote add` writes them.

    Source: git-config(1), "Syntax".
    """
    inside = False
    for line in map(_plain, config.splitlines()):
        key, _, address = line.partition("=")
        if line.startswith("["):
            inside = line == _ORIGIN
        elif inside and key.strip() == "url" and address:
            # `url = "https://example.com/fleet"`: quotes are allowed, and not part of the value.
            yield address.strip().strip('"')


def _plain(line: str) -> str:
    """Return a line without its comment."""
    for sign in "#;":
        line = line.partition(sign)[0]
    return line.strip()
