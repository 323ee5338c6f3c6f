"""The account of a policy as text: its versions, and below each what was open by it."""

import textwrap
from collections.abc import Iterator
from itertools import islice

from krm_windows.escape import word
from krm_windows.history.account import Account, Override, Stretch
from krm_windows.history.revisions import Revision, State
from krm_windows.history.simulation_text import COMMIT
from krm_windows.preview import stages
from krm_windows.preview.clock import shown
from krm_windows.preview.text import aligned, block, is_narrow, span

Row = tuple[str, str, str, str]
"""The cells of an opening: two instants, a length, and rules."""
STATES = {
    State.READ: "in force",
    State.UNREADABLE: "cannot be read: the previous version stays in force",
    State.GONE: "removes the policy: nothing is gated",
    State.ELSEWHERE: "is not for this cluster: nothing is gated",
}
"""What a version means, in words."""
_EDGE = 22
_INSET = "  "


def render(account: Account, width: int) -> str:
    """Return the page; only rules and what people have written make a line wider."""
    lines = [line.rstrip() for line in _lines(account, width)]
    return "".join(f"{line}\n" for line in lines)


def title(account: Account) -> str:
    """Say whose account it is."""
    if account.cluster is None:
        return account.policy
    return f"{account.policy} on {account.cluster}"


def period(account: Account) -> str:
    """Say which time it is about."""
    zone = account.zone
    first = shown(account.begins, zone)
    last = shown(account.ends, zone)
    return f"{first} to {last} ({zone.key})"


def totals(account: Account) -> str:
    """Say how long it was open, closed, and without a policy."""
    # The three together are all of the time.
    whole = account.ends - account.begins
    closed = whole - account.open_for - account.without
    parts = [
        f"open for {span(account.open_for)}",
        f"closed for {span(closed)}",
    ]
    if account.without:
        parts.append(f"without a policy for {span(account.without)}")
    return ", ".join(parts)


def _lines(account: Account, width: int) -> Iterator[str]:
    yield title(account)
    yield period(account)
    # Somebody else may read the same from it years later.
    path = word(account.path)
    yield f"{stages.IN_GIT}: {path} of commit {account.head[:COMMIT]}"
    yield stages.NOT_ASKED
    yield totals(account)
    yield ""
    yield "versions (committer time, first parents only)"
    for revision in account.revisions:
        line = _version(account, revision)
        yield from _wrapped(line, width, _EDGE)
        for problem in revision.problems:
            # Below the words of its version, right of the times.
            line = " " * _EDGE + word(problem)
            yield from _wrapped(line, width, _EDGE)
    yield ""
    yield from _openings(account, width)
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
    at = shown(revision.at, account.zone).ljust(_EDGE)
    author = word(commit.author)
    subject = word(commit.subject)
    found = f"{at}{commit.name[:COMMIT]} {author}: {subject}"
    # What is as it should be needs no word.
    if revision.state is not State.READ:
        found += f" ({STATES[revision.state]})"
    # A rename is part of the story: the file is looked for under that name.
    if revision.path != account.path:
        found += f" (as {word(revision.path)})"
    if revision.behind:
        found += " (its commit time is before that of the previous version, whose time is used)"
    return found


def _openings(account: Account, width: int) -> Iterator[str]:
    """Yield the table of what was open, and a line above what was so by a version."""
    if is_narrow(width):
        yield "opened to closed"
        for stretch in account.stretches:
            yield from filter(None, [_name(stretch)])
            for row in _rows(account, stretch):
                yield from block(row)
        return
    parts = [(_name(stretch), list(_rows(account, stretch))) for stretch in account.stretches]
    every: list[Row] = []
    for _, rows in parts:
        every += rows
    # All are aligned, so each is as wide as the widest of any version.
    head, *lines = aligned(["opened", "closed", "open for", "by"], every)
    yield head
    remaining = iter(lines)
    for name, rows in parts:
        if name:
            yield name
        yield from islice(remaining, len(rows))


def _name(stretch: Stretch) -> str:
    if stretch.revision is None:
        return ""
    return f"version {stretch.revision.commit.name[:COMMIT]}"


def _rows(account: Account, stretch: Stretch) -> Iterator[Row]:
    """Yield each opening of a version, or what else is to be said of its time."""
    begins = shown(stretch.begins, account.zone)
    ends = shown(stretch.ends, account.zone)
    if stretch.revision is None:
        length = span(stretch.ends - stretch.begins)
        yield begins, ends, length, "no policy: nothing is gated"
        return
    # A version that was never open has no line below its own.
    for opening in account.openings:
        if stretch.begins <= opening.begins < stretch.ends:
            first = shown(opening.begins, account.zone)
            last = shown(opening.ends, account.zone)
            length = span(opening.ends - opening.begins)
            rules = ", ".join(opening.rules)
            yield first, last, length, rules


def _override(account: Account, override: Override, width: int) -> Iterator[str]:
    rule = override.rule
    # A reason may be left out, and then that is worth a remark.
    reason = word(rule.reason) or "without a reason"
    head = f"{_INSET}{rule.key}: {rule.state}, {reason}"
    below = _INSET * 2
    yield from _wrapped(head, width, len(below))
    request = asked(override)
    if request:
        yield from _wrapped(f"{below}{word(request)}", width, len(below) + len(_INSET))
    made = _who(account, override.made)
    # What goes on is moved in once more, so that it is no statement of its own.
    inset = len(_INSET) * 3
    yield from _wrapped(f"{below}made {made}", width, inset)
    if override.ended is not None:
        ended = _who(account, override.ended)
        yield from _wrapped(f"{below}changed or ended {ended}", width, inset)
    for begins, ends in override.spans:
        first = shown(begins, account.zone)
        last = shown(ends, account.zone)
        length = span(ends - begins)
        yield f"{below}in force {first} to {last}, {length}"
    # Made for later, say, and taken back before.
    if not override.spans:
        yield f"{below}never in force in this period"


def asked(override: Override) -> str:
    """Say who asked for an override, and where; empty where it does not say."""
    request = override.request
    parts = []
    if request.requested_by:
        parts.append(f"requested by {request.requested_by}")
    if request.ticket:
        parts.append(f"see {request.ticket}")
    return ", ".join(parts)


def _who(account: Account, revision: Revision) -> str:
    commit = revision.commit
    at = shown(revision.at, account.zone)
    author = word(commit.author)
    return f"{at} by {author} in {commit.name[:COMMIT]}"


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
