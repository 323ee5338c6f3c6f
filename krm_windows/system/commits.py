"""A commit of some files by the user's own Git: with their hooks, signature and name."""

import os
import shlex
from collections.abc import Collection, Iterable
from pathlib import Path

from krm_windows import escape
from krm_windows.system import git_progress, programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.programs import Limits

# A hook may run for a while, and a signature may take a touch of a key.
_LIMITS = Limits(seconds=120.0, output=256 << 20)
# Read from standard input: there may be more paths than a command takes.
_LISTED = ("--pathspec-from-file=-", "--pathspec-file-nul")


def check(top: Path, path: str) -> None:
    """Raise WorkspaceError where a commit of a file would take along what was changed before."""
    if _git(top, "status", "--porcelain", "--untracked-files=no", "--", path):
        raise WorkspaceError(f"{path} has uncommitted changes: commit or restore them first")


def refusal(top: Path, path: str) -> str:
    """Say why no commit of a file can be made, where `check` finds that."""
    try:
        check(top, path)
    except WorkspaceError as error:
        return str(error)
    return ""


def commit(top: Path, paths: Collection[str], message: str) -> str:
    """Commit files by their paths from the top, whatever else is staged; return its name."""
    known = set(_git(top, "ls-files", "-z").split("\0"))
    new = [path for path in paths if path not in known and (top / path).exists()]
    if new:
        # Not staged, so that no other commit has them where this one fails.
        _git(top, "add", "--intent-to-add", *_LISTED, listed=new)
    every = [*new, *known.intersection(paths)]
    _git(top, "commit", "--quiet", "--only", f"--message={message}", *_LISTED, listed=every)
    return _git(top, "rev-parse", "HEAD").strip()


def by_hand(top: Path, paths: Iterable[str], message: str) -> str:
    """Return the lines that do the same in a shell, if there are any paths, and push.

    None outside a repository.
    """
    if not (top / ".git").exists():
        return ""
    listed = [os.path.relpath(top / path) for path in paths]
    commit = ("git", "commit", "-m", message, "--", *listed)
    add = ("git", "add", "--", *listed)
    calls = [shlex.join(add), shlex.join(commit)] if listed else []
    _, pushing = git_progress.push(top)
    return escape.lines(f"  {call}" for call in [*calls, *pushing])


def _git(top: Path, *arguments: str, listed: Collection[str] = ()) -> str:
    program = programs.find("git")
    if program is None:
        raise WorkspaceError("git is not installed")
    # A path is a name and no pattern.
    environment = {**os.environ, "GIT_LITERAL_PATHSPECS": "1"}
    command = [program, "-C", str(top), *arguments]
    paths = os.fsencode("\0".join(listed))
    ended = programs.run(command, environment=environment, limits=_LIMITS, stdin=paths)
    if ended.code != 0:
        said = ended.complaint.strip() or ended.output.decode(errors="replace")
        # Git's advice has lines.
        words = " ".join(said.split())
        raise WorkspaceError(f"git {arguments[0]} failed with exit status {ended.code}: {words}")
    return os.fsdecode(ended.output)
