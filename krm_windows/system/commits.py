"""Commits of one file, in the working tree and with the settings of whoever runs the command.

Unlike where objects of a repository are only read (`git_program`), hooks, signatures and the
user's name are wanted here: the commit is the user's own.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from krm_windows.system import git_layout, programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Person
from krm_windows.system.programs import Ended, Limits

# A hook may run for a while, and a signature may take a touch of a key.
_LIMITS = Limits(seconds=120.0, output=1 << 20)


@dataclass(frozen=True, slots=True)
class WorkingTree:
    """The working tree that a file is in; `program` is Git."""

    program: str
    top: Path
    file: Path

    @classmethod
    def of(cls, file: Path) -> "WorkingTree":
        """Find the working tree of a file; raises WorkspaceError without one."""
        program = programs.find("git")
        if program is None:
            raise WorkspaceError("git is not installed: --commit needs it")
        return cls(program, git_layout.find(file.parent).top, file)

    def check(self, branch: str | None) -> None:
        """Raise WorkspaceError where a commit of the file would not be what was asked for.

        The file must be as it was committed, HEAD on a branch, and that `branch` if one is given.
        """
        # `main`; fails where HEAD is a commit and not a branch (git-symbolic-ref(1)).
        head = self._git("symbolic-ref", "--quiet", "--short", "HEAD")
        current = head.output.decode(errors="replace").strip()
        if head.code != 0:
            raise WorkspaceError(f"{self.top}: HEAD is detached: check out a branch first")
        if branch is not None and current != branch:
            raise WorkspaceError(f"{self.top}: is on branch {current}, not on {branch}")
        # Also a file that Git does not know yet counts as changed.
        status = self._done("status", "--porcelain", "--untracked-files=all", "--", str(self.file))
        if status.strip():
            raise WorkspaceError(
                f"{self.file}: has uncommitted changes: commit or restore them first"
            )

    def commit(self, message: str, author: Person | None) -> str:
        """Commit the file, whatever else is staged; return the commit's name."""
        # `--only` leaves what the user has staged for another commit (git-commit(1)).
        arguments = ["commit", "--quiet", "--only", f"--message={message}"]
        if author is not None:
            arguments.append(f"--author={author.name} <{author.email}>")
        self._done(*arguments, "--", str(self.file))
        return self._done("rev-parse", "HEAD").strip()

    def _done(self, *arguments: str) -> str:
        ended = self._git(*arguments)
        if ended.code != 0:
            said = ended.complaint.strip() or ended.output.decode(errors="replace").strip()
            raise WorkspaceError(f"git {arguments[0]} failed: {said or f'code {ended.code}'}")
        return ended.output.decode(errors="replace")

    def _git(self, *arguments: str) -> Ended:
        # A path is a name and no pattern; and no question waits for an answer that nobody gives.
        environment = {**os.environ, "GIT_LITERAL_PATHSPECS": "1", "GIT_TERMINAL_PROMPT": "0"}
        command = [self.program, "-C", str(self.top), "--no-pager", *arguments]
        return programs.run(command, environment=environment, limits=_LIMITS)
