"""What waits for a policy to open, target by target."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from krm_windows.gate.timetable import Decision, Target
from krm_windows.pending import offers, revisions
from krm_windows.pending.between import Between
from krm_windows.pending.offers import Offer, Waits
from krm_windows.pending.revisions import Head, Sources, nowhere
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


def _nothing(target: Target, offer: Offer) -> None:
    """Look nowhere."""
    del target, offer


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
class Entry:
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
    entries: tuple[Entry, ...]

    @property
    def waiting(self) -> tuple[Entry, ...]:
        """The targets for which something waits, or may wait."""
        # Of one that is not known nobody may believe that it brings nothing.
        found = [entry for entry in self.entries if entry.offer.waits is not Waits.NO]
        return tuple(found)

    @property
    def images(self) -> tuple[str, ...]:
        """The images that are new, in order, each once."""
        # Two targets may run one image: it is fetched once.
        found: set[str] = set()
        for entry in self.entries:
            if entry.between is not None:
                found.update(entry.between.images)
        return tuple(sorted(found))

    @property
    def gaps(self) -> tuple[str, ...]:
        """Say what is not known of each target, so that no image list is taken for complete."""
        found: list[str] = []
        for entry in self.entries:
            target = entry.target
            found += [f"{target}: {gap}" for gap in _gaps(entry)]
        # Both trees of a target may have the same gap.
        return tuple(dict.fromkeys(found))


def _gaps(entry: Entry) -> Iterator[str]:
    # A target whose offer is not known may bring any image.
    if entry.offer.waits is Waits.UNKNOWN:
        yield from entry.offer.notes
    if entry.between is not None:
        yield from entry.between.gaps


@dataclass(frozen=True, slots=True)
class Lookups:
    """Whom to ask for what the objects of a cluster do not say."""

    ask: Ask
    look: Look = _nothing
    head: Head = nowhere


def report(
    status: Status,
    objects: Sequence[LiveObject],
    lookups: Lookups,
) -> Pending:
    """Say what waits for the targets of a policy.

    `objects` are those that the status was judged by. Sources that are not among them are
    asked for.
    """
    known = by_address(objects)
    sources = _sources(status, known, lookups)
    entries = []
    for row in status.rows:
        offer = Offer(Waits.UNKNOWN, notes=("it is missing",))
        live = find(known, row.target)
        if live is not None:
            offer = offers.read(row.target, live, sources)
        opening = _opening(status.decision, row)
        between = lookups.look(row.target, offer)
        entries.append(Entry(row.target, offer, opening, between))
    return Pending(status.timetable, status.decision, tuple(entries))


def _sources(
    status: Status,
    known: Mapping[Address, LiveObject],
    lookups: Lookups,
) -> Sources:
    """Find the sources of all targets, in few queries."""
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
            answer = lookups.ask(query)
            found.update(by_address(answer))
        except WorkspaceError as error:
            # Who may read the targets need not be allowed to read their sources.
            for address in members:
                unread[address] = str(error)
    return Sources(found, unread, lookups.head)


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
