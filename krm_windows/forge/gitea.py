"""Gitea and Forgejo: REST, `/api/v1`."""

from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import quote

from krm_windows.forge import http
from krm_windows.forge.http import Record
from krm_windows.forge.model import (
    Files,
    Method,
    Progress,
    PullRequest,
    Readiness,
)
from krm_windows.forge.pulls import Pulls


@dataclass(frozen=True)
class Gitea(Pulls):
    """A repository on Gitea or Forgejo. A page has 50 entries at most, unless its owner says so."""

    page: ClassVar[str] = "limit"
    entries: ClassVar[int] = 50
    order: ClassVar[dict[str, str]] = {"state": "open", "sort": "oldest"}
    state: ClassVar[str] = "status"
    approves: ClassVar[str] = "APPROVED"

    def compared(self, base: str, sha: str) -> Files:
        """Return the paths that merging a commit into a branch changes.

        They are those that any of its commits touches, of a merge against the branch merged into.
        """
        found = set()
        for commit in http.records(self.compare(base, sha).get("commits")):
            for each in http.records(commit.get("files")):
                found.add(http.text(each, "filename"))
        # Gitea leaves out what becomes a link, or none (modules/git, parseCommitFileStatus).
        branch = http.record(self.client.get(f"{self.root}/branches/{quote(base, safe='')}"))
        before, after = map(self._kinds, (http.text(branch, "commit", "id"), sha))
        found |= {path for path in before.keys() & after.keys() if before[path] != after[path]}
        return frozenset(found - {""})

    def _kinds(self, sha: str) -> dict[str, str]:
        """Return what the paths of a commit are, by their modes (GET …/git/trees/{sha})."""
        found: dict[str, str] = {}
        path = f"{self.root}/git/trees/{quote(sha, safe='')}"
        for each in self.client.pages(path, {"recursive": "true", "per_page": 1000}, "tree"):
            # Of `100644`, `120000` or `160000`, so that a file that is made executable counts by
            # its commit alone.
            found[http.text(each, "path")] = http.text(each, "mode")[:3]
        return found

    def label_setters(self, change: PullRequest, label: str) -> frozenset[str]:
        """Return who has set a label last (GET …/issues/{index}/timeline)."""
        events = self.listed(f"issues/{change.number}/timeline")
        # The body of such an entry is 1 where a label was set, and empty where it was removed.
        added = (
            each
            for each in events
            if (http.text(each, "type"), http.text(each, "body")) == ("label", "1")
        )
        return http.last_setter(added, label, "user", "login")

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
