"""The account of a policy as text: its versions, and below each what was open by it."""

from collections.abc import Iterator
from itertools import islice

from krm_windows.history.account import Account, Override, Stretch
from krm_windows.history.revisions import State
from krm_windows.history.simulation_text import COMMIT
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


def openings(account: Account, width: int) -> Iterator[str]:
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


def asked(override: Override) -> str:
    """Say who asked for an override, and where; empty where it does not say."""
    request = override.request
    parts = []
    if request.requested_by:
        parts.append(f"requested by {request.requested_by}")
    if request.ticket:
        parts.append(f"see {request.ticket}")
    return ", ".join(parts)
