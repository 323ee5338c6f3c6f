"""A run of the gate: every target is made what it should be now, and what is done is logged."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from krm_windows.gate.annotations import APART, Cause
from krm_windows.gate.kubernetes import REFUSED, UNANSWERED, ApiError, Cluster
from krm_windows.gate.objects import cut
from krm_windows.gate.target import Action, Change, Observed, closed_by_others, due_change, observe
from krm_windows.gate.timetable import Decision, Target, Timetable

FILES = Path(__file__).parents[2]  # where the ConfigMap has the program, and what it reads
_GATED_BY_ANOTHER = -2  # for a status: another policy keeps it closed, as it may
# What leaves a target as it should not be, and the status of that.
_UNDONE = {Action.NOT_OPENED: REFUSED, Action.LEFT_TO_POLICY: _GATED_BY_ANOTHER}
_TRIES = 5  # to write a target: others write it, too, Flux its status


def log(**fields: object) -> None:
    """Write a record to the log of the Pod: a line of JSON; long texts, as of errors, are cut."""
    short = {key: cut(said) if isinstance(said, str) else said for key, said in fields.items()}
    line = json.dumps(short, default=datetime.isoformat)
    print(f"{line}\n", end="", flush=True)  # noqa: T201 - in one piece, as threads write it, too


class Report(NamedTuple):
    """What is done to a target at an instant, or why nothing is; `observed` is what it is then."""

    target: Target
    observed: Observed
    change: Change
    at: datetime


def _ignore(_: object) -> None:
    """Take a report that nobody asked for."""


@dataclass(frozen=True)
class Gate:
    """A timetable at work: `decides` and `due_change` say what should be, `now` gives the time.

    `observe` reads a target, `log` takes records; `reports` is called with what was done to a
    target, and `warns` with what has failed for all of them. `backwards`: the last target first.
    `files` is the directory of what the ConfigMap holds.
    """

    timetable: Timetable
    decides: Callable[[datetime], Decision]
    now: Callable[[], datetime]
    log: Callable[..., None] = log
    observe: Callable[[Target, object], Observed] = observe
    due_change: Callable[[Timetable, Target, Observed, Decision, datetime], Change] = due_change
    reports: Callable[[Report], None] = _ignore
    warns: Callable[[str], None] = _ignore
    backwards: bool = False
    files: Path = FILES

    @property
    def all_targets(self) -> tuple[Target, ...]:
        """Every target, those that may have to be closed first.

        At an edge two CronJobs start a run each: one goes backwards, and they meet in the middle.
        """
        targets = self.timetable.targets
        return (*(targets[::-1] if self.backwards else targets), *self.timetable.released)

    def announce(self) -> Decision:
        """Log what should be now."""
        now = self.now()
        decision = self.decides(now)
        self.log(
            time=now,
            policy=self.timetable.policy,
            cluster=self.timetable.cluster,
            open=decision.open,
            rules=decision.rules,
            reason=decision.reason,
            since=decision.since,
            until=decision.until,
        )
        return decision

    def run(self, cluster: Cluster, *, allow_missing: bool) -> bool:
        """Make every target what it should be; say whether all are, but for those left to a person.

        Where the clocks of this node and of the API server are apart, the run has failed whatever
        it did: one of the two is wrong.
        """
        cluster.renew(len(self.all_targets))
        statuses = dict(cluster.each(self.all_targets, self._update))
        unanswered = [target for target, status in statuses.items() if status == UNANSWERED]
        statuses |= cluster.each(unanswered, self._update)  # with what time the others have left
        fine = {None, HTTPStatus.NOT_FOUND} if allow_missing else {None, _GATED_BY_ANOTHER}
        failed = [str(target) for target, status in statuses.items() if status not in fine]
        skew = cluster.clocks.seconds
        if cluster.clocks.are_apart:
            way = "ahead of" if skew > 0 else "behind"
            words = f"this node's clock is {abs(skew)} s {way} the API server's"
            self.log(error=f"{words}: nothing was opened")
        self.log(failed=failed, skewSeconds=skew)
        return not failed and not cluster.clocks.are_apart

    def _update(self, cluster: Cluster, target: Target) -> int | None:
        """Update one target, and give the status of a failure, which is its own, of no other."""
        try:
            return self._change(cluster, target)
        except Exception as error:  # noqa: BLE001 - whatever it is
            status = error.status if isinstance(error, ApiError) else REFUSED
            # On a new cluster its namespace may not exist yet, and so neither do the rights in it.
            hint = "not permitted yet: " if status == HTTPStatus.FORBIDDEN else ""
            self.log(target=str(target), error=f"{hint}{words_of(error)}")
            # What is released may be gone already, and stays in the list until that is edited.
            is_gone = status == HTTPStatus.NOT_FOUND and target in self.timetable.released
            return None if is_gone else status

    def _change(self, cluster: Cluster, target: Target) -> int | None:
        """Change a target and judge the answer, at the time it is then, until nothing is left."""
        found = cluster.get(target, self.observe)
        fault = None
        try:
            found = self.take_over(cluster, target, found)
        except ApiError as error:
            fault = error  # another policy counts as before, so this one can still close
        due = self._due(cluster, target, found)
        for _ in range(_TRIES):
            if not due.change.patch:
                break
            # It is judged by the answer, as a webhook of the cluster may have changed the patch.
            found, is_patched = self._patched(cluster, due)
            if is_patched and due.change.action is not Action.NOT_OPENED:  # which is told below
                self._tell(due._replace(observed=found))
            due = self._due(cluster, target, found)
        if due.change.patch:
            raise ApiError(REFUSED, f"still not in the desired state after {_TRIES} attempts")
        if due.change.words:
            self._tell(due)
        if fault:
            raise fault
        return _UNDONE.get(due.change.action)

    def _tell(self, report: Report) -> None:
        change = report.change
        self.log(target=str(report.target), action=change.action, message=change.words)
        self.reports(report)

    def _patched(self, cluster: Cluster, due: Report) -> tuple[Observed, bool]:
        """Patch a target; give it as it is then, and whether this patch is known to be written.

        Where somebody else has changed the target since it was read (409), or no answer came in
        time, it is read again, to be judged anew.
        """
        try:
            return cluster.patch(due.target, due.change.patch, self.observe), True
        except ApiError as error:
            if error.status not in (HTTPStatus.CONFLICT, UNANSWERED):
                raise
            return cluster.get(due.target, self.observe), False

    def take_over(self, cluster: Cluster, target: Target, observed: Observed) -> Observed:
        """Take a target over from policies that no longer gate it, and give it as it is then.

        Whoever may not patch it any more does not gate it: the target was moved, or the policy is
        gone (docs/decisions/0048-a-moved-target-is-taken-over.md). It stays suspended here.
        """
        now = self.now()
        others = sorted(closed_by_others(self.timetable, observed, now))
        gone = [policy for policy in others if not cluster.may_patch(policy, target)]
        if not gone:
            return observed
        words = f"taken over from {', '.join(gone)}"
        decision = self.decides(now)
        if decision.open:
            decision = closed_by_fault(words)  # until it is opened below, perhaps by a hook
        change = self._closing(target, observed, decision, now, *gone)
        found, is_patched = self._patched(cluster, Report(target, observed, change, now))
        if is_patched:  # else the next run takes it over
            taken = Change(change.patch, Action.TAKEN_OVER, words)
            self._tell(Report(target, found, taken, now))
        return found

    def _due(self, cluster: Cluster, target: Target, observed: Observed) -> Report:
        """Say what is due by this node's clock; where it and the API server's are apart, by both.

        What either of them says is closed is closed; what either would open is not opened.
        """
        mine = self._due_at(self.now(), target, observed)
        if not cluster.clocks.are_apart:
            return mine
        both = (mine, self._due_at(mine.at - cluster.clocks.skew, target, observed))
        suspends = [each.change.suspend for each in both]
        if True in suspends:
            return both[suspends.index(True)]
        if False not in suspends:
            return mine
        # Its annotation says why it stays closed, which `status` and the alerts read.
        decision = replace(closed_by_fault(APART), cause=Cause.CLOCK_SKEW)
        patch = self._closing(target, observed, decision, mine.at).patch
        return mine._replace(change=Change(patch, Action.NOT_OPENED, f"not opened: {APART}"))

    def _due_at(self, now: datetime, target: Target, observed: Observed) -> Report:
        change = self.due_change(self.timetable, target, observed, self.decides(now), now)
        return Report(target, observed, change, now)

    def _closing(
        self, target: Target, observed: Observed, decision: Decision, now: datetime, *gone: str
    ) -> Change:
        """Say what keeps a target closed that would be opened, though released or never applied."""
        names = (*self.timetable.former_names, *gone)
        gated = replace(self.timetable, former_names=names, released=(), first_apply="Wait")
        return due_change(gated, target, observed, decision, now)


def closed_by_fault(reason: str) -> Decision:
    """Decide against opening, whatever the calendar says."""
    return Decision(open=False, rules=(), reason=reason, since=None, until=None)


def words_of(error: Exception) -> str:
    """Say what went wrong; what is no answer of the API server, by its type, too."""
    return str(error) if isinstance(error, ApiError) else cut(f"{type(error).__name__}: {error}")
