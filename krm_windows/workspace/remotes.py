"""The addresses that a checked-out repository has, read from Git's own file as text: nothing in it is in force."""

import re
from collections.abc import Iterator
from pathlib import Path

from krm_windows.workspace import git_layout
from krm_windows.workspace.errors import WorkspaceError

_ORIGIN = re.compile(r"\[remote \"origin\"\]\s*(?:[#;].*)?\Z")
_URL = re.compile(r"url\s*=\s*\"?([^\"#;]+?)\"?\s*(?:[#;].*)?\Z")
_MOST = 256 * 1024


def addresses(directory: Path) -> frozenset[str]:
    """Return the addresses of `origin`, none where a directory is not the top of a repository."""
    try:
        layout = git_layout.find(directory)
        config = git_layout.small(layout.common / "config", _MOST)
    except (OSError, WorkspaceError):
        return frozenset()
    if config is None or layout.top != directory.resolve():
        return frozenset()
    return frozenset(_origin(config.decode(errors="replace")))


def _origin(config: str) -> Iterator[str]:
    """Yield the addresses of `origin` in the form that `git remote add` writes (git-config(1), "Syntax")."""
    inside = False
    for line in map(str.strip, config.splitlines()):
        if line.startswith("["):
            inside = _ORIGIN.match(line) is not None
        found = _URL.match(line)
        if inside and found:
            yield found[1]
