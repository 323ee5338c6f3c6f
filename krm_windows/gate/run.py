"""A run of the gate: every target is made what it should be now, and what is done is logged."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from krm_windows.gate import clocks
from krm_windows.gate.annotations import APART, Cause
from krm_windows.gate.kubernetes import REFUSED, UNANSWERED, ApiError, Cluster
from krm_windows.gate.objects import cut
from krm_windows.gate.target import Action, Change, Observed, closed_by_others, due_change, observe
from krm_windows.gate.timetable import Decision, Target, Timetable

FILES = Path(__file__).parents[2]  # where the program lies, and what it reads
_GATED_BY_ANOTHER = -2  # for a status: another policy keeps it closed, as it may
# What leaves a target as it should not be, and the status of that.
_UNDONE = {Action.NOT_OPENED: REFUSED, Action.LEFT_TO_POLICY: _GATED_BY_ANOTHER}
_TRIES = 5  # to write a target: others write it, too, Flux its status


def log(**fields: object) -> None:
    """Write a record to the log of the Pod: a line of JSON; long texts, as of errors, are cut."""
    short = {key: cut(said) if isinstance(said, str) else said for key, said in fields.items()}
    # One line is one record, whatever is in it: JSON escapes what would end it.
    line = json.dumps(short, default=datetime.isoformat)
    print(line, flush=True)  # noqa: T201 - this is the log of the Pod


class Report(NamedTuple):
    """What is done to a target at an instant, or why nothing is.

    `observed` is what the target is then.
    """

    target: Target
    observed: Observed
    change: Change
    at: datetime


def _ignore(_: object) -> None:
    """Take a report that nobody asked for."""


@dataclass
class Outcome:
    """What came of one target: its reports; and what failed with which status, None for nothing."""

    reports: list[Report] = field(default_factory=list)
    status: int | None = None
    error: str = ""


@dataclass(frozen=True)
class Gate:
    """A timetable at work: `decides` and `due_change` say what should be, `now` gives the time.

    `observe` reads a target, `log` takes records; `reports` is called with what was done to a
    target, or why it was left to somebody else, and `warns` with what has failed for all of them.
    `backwards` begins with the last target.
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

    @property
    def all_targets(self) -> tuple[Target, ...]:
        """Every target, those that may have to be closed first; `backwards`, the last one first.

        At an edge two CronJobs start a run each. Where one of them begins at the end, they share
        the targets and meet in the middle, instead of both reading and patching each of them.
        """
        targets = self.timetable.targets
        if self.backwards:
            targets = targets[::-1]
        return (*targets, *self.timetable.released)

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

        Those that got no answer in their time are tried again when all had their turn. Where the
        clocks of this node and of the API server are apart, the run has failed whatever it did: one
        of the two is wrong.
        """
        cluster.renew(len(self.all_targets))
        statuses = self._update_all(cluster, self.all_targets)
        # Once more, with what time the others have left.
        unanswered = [target for target, status in statuses.items() if status == UNANSWERED]
        statuses |= self._update_all(cluster, unanswered)
        failed = []
        for target, status in statuses.items():
            if self._is_failure(target, status, allow_missing=allow_missing):
                failed.append(str(target))
        if cluster.clocks.are_apart:  # once more for all, whatever each target says
            self.log(error=cluster.clocks.words())
        self.log(failed=failed, skewSeconds=clocks.seconds_of(cluster.clocks.skew))
        return not failed and not cluster.clocks.are_apart

    def _is_failure(self, target: Target, status: int | None, *, allow_missing: bool) -> bool:
        """Say whether what came of a target is a failure; that it does not exist may be none."""
        if status == HTTPStatus.NOT_FOUND:
            # What is released may be gone already, and stays in the list until that is edited.
            return not (allow_missing or target in self.timetable.released)
        if status == _GATED_BY_ANOTHER:
            # The apply Job tries again: what was applied with it may be taking that policy away.
            return allow_missing
        return status is not None

    def _update_all(
        self,
        cluster: Cluster,
        targets: Sequence[Target],
    ) -> dict[Target, int | None]:
        """Update targets, several at once; give the status of each failure.

        They are reported in their order, whichever ends first.
        """
        statuses: dict[Target, int | None] = {}
        for target, outcome in cluster.each(targets, self._update):
            self._tell(outcome.reports)
            if outcome.error and outcome.status != _GATED_BY_ANOTHER:
                self.log(target=str(target), error=outcome.error)
            statuses[target] = outcome.status
        return statuses

    def _tell(self, reports: Sequence[Report]) -> None:
        for report in reports:
            change = report.change
            self.log(target=str(report.target), action=change.action, message=change.words)
            self.reports(report)

    def take_over(self, cluster: Cluster, target: Target, observed: Observed) -> Observed:
        """Take a target over from policies that no longer gate it, and give it as it is then."""
        reports: list[Report] = []
        found = self._taken_over(cluster, target, observed, reports)
        self._tell(reports)
        return found

    def _update(self, cluster: Cluster, target: Target) -> Outcome:
        """Update one target; any fault is its own, and of no other."""
        outcome = Outcome()
        try:
            self._update_reporting(cluster, target, outcome.reports)
        except ApiError as error:
            outcome.error = words_of(error)
            outcome.status = error.status
            # On a new cluster its namespace may not exist yet, and so neither do the rights in it.
            if error.status == HTTPStatus.FORBIDDEN:
                outcome.error = f"not permitted yet: {outcome.error}"
        except Exception as error:  # noqa: BLE001 - whatever it is
            outcome.error = words_of(error)
            outcome.status = REFUSED
        return outcome

    def _update_reporting(
        self,
        cluster: Cluster,
        target: Target,
        reports: list[Report],
    ) -> None:
        """Change a target and judge the answer, at the time it is then, until nothing is left."""
        found = cluster.get(target, self.observe)
        fault = None
        try:
            found = self._taken_over(cluster, target, found, reports)
        except ApiError as error:
            fault = error  # another policy counts as before, so this one can still close
        due = self._due(cluster, target, found)
        for _ in range(_TRIES):
            if not due.change.patch:
                break
            # It is judged by the answer, as a webhook of the cluster may have changed the patch.
            observed = self._patched(cluster, due)
            if observed is None:
                # A conflict (409): it is another version now, which is judged anew.
                observed = cluster.get(target, self.observe)
            elif due.change.action is not Action.NOT_OPENED:  # which the next round reports
                reports.append(due._replace(observed=observed))
            due = self._due(cluster, target, observed)
        if due.change.patch:
            raise ApiError(REFUSED, f"still not in the desired state after {_TRIES} attempts")
        if due.change.words:
            reports.append(due)
        if fault:
            raise fault
        if due.change.action in _UNDONE:
            raise ApiError(_UNDONE[due.change.action], due.change.words)

    def _taken_over(
        self,
        cluster: Cluster,
        target: Target,
        observed: Observed,
        reports: list[Report],
    ) -> Observed:
        """Make the annotations of policies that no longer gate a target this policy's own.

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
        names = (*self.timetable.former_names, *gone)
        gated = replace(self.timetable, former_names=names, released=(), first_apply="Wait")
        change = due_change(gated, target, observed, decision, now)
        patched = self._patched(cluster, Report(target, observed, change, now))
        if patched is None:
            return cluster.get(target, self.observe)  # the next run takes it over
        taken = Change(change.patch, Action.TAKEN_OVER, words)
        reports.append(Report(target, patched, taken, now))
        return patched

    def _patched(self, cluster: Cluster, due: Report) -> Observed | None:
        """Patch a target; None if somebody else has changed it since it was read."""
        try:
            return cluster.patch(due.target, due.change.patch, self.observe)
        except ApiError as error:
            if error.status == HTTPStatus.CONFLICT:
                return None
            raise

    def _due(
        self,
        cluster: Cluster,
        target: Target,
        observed: Observed,
    ) -> Report:
        """Say what is due by this node's clock; where it and the API server's are apart, by both.

        What either of them says is closed; what only one of them says is not opened.
        """
        mine = self._due_at(self.now(), target, observed)
        if not cluster.clocks.are_apart:
            return mine
        # Read after that: another thread may have stored a larger one, never a smaller one.
        skew = cluster.clocks.skew or timedelta()
        theirs = self._due_at(mine.at - skew, target, observed)
        both = (mine, theirs)
        for each in both:
            if each.change.suspend is True:
                return each
        if all(each.change.suspend is None for each in both):
            return mine
        # One of them would open it.
        change = self._kept_closed(target, observed, mine.at)
        return mine._replace(change=change)

    def _due_at(
        self,
        now: datetime,
        target: Target,
        observed: Observed,
    ) -> Report:
        change = self.due_change(self.timetable, target, observed, self.decides(now), now)
        return Report(target, observed, change, now)

    def _kept_closed(
        self,
        target: Target,
        observed: Observed,
        now: datetime,
    ) -> Change:
        """Leave closed what would be opened, and have its annotation say why.

        `status` and the alerts read that. What is released, or may start, is opened whatever is
        decided: here it is annotated as any other target is.
        """
        gated = replace(self.timetable, released=(), first_apply="Wait")
        decision = replace(closed_by_fault(APART), cause=Cause.CLOCK_SKEW)
        change = due_change(gated, target, observed, decision, now)
        # Of what is closed that changes the annotation, and no more.
        return Change(change.patch, Action.NOT_OPENED, f"not opened: {APART}")


def closed_by_fault(reason: str) -> Decision:
    """Decide against opening, whatever the calendar says."""
    return Decision(open=False, rules=(), reason=reason, since=None, until=None)


def words_of(error: Exception) -> str:
    """Say what went wrong; what is no answer of the API server, by its type, too."""
    if isinstance(error, ApiError):
        return str(error)
    return cut(f"{type(error).__name__}: {error}")
