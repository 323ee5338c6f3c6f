"""Who may let a change through a closed window, by a label and with a reason."""

import re
from collections.abc import Collection

from krm_windows.forge.connect import Connected
from krm_windows.forge.model import PullRequest, State
from krm_windows.forge.policies import Verdict

LABEL = "window:exempt"
# A line of its own, as the trailers of Git are.
_REASON = re.compile(r"^window-exempt:[ \t]*(\S[^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_MOST_REASON = 80


def exempted(
    forge: Connected, change: PullRequest, verdict: Verdict, logins: Collection[str]
) -> Verdict:
    """Say whether the label lets a change through that would have to wait; raises ForgeError.

    `logins` are those who may set it.
    """
    setters = forge.label_setters(change, LABEL)
    who = ", ".join(sorted(setters)) or "nobody known"
    reason = _REASON.search(change.text)
    # Where nobody known has set it, it may have come with the change itself.
    if not setters or not set(map(_folded, setters)) <= set(map(_folded, logins)):
        words = f"{LABEL} was set by {who}, who is not allowed to"
    elif reason is None:
        words = f"{LABEL} needs a line `Window-Exempt: reason` in the description"
    else:
        said = reason[1].rstrip()[:_MOST_REASON]
        return Verdict(State.SUCCESS, f"exempt by {who}: {said}")
    return Verdict(State.PENDING, f"{words}; {verdict.words}")


def _folded(name: str) -> str:
    """Return a name to be compared: no forge has two that differ in capital letters alone.

    Of ASCII, that is: to Unicode `straße` is `strasse`, and the Kelvin sign a `k`, but to a forge
    they may be two people. So a name with any other character is equal to itself alone.
    """
    return name.lower() if name.isascii() else name
