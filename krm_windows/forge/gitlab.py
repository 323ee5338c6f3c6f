"""GitLab: REST, `/api/v4`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from krm_windows.forge import http
from krm_windows.forge.errors import ConflictError
from krm_windows.forge.http import Client, Record
from krm_windows.forge.model import (
    CommitState,
    Group,
    Method,
    Progress,
    PullRequest,
    Readiness,
    Status,
    moved,
    once_each,
)

_ENTRIES = 100
_STATES = {
    "success": CommitState.SUCCESS,
    "pending": CommitState.PENDING,
    "running": CommitState.PENDING,
}
# How far a pipeline, or GitLab with `detailed_merge_status`, is; any other pipeline has ended well,
# and any other status is for somebody to deal with.
_PIPELINES = {
    **dict.fromkeys(
        ("created", "waiting_for_resource", "preparing", "pending", "running", "scheduled"),
        Readiness(Progress.PENDING, "its pipeline has not finished"),
    ),
    **dict.fromkeys(
        ("failed", "canceled", "canceling"), Readiness(Progress.BLOCKED, "its pipeline has failed")
    ),
}
_DETAILS = {
    "mergeable": Progress.READY,
    "ci_still_running": Progress.PENDING,
    "status_checks_must_pass": Progress.PENDING,
    # Or there is no pipeline yet.
    "ci_must_pass": Progress.UNKNOWN,
    **dict.fromkeys(("unchecked", "checking", "preparing", "approvals_syncing"), Progress.UNKNOWN),
}
# Where the pipeline says more than GitLab does.
_OF_PIPELINES = ("mergeable", "ci_must_pass", "ci_still_running", "status_checks_must_pass")


@dataclass(frozen=True)
class GitLab:
    """A project, `GROUP/NAME` or deeper, whose changes are merge requests."""

    client: Client
    repository: str

    @property
    def _root(self) -> str:
        # Its whole path stands for its number: `group%2Fname`.
        return f"projects/{quote(self.repository, safe='')}"

    def open_changes(self) -> Iterable[PullRequest]:
        """Yield the open merge requests, the oldest first."""
        order = {"state": "opened", "order_by": "created_at", "sort": "asc"}
        return once_each(map(_change, self._listed("merge_requests", **order)))

    def default_branch(self) -> str:
        """Return the default branch (GET …/projects/{id})."""
        return http.text(http.record(self.client.get(self._root)), "default_branch")

    def change(self, number: int) -> PullRequest:
        """Read one merge request anew."""
        return _change(http.record(self.client.get(f"{self._root}/merge_requests/{number}")))

    def queued(self) -> Iterator[Group]:
        """Yield nothing: a merge train asks by a job of its pipeline."""
        yield from ()

    def statuses(self, sha: str) -> dict[str, Status]:
        """Return what is said of a commit last, by name."""
        found: dict[str, Status] = {}
        for each in self._listed(f"repository/commits/{quote(sha, safe='')}/statuses"):
            # Its jobs are here, too; they are read by their pipeline.
            word = http.text(each, "status")
            name = http.text(each, "name")
            found[name] = Status(
                name,
                _STATES.get(word, CommitState.FAILURE),
                http.text(each, "description"),
                http.text(each, "target_url"),
            )
        return found

    def set_status(self, sha: str, status: Status) -> None:
        """Say something of a commit (POST …/statuses/{sha})."""
        content: Record = {
            "name": status.context,
            # A status is a job of a pipeline here, and has the words of jobs.
            "state": "failed" if status.state is CommitState.FAILURE else status.state.value,
            "description": status.description,
        }
        if status.link:
            content["target_url"] = status.link
        try:
            self.client.send("POST", f"{self._root}/statuses/{quote(sha, safe='')}", content)
        except ConflictError as error:
            # GitLab refuses to make pending what is pending, and then nothing is to be done.
            if not error.reason.startswith("Cannot transition status"):
                raise

    def readiness(self, change: PullRequest, ours: str) -> Readiness:  # noqa: ARG002 - see below
        """Say whether a merge request can be merged now, by `detailed_merge_status`.

        The status that is ours is a job of the pipeline, which waits for it as for any other.
        """
        entry = http.record(self.client.get(f"{self._root}/merge_requests/{change.number}"))
        state = http.text(entry, "state")
        if state == "merged":
            return Readiness(Progress.MERGED)
        if state != "opened":
            return Readiness(Progress.BLOCKED, "it is closed")
        sha = _change(entry).sha
        if sha != change.sha:
            return moved(sha)
        # Such as `mergeable`, or `not_approved`: what keeps it back first.
        found = http.text(entry, "detailed_merge_status")
        # A project need not demand its pipelines; whoever merges unseen waits for them.
        # It has none where there is nothing to be run.
        pipeline = _PIPELINES.get(http.text(entry, "head_pipeline", "status"))
        if pipeline is not None and found in _OF_PIPELINES:
            return pipeline
        progress = _DETAILS.get(found, Progress.BLOCKED)
        return Readiness(progress, f"GitLab reports {found or 'no state'}")

    def merge(self, change: PullRequest, method: Method | None = None) -> None:
        """Merge a merge request (PUT …/merge); with another head it is 409."""
        path = f"{self._root}/merge_requests/{change.number}/merge"
        content: Record = {"sha": change.sha}
        # Whether it is rebased before is a setting of the project.
        if method is not None:
            content["squash"] = method is Method.SQUASH
        self.client.send("PUT", path, content, again=False)

    def approve(self, change: PullRequest, words: str) -> bool:  # noqa: ARG002 - GitLab takes none
        """Approve a merge request at a commit (POST …/approve)."""
        path = f"{self._root}/merge_requests/{change.number}"
        # Again it would be 401, as if the token did not have the right.
        before = http.record(self.client.get(f"{path}/approvals"))
        if before.get("user_has_approved") is True:
            return False
        self.client.send("POST", f"{path}/approve", {"sha": change.sha})
        return True

    def _listed(self, path: str, **query: str | int) -> Iterator[Record]:
        return self.client.pages(f"{self._root}/{path}", {**query, "per_page": _ENTRIES})


def _change(entry: Record) -> PullRequest:
    labels = entry.get("labels")
    named = []
    if isinstance(labels, list):
        named = [each for each in labels if isinstance(each, str)]
    return PullRequest(
        number=http.number(entry, "iid"),
        sha=http.text(entry, "sha"),
        labels=frozenset(named),
        base=http.text(entry, "target_branch"),
    )
