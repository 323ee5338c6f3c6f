"""One comment on a change, which is edited in place when what it says is no longer so."""

from hashlib import sha256
from urllib.parse import quote

from krm_windows.forge import http
from krm_windows.forge.connect import Connected
from krm_windows.forge.errors import RefusedError
from krm_windows.forge.github import GitHub
from krm_windows.forge.gitlab import GitLab
from krm_windows.forge.http import Record

# Characters. GitHub refuses more than 65,536, the others take more.
_MOST = 60_000
_MOST_COMMENTS = 100


def put(forge: Connected, number: int, name: str, text: str, *, is_news: bool) -> bool:
    """Say something of a change under a name, in place of what was said under it before.

    `text` is Markdown. Where nothing was said before, only news are. Returns whether anything was
    written; raises ForgeError.
    """
    mark = _mark(name)
    content = _cut(f"{mark}\n{text}")
    if isinstance(forge, GitLab):
        project = quote(forge.repository, safe="")
        listed = one = f"projects/{project}/merge_requests/{number}/notes"
        edit, page = "PUT", "per_page"
    else:
        listed = f"{forge.root}/issues/{number}/comments"
        one, edit, page = f"{forge.root}/issues/comments", "PATCH", forge.page
    every = forge.client.pages(listed, {page: _MOST_COMMENTS})
    marked = [each for each in every if http.text(each, "body").startswith(mark)]
    # Anybody can copy a mark. In a comment of somebody else our words would be theirs to change.
    login = _login(forge) if marked else None
    found = next((each for each in marked if _is_by(each, login)), None)
    if found is None and not is_news:
        return False
    if found is None:
        # Not again: the first one may have come, and its answer was lost.
        forge.client.send("POST", listed, {"body": content}, again=False)
        return True
    if _lines(http.text(found, "body")) == _lines(content):
        return False
    forge.client.send(edit, f"{one}/{http.number(found, 'id')}", {"body": content})
    return True


def _login(forge: Connected) -> str | None:
    """Return whose the token is; None where it is an app's, as that of a job on GitHub."""
    try:
        found = http.record(forge.client.get("user"))
    except RefusedError:
        # Elsewhere it lacks the right, and would never find what it has written.
        if not isinstance(forge, GitHub):
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
    return f"{whole}\n\n… the rest is in the log"
