"""The account of a policy as text: its versions, and below each what was open by it."""

import textwrap
from collections.abc import Iterator

from krm_windows.escape import word
from krm_windows.history.account import Account, Override, Stretch
from krm_windows.history.revisions import Revision, State
from krm_windows.history.simulation_text import COMMIT
from krm_windows.preview.clock import shown
from krm_windows.preview.text import span

STATES = {
    State.READ: "in force",
    State.UNREADABLE: "cannot be read: the version before stays in force",
    State.GONE: "removes the policy: nothing is gated",
    State.ELSEWHERE: "is not for this cluster: nothing is gated",
}
"""What a version means, in words."""
_EDGE = 22
_INSET = "  "


def render(account: Account, width: int) -> str:
    """Return the page; only rules and what people have written make a line wider."""
    return "".join(f"{line.rstrip()}\n" for line in _lines(account, width))


def title(account: Account) -> str:
    """Say whose account it is."""
    if account.cluster is None:
        return account.policy
    return f"{account.policy} on {account.cluster}"


def period(account: Account) -> str:
    """Say which time it is about."""
    first = shown(account.begins, account.zone)
    return f"{first} to {shown(account.ends, account.zone)} ({account.zone.key})"


def totals(account: Account) -> str:
    """Say how long it was open, closed, and without a policy."""
    # The three together are all of the time.
    whole = account.ends - account.begins
    closed = whole - account.open_for - account.without
    found = f"open for {span(account.open_for)}, closed for {span(closed)}"
    if account.without:
        found += f", without a policy for {span(account.without)}"
    return found


def _lines(account: Account, width: int) -> Iterator[str]:
    yield title(account)
    yield period(account)
    yield f"{word(account.path)} of commit {account.head[:COMMIT]}"
    yield totals(account)
    yield ""
    yield "versions, by the committer's time of first parents"
    for revision in account.revisions:
        yield from _wrapped(_version(account, revision), width, _EDGE)
        for problem in revision.problems:
            yield from _wrapped(f"{'':<{_EDGE}}{word(problem)}", width, _EDGE)
    yield ""
    yield f"{'opened':<{_EDGE}}{'closed':<{_EDGE}}{'open for':<12}by"
    for stretch in account.stretches:
        yield from _stretch(account, stretch)
    yield ""
    if not account.overrides:
        yield "no overrides"
        return
    # In the order in which they were made.
    yield "overrides"
    for override in account.overrides:
        yield from _override(account, override, width)


def _version(account: Account, revision: Revision) -> str:
    commit = revision.commit
    found = f"{shown(revision.at, account.zone):<{_EDGE}}{commit.name[:COMMIT]} "
    found += f"{word(commit.author)}: {word(commit.subject)}"
    # What is as it should be needs no word.
    if revision.state is not State.READ:
        found += f" ({STATES[revision.state]})"
    # A rename is part of the story: the file is looked for under that name.
    if revision.path != account.path:
        found += f" (as {word(revision.path)})"
    if revision.behind:
        found += " (its clock is behind the version before: it counts from then)"
    return found


def _stretch(account: Account, stretch: Stretch) -> Iterator[str]:
    """Yield a line for each opening of a version, or what else is to be said of its time."""
    begins = shown(stretch.begins, account.zone)
    ends = shown(stretch.ends, account.zone)
    if stretch.revision is None:
        length = span(stretch.ends - stretch.begins)
        yield f"{begins:<{_EDGE - 1}} {ends:<{_EDGE - 1}} {length:<11} no policy: nothing is gated"
        return
    # A version that was never open has no line below its own.
    yield f"version {stretch.revision.commit.name[:COMMIT]}"
    for opening in account.openings:
        if stretch.begins <= opening.begins < stretch.ends:
            first = shown(opening.begins, account.zone)
            last = shown(opening.ends, account.zone)
            length = span(opening.ends - opening.begins)
            rules = ", ".join(opening.rules)
            edges = f"{first:<{_EDGE - 1}} {last:<{_EDGE - 1}}"
            yield f"{edges} {length:<11} {rules}"


def _override(account: Account, override: Override, width: int) -> Iterator[str]:
    rule = override.rule
    # A reason may be left out, and then that is worth a remark.
    head = f"{_INSET}{rule.key}: {rule.state}, {word(rule.reason) or 'without a reason'}"
    yield from _wrapped(head, width, len(_INSET) * 2)
    yield from _wrapped(f"{_INSET * 2}made {_who(account, override.made)}", width, 6)
    if override.ended is not None:
        words = f"{_INSET * 2}changed or ended {_who(account, override.ended)}"
        yield from _wrapped(words, width, 6)
    for begins, ends in override.spans:
        edges = f"{shown(begins, account.zone)} to {shown(ends, account.zone)}"
        yield f"{_INSET * 2}in force {edges}, {span(ends - begins)}"
    if not override.spans:
        yield f"{_INSET * 2}never in force in this time"


def _who(account: Account, revision: Revision) -> str:
    commit = revision.commit
    at = shown(revision.at, account.zone)
    return f"{at} by {word(commit.author)} in {commit.name[:COMMIT]}"


def _wrapped(text: str, width: int, inset: int) -> list[str]:
    """Return a text in lines, the later ones moved in; no word is cut."""
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=" " * inset,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )
