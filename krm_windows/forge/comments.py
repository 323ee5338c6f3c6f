"""One comment on a change, which is edited in place when what it says is no longer so."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote

from krm_windows.forge import http
from krm_windows.forge.errors import RefusedError
from krm_windows.forge.github import GitHub
from krm_windows.forge.gitlab import GitLab
from krm_windows.forge.http import Client, Record
from krm_windows.forge.pulls import Pulls

# Characters. GitHub refuses more than 65,536, the others take more.
_MOST = 60_000
_MOST_COMMENTS = 100


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments of a change: those of `listed`; one is at `one`, and is changed by `edit`.

    `page` is the parameter that says how many a page has, `has_apps` whether a token may be that of
    an app, which may not ask who it is.
    """

    client: Client
    listed: str
    one: str
    edit: str
    page: str
    has_apps: bool = False

    @classmethod
    def of(cls, forge: object, number: int) -> "Comments":
        """Return those of a pull request, or merge request."""
        if isinstance(forge, GitLab):
            project = quote(forge.repository, safe="")
            notes = f"projects/{project}/merge_requests/{number}/notes"
            return cls(forge.client, notes, notes, "PUT", "per_page")
        if isinstance(forge, Pulls):
            root = f"{forge.root}/issues"
            listed = f"{root}/{number}/comments"
            has_apps = isinstance(forge, GitHub)
            return cls(forge.client, listed, f"{root}/comments", "PATCH", forge.page, has_apps)
        raise TypeError(forge)

    def put(self, name: str, text: str, *, is_news: bool) -> bool:
        """Say something under a name, in place of what was said under it before.

        `text` is Markdown. Where nothing was said before, only news are. Returns whether anything
        was written; raises ForgeError.
        """
        content = _cut(f"{_mark(name)}\n{text}")
        found = self._found(_mark(name))
        if found is None and not is_news:
            return False
        if found is None:
            # Not again: the first one may have come, and its answer was lost.
            self.client.send("POST", self.listed, {"body": content}, again=False)
            return True
        if _lines(http.text(found, "body")) == _lines(content):
            return False
        path = f"{self.one}/{http.number(found, 'id')}"
        self.client.send(self.edit, path, {"body": content})
        return True

    def _found(self, mark: str) -> Record | None:
        """Return the comment with a mark that this token has written.

        Anybody can copy a mark. In a comment of somebody else our words would be theirs to change.
        """
        marked = [each for each in self._every() if http.text(each, "body").startswith(mark)]
        if not marked:
            return None
        login = self._login()
        return next((each for each in marked if _is_by(each, login)), None)

    def _every(self) -> Iterator[Record]:
        return self.client.pages(self.listed, **{self.page: _MOST_COMMENTS})

    def _login(self) -> str | None:
        """Return whose the token is; None where it is an app's, as that of a job on GitHub."""
        try:
            found = http.record(self.client.get("user"))
        except RefusedError:
            # Elsewhere it lacks the right, and would never find what it has written.
            if not self.has_apps:
                raise
            return None
        return http.text(found, "login") or http.text(found, "username")


def _is_by(entry: Record, login: str | None) -> bool:
    # GitLab calls it so.
    author = http.text(entry, "user", "login") or http.text(entry, "author", "username")
    if login is not None:
        return author == login
    # Nobody writes as an app but an app.
    return http.text(entry, "user", "type") == "Bot"


def _mark(name: str) -> str:
    """Return what is not shown of a comment, and is found again. A name may be any text."""
    return f"<!-- krm-windows {sha256(name.encode()).hexdigest()[:16]} -->"


def _lines(text: str) -> list[str]:
    # A forge may change the line ends, and those at the end.
    return text.rstrip().splitlines()


def _cut(text: str) -> str:
    """Leave out lines at the end where there are too many."""
    if len(text) <= _MOST:
        return text
    whole, _, _ = text[:_MOST].rpartition("\n")
    left = text.count("\n") - whole.count("\n")
    return f"{whole}\n\n… and {left} more lines in the log"
