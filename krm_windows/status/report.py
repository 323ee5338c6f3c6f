"""What is true of a policy in a cluster at an instant, judged by what the gate would do."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from krm_windows.emit import names
from krm_windows.gate import timetable as gate
from krm_windows.gate.annotations import HOLD, Cause, ClosedBy
from krm_windows.gate.objects import dig
from krm_windows.gate.target import Action, Observed, believed_annotations, due_change, observe
from krm_windows.gate.timetable import Decision, Target
from krm_windows.plan.model import Plan
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Timetable
from krm_windows.status.delivery import UNKNOWN, Delivery, compare
from krm_windows.status.failures import Failure, newest
from krm_windows.status.objects import Address, LiveObject, by_address, find
from krm_windows.status.runs import Run, last

Desired = Literal["open", "closed"]
State = Literal[Desired, "missing"]


class Suspender(StrEnum):
    """What keeps a target closed."""

    PERSON = "Person"
    HOLD = "Hold"
    POLICY = "Policy"
    EDGE = "Edge"
    """A CronJob of the actuator `Kubectl`, or a person: it writes no annotation."""
    UNREADABLE = "Unreadable"
    """Nothing is known: the object cannot be read."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """Who keeps a target closed.

    `since` and `until` are UTC, from the closed-by annotation, None without one.
    """

    kind: Suspender
    policy: str = ""
    """As `namespace/name`, perhaps a former name of the policy that is judged; empty for others."""
    reason: str = ""
    """Why, as far as that says more than the calendar; of a hold, what the person wrote."""
    cause: Cause | None = None
    """What else than the calendar a policy keeps it closed for.

    With `CLOCK_SKEW` no run can say what it should be.
    """
    is_own: bool = False
    """Whether the policy is the one that is judged."""
    adopted: bool = False
    """Whether somebody else suspended it, and the policy takes that for its own."""
    since: datetime | None = None
    until: datetime | None = None
    lifted: bool = False
    """Whether the policy lifts it when it opens: nobody else keeps the target closed, too."""

    @property
    def words(self) -> str:
        """Say it to a person; a reason may have several lines."""
        policy = "this policy" if self.is_own else f"policy {self.policy}"
        words = {
            Suspender.PERSON: "a person",
            Suspender.HOLD: "held",
            Suspender.POLICY: f"{policy}, adopted" if self.adopted else policy,
            Suspender.EDGE: "an edge, or a person",
            Suspender.UNREADABLE: "cannot be read",
        }[self.kind]
        return f"{words}: {self.reason}" if self.reason else words


@dataclass(frozen=True, slots=True)
class Row:
    """A target: what it is, and what it should be.

    `as_desired`, too, where the gate leaves it to somebody else.
    """

    target: Target
    state: State
    desired: Desired
    as_desired: bool
    suspension: Suspension | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A policy in a cluster: what should hold, the last run of its gate, and its targets."""

    timetable: Timetable
    decision: Decision
    last_run: Run | None
    rows: tuple[Row, ...]
    stopped: tuple[str, ...] = ()
    """What of its CronJobs is gone, or suspended, in words."""
    delivery: Delivery = UNKNOWN
    """Whether the cluster has these windows."""
    failure: Failure | None = None
    """What kept a run from running since the last one that succeeded."""
    has_jobs: bool = True
    """Whether Jobs or CronJobs were read: else nobody knows of runs."""

    @property
    def as_desired(self) -> bool:
        """Whether every target is as it should be, and there is one, and runs are started.

        Where nothing was read, nothing is known. By other windows than these the gate does
        something else at its next run.
        """
        if not self.rows or self.stopped or self.delivery.current is False:
            return False
        return all(row.as_desired for row in self.rows)

    def is_overdue(self, at: datetime, interval: timedelta) -> bool:
        """Whether no run has succeeded for two intervals, so that it is worth to ask why."""
        # One that failed has kept nothing as it should be.
        if self.last_run is None or not self.last_run.succeeded:
            return True
        return at - self.last_run.at > 2 * interval


def report(
    plan: Plan,
    objects: Sequence[LiveObject],
    at: datetime,
    *,
    has_asked: bool = False,
    has_windows: bool = False,
) -> Report:
    """Judge the objects of a cluster by a policy, at an aware instant.

    `has_asked`: whether its CronJobs would be among the objects; else they are judged where any
    CronJob is. `has_windows`: likewise of its ConfigMaps, which not everybody may read.
    """
    timetable, runs_gate = plan.timetable, plan.runs_gate
    judge = _Judge(shipped(timetable), decide(timetable, at), at, runs_gate=runs_gate)
    label = names.label(timetable.policy)
    last_run = last(objects, label)
    own = [names.cron_job(plan, each) for each in plan.triggers]
    # A file of targets alone says nothing of CronJobs: none is missing for that.
    kinds = {live.get("kind") for live in objects}
    is_judged = has_asked or "CronJob" in kinds
    # What went wrong before the last success is over.
    since = last_run.at if last_run and last_run.succeeded else None
    return Report(
        timetable=timetable,
        decision=judge.decision,
        last_run=last_run,
        rows=tuple(judge.rows(by_address(objects))),
        stopped=tuple(_stopped(own, plan.namespace, objects) if is_judged else ()),
        delivery=compare(plan, objects, has_asked=has_windows if runs_gate else has_asked),
        failure=newest(objects, label, own, since),
        has_jobs=has_asked or not kinds.isdisjoint(("CronJob", "Job")),
    )


def _stopped(own: Iterable[str], namespace: str, objects: Sequence[LiveObject]) -> Iterator[str]:
    """Yield each CronJob of a policy that starts nothing: without them nobody opens or closes."""
    found = by_address(objects)
    for name in own:
        cron_job = found.get(("batch", "CronJob", namespace, name))
        if cron_job is None:
            yield f"CronJob {namespace}/{name} not found: was it pruned, or never applied?"
        elif dig(cron_job, "spec", "suspend") is True:
            yield f"CronJob {namespace}/{name} is suspended, so it starts no runs"


@dataclass(frozen=True, slots=True)
class _Judge:
    timetable: gate.Timetable
    decision: Decision
    at: datetime
    runs_gate: bool

    def rows(self, objects: Mapping[Address, LiveObject]) -> Iterator[Row]:
        """Yield a row for every target, and for each released one that exists."""
        for target in (*self.timetable.targets, *self.timetable.released):
            live = find(objects, target)
            if live:
                yield self._row(target, live)
            elif target not in self.timetable.released:
                yield Row(target, "missing", self._desired(target), as_desired=False)

    def _row(self, target: Target, live: LiveObject) -> Row:
        desired = self._desired(target)
        try:
            observed = observe(target, live)
        except ValueError as error:
            # What the gate refuses to read it leaves as it is: its field is taken for unset.
            unread = Suspension(Suspender.UNREADABLE, reason=str(error))
            return Row(target, "open", desired, as_desired=False, suspension=unread)
        hold = observed.annotations.get(HOLD) if self.runs_gate else None
        if not observed.suspended and hold is not None:
            # Somebody resumed it after that, or the hold did not suspend it: one of two people
            # takes it for shut.
            held = Suspension(Suspender.HOLD, reason=hold)
            return Row(target, "open", "closed", as_desired=False, suspension=held)
        # What would be written into the field now, None where it would be left as it is. `Kubectl`
        # writes no annotations: what an edge wrote is what should be.
        closes = desired == "closed"
        turned = None if closes == observed.suspended else closes
        if self.runs_gate:
            due = due_change(self.timetable, target, observed, self.decision, self.at).action
            turned = {Action.CLOSED: True, Action.OPENED: False}.get(due)
        if not observed.suspended:
            # A target that the gate leaves open although the policy is closed is being applied for
            # the first time.
            return Row(target, "open", "closed" if turned else "open", as_desired=turned is None)
        if turned is not None:
            desired = "closed" if turned else "open"
        by = self._suspension(target, observed)
        # One of two clocks is wrong: that it stays closed is no sign of health.
        as_desired = turned is None and by.cause is not Cause.CLOCK_SKEW
        return Row(target, "closed", desired, as_desired, by)

    def _desired(self, target: Target) -> Desired:
        is_open = self.decision.open or target in self.timetable.released
        return "open" if is_open else "closed"

    def _suspension(self, target: Target, observed: Observed) -> Suspension:
        """Say whose a suspension is: a hold's, else that of the policy that closes it now."""
        if not self.runs_gate:
            # An edge lifts whatever it finds.
            return Suspension(Suspender.EDGE, lifted=True)
        # A hold is of a person, and comes before all policies.
        if HOLD in observed.annotations:
            return Suspension(Suspender.HOLD, reason=observed.annotations[HOLD])
        said = believed_annotations(observed, self.at)
        if said:
            return self._by_annotations(said)
        # Without the annotation: `firstApply` or `adoptUntil` would have the gate lift it all the
        # same.
        change = due_change(self.timetable, target, observed, self.decision, self.at)
        if change.patch:
            policy = self.timetable.policy
            return Suspension(Suspender.POLICY, policy, is_own=True, adopted=True, lifted=True)
        return Suspension(Suspender.PERSON)

    def _by_annotations(self, said: Sequence[ClosedBy]) -> Suspension:
        """Say which policy keeps it closed now: this one while it is closed, else another."""
        own = self.timetable.own_names
        mine = [each for each in said if each.policy in own]
        others = [each for each in said if each.policy not in own]
        # While this policy is open, it is another that keeps it closed.
        first = [*others, *mine][0] if self.decision.open else [*mine, *others][0]
        # A reason says more than the calendar where clocks are apart, or the gate has closed in the
        # time that is open now, for a hook.
        edges = (self.decision.since, self.decision.until)
        is_of_now = self.decision.open and (first.since, first.until) == edges
        says_more = is_of_now or first.cause is Cause.CLOCK_SKEW
        return Suspension(
            Suspender.POLICY,
            first.policy,
            first.reason if says_more else "",
            first.cause if says_more else None,
            is_own=first.policy in own,
            since=first.since,
            until=first.until,
            lifted=not others,
        )
