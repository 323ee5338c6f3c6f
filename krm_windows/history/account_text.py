"""The account of a policy as text: its versions, and below each what was open by it."""

from collections.abc import Iterator
from datetime import datetime

from krm_windows.history.account import Account, Override
from krm_windows.history.revisions import VersionState
from krm_windows.preview.clock import shown, span
from krm_windows.preview.text import aligned

STATES = {
    VersionState.READ: "in force",
    VersionState.UNREADABLE: "cannot be read: the previous version stays in force",
    VersionState.GONE: "removes the policy: nothing is gated",
    VersionState.ELSEWHERE: "is not for this cluster: nothing is gated",
}
"""What a version means, in words."""


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
    said = f"open for {span(account.open_for)}, closed for {span(closed)}"
    if account.without:
        said += f", without a policy for {span(account.without)}"
    return said


def length(account: Account, begins: datetime, ends: datetime) -> str:
    """Say how long something lasted: what lasts to the end of the account may last longer."""
    return span(ends - begins) + (" so far" if ends == account.ends else "")


def openings(account: Account) -> Iterator[str]:
    """Yield the table of what was open, and of times without a policy."""
    zone = account.zone
    rows = [(each.begins, each.ends, ", ".join(each.rules)) for each in account.openings]
    rows += [
        (each.begins, each.ends, "no policy: nothing is gated")
        for each in account.stretches
        if each.revision is None
    ]
    return aligned(
        ("opened", "closed", "open for", "by"),
        [
            (shown(begins, zone), shown(ends, zone), length(account, begins, ends), by)
            for begins, ends, by in sorted(rows)
        ],
    )


def asked(override: Override) -> str:
    """Say who asked for an override, and where; empty where it does not say."""
    found = {"requested by": override.request.requested_by, "see": override.request.ticket}
    return ", ".join(f"{how} {said}" for how, said in found.items() if said)
