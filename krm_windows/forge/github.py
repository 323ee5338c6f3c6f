"""GitHub, and GitHub Enterprise Server: REST, version 2022-11-28."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from krm_windows.forge import http, queue
from krm_windows.forge.http import Record
from krm_windows.forge.model import (
    CommitState,
    Group,
    Method,
    Progress,
    PullRequest,
    Readiness,
)
from krm_windows.forge.pulls import Pulls

# Of a check run that is completed; any other conclusion is a failure.
_CONCLUSIONS = {
    "success": CommitState.SUCCESS,
    "neutral": CommitState.SUCCESS,
    "skipped": CommitState.SUCCESS,
}
# `unstable` is mergeable, with a status that is not a success: what the branch does not demand, or
# ours. `blocked` may be what was so before our status, and a check may not have begun, too.
_STATES = {
    **dict.fromkeys(("clean", "has_hooks", "unstable"), Progress.READY),
    **dict.fromkeys(("behind", "dirty"), Progress.BLOCKED),
}


@dataclass(frozen=True)
class GitHub(Pulls):
    """A repository on GitHub."""

    def queued(self) -> Iterator[Group]:
        """Yield what is in the merge queues (GET …/git/matching-refs/{ref})."""
        refs = http.records(
            self.client.get(f"{self.root}/git/matching-refs/heads/gh-readonly-queue/")
        )
        for each in refs:
            found = queue.group(http.text(each, "ref"), http.text(each, "object", "sha"))
            if found is not None:
                yield found

    def check_runs(self, sha: str) -> dict[str, CommitState]:
        """Return the states of check runs (GET …/commits/{ref}/check-runs), the latest of each."""
        found = {}
        path = f"{self.root}/commits/{quote(sha, safe='')}/check-runs"
        for each in self.client.pages(path, {self.page: self.entries}, "check_runs"):
            conclusion = http.text(each, "conclusion")
            state = _CONCLUSIONS.get(conclusion, CommitState.FAILURE)
            # It has no conclusion yet.
            if http.text(each, "status") != "completed":
                state = CommitState.PENDING
            found[http.text(each, "name")] = state
        return found

    def mergeable(self, entry: Record, checks: Readiness) -> Readiness:
        """Say whether it can be merged, by `mergeable_state` (GraphQL's MergeStateStatus)."""
        # What runs or has failed is the better reason for being `blocked`.
        if checks.progress is not Progress.READY:
            return checks
        # `blocked` counts, although the token of somebody who may bypass rules could merge it.
        state = http.text(entry, "mergeable_state")
        progress = _STATES.get(state, Progress.UNKNOWN)
        return Readiness(progress, f"GitHub reports {state or 'no state'}")

    def merge(self, change: PullRequest, method: Method | None = None) -> None:
        """Merge a pull request (PUT …/pulls/{number}/merge); with another head it is 409."""
        path = f"{self.root}/pulls/{change.number}/merge"
        content: Record = {"sha": change.sha}
        if method is not None:
            content["merge_method"] = method.value
        # Not again: the first one may have merged, and its answer was lost.
        self.client.send("PUT", path, content, again=False)
