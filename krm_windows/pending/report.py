"""What waits for a policy to open, target by target."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from krm_windows.gate.timetable import Decision, Target
from krm_windows.pending import offers, revisions
from krm_windows.pending.between import Between
from krm_windows.pending.offers import Offer, Waits
from krm_windows.pending.revisions import Head, Sources
from krm_windows.schedule.timetable import Timetable
from krm_windows.status.objects import Address, LiveObject, by_address, find
from krm_windows.status.report import Report as Status
from krm_windows.status.report import Row, Suspension
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.kubectl import Query

Ask = Callable[[Query], list[LiveObject]]
"""Asks for more objects of the cluster; raises WorkspaceError where it may not."""
Look = Callable[[Target, Offer], Between | None]
"""Looks into a repository for what lies between what is applied and what is offered."""


@dataclass(frozen=True, slots=True)
class Opening:
    """When a target takes what waits for it.

    `is_open`: it does so now. `at` is the UTC instant, None where that is more than 400 days away.
    `kept_by` is who else keeps it shut, None where the policy opens it.
    """

    is_open: bool = False
    at: datetime | None = None
    kept_by: Suspension | None = None


@dataclass(frozen=True, slots=True)
class WaitingTarget:
    """A target, what it is offered, and when it takes it; `between` is what a repository says."""

    target: Target
    offer: Offer
    opening: Opening
    between: Between | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """All that waits for a policy in a cluster."""

    timetable: Timetable
    decision: Decision
    entries: tuple[WaitingTarget, ...]

    @property
    def waiting(self) -> tuple[WaitingTarget, ...]:
        """The targets for which something waits, or may wait."""
        # Of one that is not known nobody may believe that it brings nothing.
        return tuple(entry for entry in self.entries if entry.offer.waits is not Waits.NO)


def report(
    status: Status,
    objects: Sequence[LiveObject],
    ask: Ask,
    look: Look | None = None,
    head: Head | None = None,
) -> Pending:
    """Say what waits for the targets of a policy.

    `objects` are those that the status was judged by. Sources that are not among them are
    asked for. `look` and `head` are of a repository, if one is at hand.
    """
    known = by_address(objects)
    found, unread = _sources(status, known, ask)
    sources = Sources(found, unread, head)
    entries = []
    for row in status.rows:
        offer = Offer(Waits.UNKNOWN, notes=("it is missing",))
        live = find(known, row.target)
        if live is not None:
            offer = offers.read(row.target, live, sources)
        opening = _opening(status.decision, row)
        between = look(row.target, offer) if look is not None else None
        entries.append(WaitingTarget(row.target, offer, opening, between))
    return Pending(status.timetable, status.decision, tuple(entries))


def _sources(
    status: Status,
    known: Mapping[Address, LiveObject],
    ask: Ask,
) -> tuple[Mapping[Address, LiveObject], Mapping[Address, str]]:
    """Return the sources of all targets, found in few queries, and why some could not be read."""
    wanted: list[Address] = []
    for row in status.rows:
        live = find(known, row.target)
        if live is not None:
            wanted += offers.wanted(row.target, live)
    # A file has all that there is; and a source may be a target itself, which was read already.
    found = {address: known[address] for address in wanted if address in known}
    missing = [address for address in wanted if address not in found]
    unread: dict[Address, str] = {}
    for query, members in revisions.queries(missing):
        try:
            found.update(by_address(ask(query)))
        except WorkspaceError as error:
            # Who may read the targets need not be allowed to read their sources.
            unread.update(dict.fromkeys(members, str(error)))
    return found, unread


def _opening(decision: Decision, row: Row) -> Opening:
    if row.state == "open":
        return Opening(is_open=True)
    # A hold, a person, or another policy that is closed as well.
    if row.suspension is not None and not row.suspension.lifted:
        return Opening(kept_by=row.suspension)
    # The next run of the gate opens it.
    if decision.open:
        return Opening(is_open=True)
    return Opening(at=decision.until)
