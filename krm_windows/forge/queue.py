"""GitHub's merge queue: a branch for each change that it tests, and an event that names one."""

import re
from dataclasses import replace

from krm_windows.forge.errors import ForgeError
from krm_windows.forge.http import record, text
from krm_windows.forge.model import Group
from krm_windows.krm import InputError, plain_json

# Such as `refs/heads/gh-readonly-queue/main/pr-104-79d5d2ac…`: the branch, the number of the pull
# request, and the commit that it is merged onto.
_REF = re.compile(r"refs/heads/gh-readonly-queue/(.+)/pr-([0-9]{1,9})-([0-9a-f]{40,64})")
_SHA = re.compile(r"[0-9a-f]{40,64}")


def group(ref: str, sha: str) -> Group | None:
    """Return what a branch of a queue is there for; None where it is another branch."""
    found = _REF.fullmatch(ref)
    if found is None:
        return None
    # It goes into requests, and to git.
    if not _SHA.fullmatch(sha):
        return None
    branch, number, base = found.groups()
    return Group(
        sha,
        base=base,
        branch=branch,
        number=int(number),
    )


def event(content: bytes) -> Group:
    """Read the payload of the event `merge_group`, as a workflow finds it in GITHUB_EVENT_PATH.

    Raises ForgeError where it is that of another event.
    """
    try:
        payload = plain_json.read(content)
    except (ValueError, InputError):
        raise ForgeError("the event is not JSON") from None
    merged = record(payload).get("merge_group")
    if not isinstance(merged, dict):
        raise ForgeError("the event is not a merge queue event: it has no merge_group")
    ref = text(merged, "head_ref")
    found = group(ref, text(merged, "head_sha"))
    # With others ahead in the queue this is the last of them, and not the tip of the branch.
    base = text(merged, "base_sha")
    if found is None or not _SHA.fullmatch(base):
        raise ForgeError("the event names no branch of a merge queue")
    return replace(found, base=base)
