"""What waits for a closed policy, as pages show it: what is known now, without waiting for more."""

from dataclasses import dataclass

from krm_windows.gate.timetable import Decision
from krm_windows.service.admission import Call
from krm_windows.service.policies import Stored
from krm_windows.service.waiting import Arrived, Asked, Found


@dataclass(frozen=True, slots=True)
class Waits:
    """What has come to the branch, and what was found of it for the targets.

    `found` is None while nobody has looked yet; `is_asked` says whether somebody does.
    """

    arrived: Arrived
    found: Found | None
    is_asked: bool

    @property
    def is_nothing(self) -> bool:
        """Whether it is known that nothing waits."""
        if not self.arrived.is_complete:
            return False
        if not self.arrived.commits:
            return True
        return self.found is not None and self.found.is_known and self.found.count == 0

    @property
    def is_known(self) -> bool:
        """Whether it is known what waits."""
        return self.found is not None and self.found.is_known


def of(call: Call, stored: Stored, cluster: str | None, decision: Decision | None) -> Waits | None:
    """Return what is known of a closed policy, and have more found out; None for another one."""
    if decision is None or decision.open:
        return None
    windows = call.windows
    arrived = windows.waiting.arrived(decision, windows.snapshot.commit)
    if arrived.old is None or not arrived.commits or windows.waiting.clusters is None:
        return Waits(arrived, None, is_asked=False)
    asked = Asked(stored, cluster, arrived.old, arrived.tip)
    found = windows.waiting.known(asked)
    if found is None:
        # It is there when the page is loaded again.
        windows.waiting.find(asked)
    return Waits(arrived, found, is_asked=True)
