"""Gitea and Forgejo: REST, `/api/v1`."""

from dataclasses import dataclass
from typing import ClassVar

from krm_windows.forge.http import Record
from krm_windows.forge.model import Method, Progress, PullRequest, Readiness
from krm_windows.forge.pulls import Pulls


@dataclass(frozen=True)
class Gitea(Pulls):
    """A repository on Gitea or Forgejo. A page has 50 entries at most, unless its owner says so."""

    page: ClassVar[str] = "limit"
    entries: ClassVar[int] = 50
    order: ClassVar[dict[str, str]] = {"state": "open", "sort": "oldest"}
    state: ClassVar[str] = "status"
    approves: ClassVar[str] = "APPROVED"

    def mergeable(self, entry: Record, checks: Readiness) -> Readiness:
        """Say whether it can be merged; a review that is missing is said by the merge itself."""
        if checks.progress is not Progress.READY or entry.get("mergeable") is True:
            return checks
        # Also false while Gitea looks for conflicts, which it does for a moment after every push.
        return Readiness(Progress.UNKNOWN, "it conflicts with its base branch")

    def merge(self, change: PullRequest, method: Method | None = None) -> None:
        """Merge a pull request (POST …/pulls/{index}/merge); with another head it is 409."""
        path = f"{self.root}/pulls/{change.number}/merge"
        # Never with `force_merge`, by which an administrator passes over the branch's rules.
        how = method or Method.MERGE
        content: Record = {
            "Do": how.value,
            "head_commit_id": change.sha,
        }
        self.client.send("POST", path, content, again=False)
