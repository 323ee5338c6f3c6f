"""How far files have come: written, committed, or at the remote, as far as this machine knows.

Nothing of the repository is in force for that (`git_program`), and no remote is asked: what is
there is known from the last push or fetch.
"""

import os
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path

from krm_windows.system import git_layout, git_program
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_layout import Layout
from krm_windows.system.git_program import Git


class Progress(IntEnum):
    """How far files have come; `COMMITTED` where it is not known whether the remote has them."""

    UNKNOWN = 0
    WRITTEN = 1
    COMMITTED = 2
    PUSHED = 3


def of(*files: str | Path) -> Progress:
    """Return how far files have come, all of which are in one repository: the least of them.

    Unknown outside a repository, without Git, and of a repository that is not read.
    """
    paths = [Path(os.path.realpath(file)) for file in files]
    try:
        layout = git_layout.find(paths[0].parent)
        with git_program.opened(layout) as git:
            if not _has(git, "HEAD", layout, paths):
                return Progress.WRITTEN
            upstream = _upstream(git, layout)
            if upstream and _has(git, upstream, layout, paths):
                return Progress.PUSHED
    except (WorkspaceError, OSError, ValueError):
        return Progress.UNKNOWN
    return Progress.COMMITTED


def _has(git: Git, commit: str, layout: Layout, paths: Iterable[Path]) -> bool:
    """Whether the files are at a commit as they are now."""
    names = [path.relative_to(layout.top) for path in paths]
    # A line end in a name would begin another request.
    asked = "".join(f"{commit}:{name}\n" for name in names if "\n" not in str(name))
    ended = git.run("cat-file", "--batch-check=%(objectname)", stdin=os.fsencode(asked))
    found = ended.output.decode(errors="replace").splitlines()
    for path, blob in zip(paths, found, strict=True):
        content = path.read_bytes() if path.exists() else None
        if content is None:
            # A file that is gone here, and was there.
            if git_layout.is_object_name(blob):
                return False
        elif not git_layout.is_object_name(blob) or git_layout.blob_name(content, blob) != blob:
            return False
    return True


def _upstream(git: Git, layout: Layout) -> str:
    """Return the remote-tracking branch of the current one, empty where there is none."""
    head = git.run("symbolic-ref", "--quiet", "--short", "HEAD").output.decode(errors="replace")
    config = git_layout.small(layout.common / "config", 1 << 20) or b"\n"
    values = []
    for key in ("remote", "merge"):
        name = f"branch.{head.strip()}.{key}"
        ended = git.run("config", "--file", "-", "--no-includes", "--get", name, stdin=config)
        values.append(ended.output.decode(errors="replace").strip())
    remote, merge = values
    if not remote or not merge:
        return ""
    return f"refs/remotes/{remote}/{merge.removeprefix('refs/heads/')}"
