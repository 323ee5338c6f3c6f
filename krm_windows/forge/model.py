"""What the forges have in common: changes, their files, and what is said of a commit."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class State(Enum):
    """What is said of a commit; the words are those of GitHub and Gitea."""

    SUCCESS = "success"
    PENDING = "pending"
    # Only read: nothing here says it.
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Change:
    """An open pull request, or merge request.

    `number` is unique in its repository, `sha` the commit at its head when it was read.
    """

    number: int
    sha: str
    title: str
    text: str
    author: str
    labels: frozenset[str]
    address: str


@dataclass(frozen=True, slots=True)
class Status:
    """What is said of a commit under a name (`context`)."""

    context: str
    state: State
    description: str
    link: str = ""


class Forge(Protocol):
    """A repository on a forge. Every method raises ForgeError."""

    def open_changes(self) -> Iterator[Change]:
        """Yield the open changes, each once, the oldest first."""

    def change(self, number: int) -> Change:
        """Read one change anew."""

    def changed_files(self, change: Change) -> frozenset[str] | None:
        """Return the paths that it changes, those that it renames under both names.

        None where the forge does not list them all.
        """

    def label_setters(self, change: Change, label: str) -> frozenset[str]:
        """Return who has set a label that the change has now: the last one to do so."""

    def statuses(self, sha: str) -> dict[str, Status]:
        """Return what is said of a commit last, by context."""

    def set_status(self, sha: str, status: Status) -> None:
        """Say something of a commit."""

    def merge(self, change: Change) -> None:
        """Merge a change if its head is still the one that was read.

        Raises ConflictError where it is not, or where the forge does not let it be merged.
        """
