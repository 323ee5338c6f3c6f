"""What the forges have in common: changes, their files, and what is said of a commit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto


class CommitState(Enum):
    """What is said of a commit; the words are those of GitHub and Gitea."""

    SUCCESS = "success"
    PENDING = "pending"
    # Said to a queue, where to wait is to hold up others.
    FAILURE = "failure"


class Method(Enum):
    """How a change is merged; the words are those of GitHub and Gitea."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"


class Progress(Enum):
    """How far a change is on its way to be merged."""

    READY = auto()
    # Its checks run.
    PENDING = auto()
    # The forge has not made up its mind, which it does in seconds.
    UNKNOWN = auto()
    # Somebody has to do something.
    BLOCKED = auto()
    MERGED = auto()


@dataclass(frozen=True, slots=True)
class Readiness:
    """How far a change is, and what it waits for."""

    progress: Progress
    words: str = ""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """An open pull request, or merge request.

    `number` is unique in its repository, `sha` the commit at its head when it was read, and
    `base` the branch that it is to be merged into.
    """

    number: int
    sha: str
    labels: frozenset[str]
    base: str


def once_each(changes: Iterable[PullRequest]) -> Iterable[PullRequest]:
    """Return changes, each once.

    A list moves on while its pages are read: where a change is closed meanwhile, another comes on
    two pages.
    """
    return {change.number: change for change in changes}.values()


@dataclass(frozen=True, slots=True)
class Group:
    """What a merge queue would merge: a commit on its way into a branch, for a change.

    `base` is the commit that it would be merged onto: that of the branch, or of the queue ahead.
    """

    sha: str
    base: str
    branch: str
    number: int

    def change(self) -> PullRequest:
        """Return what is known of the change without asking for it."""
        return PullRequest(self.number, self.sha, frozenset(), self.branch)


@dataclass(frozen=True, slots=True)
class Status:
    """What is said of a commit under a name (`context`)."""

    context: str
    state: CommitState
    description: str
    link: str = ""


def moved(sha: str) -> Readiness:
    """Say that somebody has pushed: what is merged would be a commit that nobody judged."""
    return Readiness(Progress.BLOCKED, f"its head has moved to {sha[:12]}: check again")


def checked(states: Mapping[str, CommitState]) -> Readiness:
    """Say what the checks of a commit, by name, leave to be waited for."""
    # A failure first: what else runs changes nothing. Of several by name, so that the same one is
    # said from one look to the next.
    for state, progress, words in (
        (CommitState.FAILURE, Progress.BLOCKED, "has failed"),
        (CommitState.PENDING, Progress.PENDING, "has not finished"),
    ):
        names = sorted(name for name, found in states.items() if found is state)
        if names:
            return Readiness(progress, f"the check {names[0]} {words}")
    return Readiness(Progress.READY)
