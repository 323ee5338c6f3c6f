"""What the policies say of a change: whether it may land at an instant, and why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter

from krm_windows.forge.model import CommitState
from krm_windows.forge.reach import Change, Reach, Targets
from krm_windows.gate.timetable import Decision
from krm_windows.preview.calendar import named
from krm_windows.preview.clock import shown
from krm_windows.schedule import timeline
from krm_windows.schedule.timetable import Timetable

# Before the name of a policy, in a label that puts a change under it.
SCHEDULED = "window:"


class Policy:
    """A policy for a cluster, and what it gates."""

    def __init__(self, timetable: Timetable, reach: Reach | Targets) -> None:
        """Prepare a policy to be asked; raises LookupError without the rules of its zone."""
        self.timetable = timetable
        self.reach = reach

    @property
    def label(self) -> str:
        """The label that puts a change under it: `window:` and its `metadata.name`."""
        # It is known as `namespace/name`.
        name = self.timetable.policy.rpartition("/")[2]
        return f"{SCHEDULED}{name}"

    def decide(self, at: datetime) -> Decision:
        """Say whether it is open, as its gate in the cluster does."""
        return timeline.decide(self.timetable, at)

    def why(self, change: Change, labels: frozenset[str]) -> str | None:
        """Say why it gates a change, in a few words or none; None where it does not."""
        found = self.reach.why(change)
        if found is None and self.label in labels:
            return ""
        return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a change may land, and why."""

    state: CommitState
    words: str

    @property
    def may_land(self) -> bool:
        """Whether it may land now."""
        return self.state is CommitState.SUCCESS


@dataclass(frozen=True, slots=True)
class Decided:
    """What a policy is at an instant, and why it gates a change, in a few words or none."""

    policy: Policy
    decision: Decision
    why: str = ""

    @property
    def words(self) -> str:
        """What it is, until when and why, such as `open until Thu 17:00: flux-system/week`."""
        timetable = self.policy.timetable
        until = "for more than 400 days"
        if self.decision.until is not None:
            until = f"until {shown(self.decision.until, timetable.zone)} {timetable.zone.key}"
        word = "open" if self.decision.open else "closed"
        # A reviewer wants to know what the change does there.
        why = f"; {self.why}" if self.why and not self.decision.open else ""
        return f"{word} {until}: {named(timetable)} ({self.decision.reason}){why}"

    @property
    def until(self) -> float:
        """Until when it stays so, in seconds since 1970; without an end where that is far."""
        until = self.decision.until
        return float("inf") if until is None else until.timestamp()


def decide(policies: Iterable[Policy], at: datetime) -> list[Decided]:
    """Return what some policies are at an instant."""
    return [Decided(policy, policy.decide(at)) for policy in policies]


def judge(
    policies: Sequence[Policy],
    change: Change,
    labels: frozenset[str],
    at: datetime,
) -> Verdict:
    """Say whether a change may land at an instant, by the policies that gate it."""
    gating = []
    for policy in policies:
        why = policy.why(change, labels)
        if why is not None:
            gating.append(Decided(policy, policy.decide(at), why))
    if gating:
        verdict = conclude(gating)
    else:
        verdict = Verdict(CommitState.SUCCESS, "changes nothing that a window gates")
    return noted(verdict, change)


def noted(verdict: Verdict, change: Change) -> Verdict:
    """Say what a change does to the policies themselves, which makes it wait for nobody.

    First, since a status is cut at its end.
    """
    notes = change.effect.notes
    if not notes:
        return verdict
    others = f" (and {len(notes) - 1} more of policies)" if len(notes) > 1 else ""
    return replace(verdict, words=f"{notes[0]}{others}; {verdict.words}")


def conclude(decided: Sequence[Decided]) -> Verdict:
    """Say whether a change that some policies gate may land: none may be closed."""
    closed = [each for each in decided if not each.decision.open]
    if not closed:
        # It may land until the first of them closes.
        return Verdict(CommitState.SUCCESS, min(decided, key=attrgetter("until")).words)
    # And it waits until the last of them opens. A status has 140 characters: room for one of them.
    words = max(closed, key=attrgetter("until")).words
    if len(closed) > 1:
        words += f" and {len(closed) - 1} more"
    return Verdict(CommitState.PENDING, words)
