"""Whether Git has a file as it is here, and how its commits get to a remote."""

import os
import shlex
from pathlib import Path

from krm_windows.plurals import counted
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_objects import Objects

# Without pygit2, outside a repository, and in one that is not read.
_UNKNOWN = (ImportError, WorkspaceError, OSError, ValueError)


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
    except _UNKNOWN:
        return None


def push(directory: Path) -> tuple[str, list[str]]:
    """Return how a working tree differs from its remote, by what Git knows here, and what pushes.

    In words, empty where it is the same or nobody knows; and in commands for a shell.
    """
    plain = ["git push"]
    try:
        import pygit2  # noqa: PLC0415 - the extra `git`

        objects = Objects(directory)
    except _UNKNOWN:
        return "", plain
    repository, name = objects.repository, objects.head()
    first = f"git push -u origin {shlex.quote(name or 'NAME')}"
    if not len(repository.remotes):
        return "no remote", ["git remote add origin URL", first]
    if name is None:
        return "on no branch", ["git switch -c NAME", first]
    branch = repository.branches.local.get(name)
    upstream = branch and branch.upstream
    # Git pushes to no branch of another name (git-config(1), push.default).
    if not (branch and upstream and upstream.shorthand.endswith(f"/{name}")):
        return f"{name} has no upstream of its name", [first]
    try:
        ahead, behind = repository.ahead_behind(branch.target, upstream.target)
    except pygit2.GitError:
        return "", plain
    words = [f"{counted(ahead, 'commit')} not pushed"] if ahead else []
    if behind:
        words.append(f"{counted(behind, 'commit')} behind {upstream.shorthand}")
        plain.insert(0, "git pull --rebase")
    return ", ".join(words), plain
