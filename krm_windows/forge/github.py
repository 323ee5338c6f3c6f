"""GitHub, and GitHub Enterprise Server: REST, version 2022-11-28."""

from dataclasses import dataclass

from krm_windows.forge import http
from krm_windows.forge.model import Change
from krm_windows.forge.pulls import Pulls


@dataclass(frozen=True)
class GitHub(Pulls):
    """A repository on GitHub."""

    def label_setters(self, change: Change, label: str) -> frozenset[str]:
        """Return who has set a label last (GET …/issues/{number}/events)."""
        found = ""
        for each in self.listed(f"issues/{change.number}/events"):
            # In order of time, so the last one counts.
            if http.text(each, "event") == "labeled" and http.text(each, "label", "name") == label:
                found = http.text(each, "actor", "login")
        return frozenset({found} - {""})

    def merge(self, change: Change) -> None:
        """Merge a pull request (PUT …/pulls/{number}/merge); with another head it is 409."""
        path = f"{self.root}/pulls/{change.number}/merge"
        # Not again: the first one may have merged, and its answer was lost.
        self.client.send("PUT", path, {"sha": change.sha}, again=False)
