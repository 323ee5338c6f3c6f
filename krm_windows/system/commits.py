"""Commits of some files, in the working tree and with the settings of whoever runs the command.

Unlike where objects of a repository are only read (`git_program`), hooks, signatures and the
user's name are wanted here: the commit is the user's own.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from krm_windows.system import git_layout, programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.programs import Ended, Limits

# A hook may run for a while, and a signature may take a touch of a key.
_LIMITS = Limits(seconds=120.0, output=256 << 20)
# The paths are read from standard input: there may be more than a command takes.
_LISTED = ("--pathspec-from-file=-", "--pathspec-file-nul")


@dataclass(frozen=True, slots=True)
class WorkingTree:
    """The working tree that some files are in; `program` is Git."""

    program: str
    top: Path

    @classmethod
    def of(cls, file: Path) -> "WorkingTree":
        """Find the working tree of a file; raises WorkspaceError without one."""
        program = programs.find("git")
        if program is None:
            raise WorkspaceError("git is not installed: --commit needs it")
        return cls(program, git_layout.find(file.parent).top)

    def check(self, files: Sequence[Path]) -> None:
        """Raise WorkspaceError where a commit of the files would not be what was asked for.

        Each must be as it was committed, and HEAD on a branch.
        """
        # It fails where HEAD is a commit and not a branch (git-symbolic-ref(1)).
        if self._git("symbolic-ref", "--quiet", "HEAD").code != 0:
            raise WorkspaceError(f"{self.top}: HEAD is detached: check out a branch first")
        # Also a file that Git does not know yet counts as changed.
        listed = self._done("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
        # `XY path` (git-status(1)).
        changed = {entry[3:] for entry in listed.split("\0")}
        for file in files:
            if file.relative_to(self.top).as_posix() in changed:
                raise WorkspaceError(
                    f"{file}: has uncommitted changes: commit or restore them first"
                )

    def commit(self, files: Sequence[Path], message: str) -> str:
        """Commit the files, whatever else is staged; return the commit's name."""
        paths = [file.relative_to(self.top).as_posix() for file in files]
        known = set(self._done("ls-files", "-z").split("\0"))
        # Of a file that is new, Git has to be told before it can be committed (git-add(1)).
        new = [path for path in paths if path not in known]
        if new:
            self._done("add", "--intent-to-add", *_LISTED, listed=new)
        try:
            # `--only` leaves what the user has staged for another commit (git-commit(1)).
            arguments = ("commit", "--quiet", "--only", f"--message={message}", *_LISTED)
            self._done(*arguments, listed=paths)
        except WorkspaceError:
            if new:
                self._git("reset", "--quiet", *_LISTED, listed=new)
            raise
        return self._done("rev-parse", "HEAD").strip()

    def _done(self, *arguments: str, listed: Iterable[str] = ()) -> str:
        ended = self._git(*arguments, listed=listed)
        if ended.code != 0:
            said = ended.complaint.strip() or ended.output.decode(errors="replace").strip()
            raise WorkspaceError(f"git {arguments[0]} failed: {said or f'code {ended.code}'}")
        return os.fsdecode(ended.output)

    def _git(self, *arguments: str, listed: Iterable[str] = ()) -> Ended:
        # A path is a name and no pattern; and no question waits for an answer that nobody gives.
        environment = {**os.environ, "GIT_LITERAL_PATHSPECS": "1", "GIT_TERMINAL_PROMPT": "0"}
        command = [self.program, "-C", str(self.top), "--no-pager", *arguments]
        paths = os.fsencode("\0".join(listed))
        return programs.run(command, environment=environment, limits=_LIMITS, stdin=paths)
