"""From where something is known: the words for the way of a policy from its file to the cluster.

Written, in Git, rendered, in the cluster: each may be ahead of the next, so none is said for
another. What no cluster was asked about is what should be, and not what is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from krm_windows.plurals import counted
from krm_windows.preview.clock import shown

IN_GIT = "in Git"
NOT_ASKED = "in the cluster: not asked"


@dataclass(frozen=True, slots=True)
class RenderedDirectory:
    """A directory that was rendered from a policy, and whether it is what the policy yields now.

    `is_stale` is None where nobody knows; `reason` then says why. `files` are those that are out of
    date, from the top of the repository as `directory` is. `command` renders it again; it is empty
    where nothing says how it was rendered. `in_git` is whether Git has it as it is, None where that
    is not known.
    """

    directory: str
    is_stale: bool | None
    files: tuple[str, ...] = ()
    reason: str = ""
    command: str = ""
    in_git: bool | None = None

    @property
    def words(self) -> str:
        """Say in a sentence whether it is current, and what to run where it is not."""
        if self.is_stale is False:
            return f"rendered: {self.directory} is current"
        if self.is_stale:
            number = counted(len(self.files), "file")
            return f"rendered: {self.directory} is stale ({number} out of date): run {self.call}"
        return (
            f"rendered: unknown whether {self.directory} is current: {self.reason}; run {self.call}"
        )

    @property
    def call(self) -> str:
        """The command that renders it again, for a person."""
        return self.command or "krm-windows render, with the options that it was rendered with"

    def record(self) -> dict[str, object]:
        """Return it for JSON; null is what is not known."""
        return {
            "directory": self.directory,
            "stale": self.is_stale,
            "files": list(self.files),
            "reason": self.reason or None,
            "command": self.command or None,
            "inGit": self.in_git,
        }


def in_file(file: str, *, uncommitted: bool = False) -> str:
    """Say that something is known from a file, which Git may not have as it is."""
    return f"in {file}, not committed" if uncommitted else f"in {file}"


def asked(at: datetime | None, zone: tzinfo) -> str:
    """Say that a cluster was asked, and when: `in the cluster (asked at Mon 2026-12-14 08:00)`."""
    return NOT_ASKED if at is None else f"in the cluster (asked at {shown(at, zone)})"


def records(directories: Sequence[RenderedDirectory] | None) -> list[dict[str, object]] | None:
    """Return directories for JSON; null where nobody could look."""
    return None if directories is None else [each.record() for each in directories]


def rendered(directories: Sequence[RenderedDirectory] | None) -> Iterator[str]:
    """Yield a sentence for each directory that was rendered from a policy.

    Where there is none it says so, and where nobody could look (None) that it is unknown.
    """
    if directories is None:
        yield "rendered: unknown"
    elif not directories:
        yield "not rendered: no directory of this repository says that it was rendered from it"
    else:
        yield from (each.words for each in directories)
