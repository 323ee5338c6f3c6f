"""Commits of some files, in the working tree and with the settings of whoever runs the command.

Unlike where objects of a repository are only read (`git_program`), hooks, signatures and the
user's name are wanted here: the commit is the user's own.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from krm_windows.system import git_layout, programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.programs import Ended, Limits

# A hook may run for a while, and a signature may take a touch of a key.
_MOST_PATHS = 500
_LIMITS = Limits(seconds=120.0, output=1 << 20)


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
        for chunk in _chunks(files):
            arguments = ("status", "--porcelain", "-z", "--untracked-files=all", "--", *chunk)
            # `XY path` (git-status(1)).
            changed = self._done(*arguments).partition("\0")[0][3:]
            if changed:
                raise WorkspaceError(
                    f"{self.top / changed}: has uncommitted changes: commit or restore them first"
                )

    def commit(self, files: Sequence[Path], message: str) -> str:
        """Commit the files, whatever else is staged; return the commit's name."""
        listed = "\0".join(map(str, files)).encode()
        paths = ("--pathspec-from-file=-", "--pathspec-file-nul")
        known: set[str] = set()
        for chunk in _chunks(files):
            known.update(self._done("ls-files", "-z", "--", *chunk).split("\0"))
        # Of a file that is new, Git has to be told before it can be committed (git-add(1)).
        new = [file for file in files if str(file.relative_to(self.top)) not in known]
        for chunk in _chunks(new):
            self._done("add", "--intent-to-add", "--", *chunk)
        # `--only` leaves what the user has staged for another commit (git-commit(1)).
        arguments = ("commit", "--quiet", "--only", f"--message={message}", *paths)
        try:
            self._done(*arguments, stdin=listed)
        except WorkspaceError:
            for chunk in _chunks(new):
                self._git("reset", "--quiet", "--", *chunk)
            raise
        return self._done("rev-parse", "HEAD").strip()

    def _done(self, *arguments: str, stdin: bytes = b"") -> str:
        ended = self._git(*arguments, stdin=stdin)
        if ended.code != 0:
            said = ended.complaint.strip() or ended.output.decode(errors="replace").strip()
            raise WorkspaceError(f"git {arguments[0]} failed: {said or f'code {ended.code}'}")
        return ended.output.decode(errors="replace")

    def _git(self, *arguments: str, stdin: bytes = b"") -> Ended:
        # A path is a name and no pattern; and no question waits for an answer that nobody gives.
        environment = {**os.environ, "GIT_LITERAL_PATHSPECS": "1", "GIT_TERMINAL_PROMPT": "0"}
        command = [self.program, "-C", str(self.top), "--no-pager", *arguments]
        return programs.run(command, environment=environment, limits=_LIMITS, stdin=stdin)


def _chunks(files: Sequence[Path]) -> Iterator[list[str]]:
    """Yield paths, so many at a time as a command takes (`git status` reads no list)."""
    for start in range(0, len(files), _MOST_PATHS):
        yield [str(file) for file in files[start : start + _MOST_PATHS]]
