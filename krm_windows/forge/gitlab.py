"""GitLab: REST, `/api/v4`."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from krm_windows.forge import http
from krm_windows.forge.errors import ConflictError
from krm_windows.forge.http import Client, Record
from krm_windows.forge.model import Change, State, Status

_ENTRIES = 100
_STATES = {"success": State.SUCCESS, "pending": State.PENDING, "running": State.PENDING}


@dataclass(frozen=True)
class GitLab:
    """A project, `GROUP/NAME` or deeper, whose changes are merge requests."""

    client: Client
    repository: str

    @property
    def _root(self) -> str:
        return f"projects/{quote(self.repository, safe='')}"

    def open_changes(self) -> Iterator[Change]:
        """Yield the open merge requests, the oldest first."""
        met: set[int] = set()
        order = {"state": "opened", "order_by": "created_at", "sort": "asc"}
        for each in self._listed("merge_requests", **order):
            change = _change(each)
            # The list moves on while it is read.
            if change.number not in met:
                met.add(change.number)
                yield change

    def change(self, number: int) -> Change:
        """Read one merge request anew."""
        return _change(http.record(self.client.get(f"{self._root}/merge_requests/{number}")))

    def changed_files(self, change: Change) -> frozenset[str] | None:
        """Return the paths that it changes (GET …/merge_requests/{iid}/diffs)."""
        found = set()
        for each in self._listed(f"merge_requests/{change.number}/diffs"):
            found |= {http.text(each, "old_path"), http.text(each, "new_path")}
        # `changes_count` ends in a plus where GitLab keeps no more of a large one.
        whole = http.record(self.client.get(f"{self._root}/merge_requests/{change.number}"))
        if http.text(whole, "changes_count").endswith("+"):
            return None
        return frozenset(found - {""})

    def label_setters(self, change: Change, label: str) -> frozenset[str]:
        """Return who has set a label last (GET …/resource_label_events)."""
        found = ""
        for each in self._listed(f"merge_requests/{change.number}/resource_label_events"):
            if http.text(each, "action") == "add" and http.text(each, "label", "name") == label:
                found = http.text(each, "user", "username")
        return frozenset({found} - {""})

    def statuses(self, sha: str) -> dict[str, Status]:
        """Return what is said of a commit last, by name."""
        found: dict[str, Status] = {}
        for each in self._listed(f"repository/commits/{quote(sha, safe='')}/statuses"):
            state = _STATES.get(http.text(each, "status"), State.FAILURE)
            name = http.text(each, "name")
            words = http.text(each, "description")
            found[name] = Status(name, state, words, http.text(each, "target_url"))
        return found

    def set_status(self, sha: str, status: Status) -> None:
        """Say something of a commit (POST …/statuses/{sha})."""
        content: Record = {
            "name": status.context,
            "state": status.state.value,
            "description": status.description,
        }
        if status.link:
            content["target_url"] = status.link
        try:
            self.client.send("POST", f"{self._root}/statuses/{quote(sha, safe='')}", content)
        except ConflictError as error:
            # GitLab refuses to make pending what is pending, and then nothing is to be done.
            if "Cannot transition status" not in str(error):
                raise

    def merge(self, change: Change) -> None:
        """Merge a merge request (PUT …/merge); with another head it is 409."""
        path = f"{self._root}/merge_requests/{change.number}/merge"
        self.client.send("PUT", path, {"sha": change.sha}, again=False)

    def _listed(self, path: str, **query: str | int) -> Iterator[Record]:
        return self.client.pages(f"{self._root}/{path}", **query, per_page=_ENTRIES)


def _change(entry: Record) -> Change:
    labels = entry.get("labels")
    named = []
    if isinstance(labels, list):
        named = [each for each in labels if isinstance(each, str)]
    return Change(
        number=http.number(entry, "iid"),
        sha=http.text(entry, "sha"),
        title=http.text(entry, "title"),
        text=http.text(entry, "description"),
        author=http.text(entry, "author", "username"),
        labels=frozenset(named),
        address=http.text(entry, "web_url"),
    )
