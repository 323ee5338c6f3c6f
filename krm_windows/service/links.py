"""Where a browser finds a commit: at the forge that the remote is on."""

import re

from krm_windows.forge import connect
from krm_windows.service.settings import Settings

# What follows the address of a repository. Any other host may be anything: there is a setting.
_COMMIT = "commit/{commit}"
_HOSTS = {
    **dict.fromkeys(("github.com", "codeberg.org", "gitea.com"), _COMMIT),
    "gitlab.com": f"-/{_COMMIT}",
}
# `https://ada:secret@host:443/acme/fleet.git`, `ssh://git@host/…`, or `git@host:acme/fleet.git`
# (git-fetch(1), "Git URLs"); what is before the host is never passed on.
_REMOTE = re.compile(
    r"(?:(?:https?|ssh)://(?:[^@/]*@)?|[^@/:]+@)(?P<host>[\w.-]+)(?::\d+)?[:/]/?"
    r"(?P<path>[\w.-]+(?:/[\w.-]+)+)/?"
)


def commit_pattern(settings: Settings, remote: str) -> str | None:
    """Return the address of each commit, with `{commit}` for its name; None where none is known.

    `remote` is the address that the branch is pushed to.
    """
    if settings.commitUrl is not None:
        return settings.commitUrl
    proposals = settings.proposals
    if proposals is not None and proposals.url is not None:
        above, _, repository = proposals.url.rstrip("/").partition("/repos/")
        return f"{connect.site(above)}/{repository}/{_COMMIT}"
    found = _REMOTE.fullmatch(remote)
    if found is None or found["host"].lower() not in _HOSTS:
        return None
    host = found["host"].lower()
    return f"https://{host}/{found['path'].removesuffix('.git')}/{_HOSTS[host]}"
