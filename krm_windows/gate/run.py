"""A run of the gate: every target is made what it should be now."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from http import HTTPStatus
from pathlib import Path

from krm_windows.gate.annotations import APART, Cause
from krm_windows.gate.kubernetes import BUSY, REFUSED, UNANSWERED, ApiError, Cluster
from krm_windows.gate.objects import cut, dig
from krm_windows.gate.target import Action, Change, Observed, closed_by, due_change, observe
from krm_windows.gate.timetable import Decision, Target, Timetable

FILES = Path(__file__).parents[2]  # where the ConfigMap has the program, and what it reads
_GATED_BY_ANOTHER = -2  # for a status
# What leaves a target as it should not be.
_UNDONE = {Action.NOT_OPENED: REFUSED, Action.LEFT_TO_POLICY: _GATED_BY_ANOTHER}
_TRIES = 5  # to write a target: others write it, too, Flux its status
_TRIED_AGAIN = (UNANSWERED, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS)


def log(**fields: object) -> None:
    """Write a line of JSON to the log of the Pod; long texts, as of errors, are cut."""
    short = {key: cut(said) if isinstance(said, str) else said for key, said in fields.items()}
    line = json.dumps(short, default=datetime.isoformat)
    print(f"{line}\n", end="", flush=True)  # noqa: T201 - in one piece, as threads write it, too


def words_of(error: Exception) -> str:
    """Say what went wrong."""
    return str(error) if isinstance(error, ApiError) else cut(f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class Gate:
    """A timetable at work; `files` is the directory of what the ConfigMap holds."""

    timetable: Timetable
    decides: Callable[[datetime], Decision]
    now: Callable[[], datetime]
    log: Callable[..., None] = log
    observe: Callable[..., Observed] = observe
    due_change: Callable[..., Change] = due_change
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
        policy, cluster = self.timetable.policy, self.timetable.cluster
        self.log(time=now, policy=policy, cluster=cluster, **asdict(decision))
        return decision

    def run(self, cluster: Cluster, *, allow_missing: bool) -> bool:
        """Make every target what it should be; say whether all are, or are left to a person."""
        cluster.renew(len(self.all_targets))
        statuses = dict(cluster.each(self.all_targets, self._update))
        again = [target for target in statuses if statuses[target] in (UNANSWERED, *BUSY)]
        statuses |= cluster.each(again, self._update)  # in the time that the others have left
        fine = {None, HTTPStatus.NOT_FOUND} if allow_missing else {None, _GATED_BY_ANOTHER}
        failed = [str(target) for target, status in statuses.items() if status not in fine]
        skew = round(cluster.clocks.skew.total_seconds())
        if cluster.clocks.are_apart:
            self.log(
                error=f"nothing was opened: this node's clock is {skew:+} s from the API server's"
            )
        self.log(failed=failed, skewSeconds=skew)
        return not failed and not cluster.clocks.are_apart

    def _update(self, cluster: Cluster, target: Target) -> int | None:
        """Update a target, and give the status of its failure, if it is one."""
        try:
            return self._change(cluster, target)
        except Exception as error:  # noqa: BLE001 - whatever it is
            status = error.status if isinstance(error, ApiError) else REFUSED
            # In a new cluster the rights in its namespace may not exist yet.
            hint = "not permitted yet: " if status == HTTPStatus.FORBIDDEN else ""
            self.log(target=str(target), error=f"{hint}{words_of(error)}")
            is_gone = status == HTTPStatus.NOT_FOUND and target in self.timetable.released
            return None if is_gone else status

    def _change(self, cluster: Cluster, target: Target) -> int | None:
        """Change a target and judge the answer, at the time it is then, until nothing is left."""
        found = self.observe(target, cluster.get(target))
        fault = None
        try:
            found = self.take_over(cluster, target, found)
        except ApiError as error:
            fault = error  # this policy can still close
        change = self._due(cluster, target, found)
        for _ in range(_TRIES):
            if not change.patch:
                break
            # It is judged by the answer, as a webhook may have changed the patch.
            found, is_patched = self._patched(cluster, target, change)
            if is_patched and change.action is not Action.NOT_OPENED:  # which is told below
                self._tell(target, change)
            change = self._due(cluster, target, found)
        if change.patch:
            raise ApiError(f"still not in the desired state after {_TRIES} attempts")
        if change.words:
            self._tell(target, change)
        if fault:
            raise fault
        return _UNDONE.get(change.action)

    def _tell(self, target: Target, change: Change) -> None:
        self.log(target=str(target), action=change.action, message=change.words)

    def _patched(self, cluster: Cluster, target: Target, change: Change) -> tuple[Observed, bool]:
        """Patch a target; give it as it is then, and whether this has changed it for certain."""
        try:
            return self.observe(target, cluster.patch(target, change.patch)), True
        except ApiError as error:
            # Somebody was faster, or it may be written, whatever the answer says.
            found = self.observe(target, cluster.get(target))
            is_same = found.version == dig(change.patch, "metadata", "resourceVersion")
            if is_same and error.status not in _TRIED_AGAIN:
                raise
            return found, False

    def take_over(self, cluster: Cluster, target: Target, observed: Observed) -> Observed:
        """Take a target over from policies that no longer gate it, as they may not patch it.

        Gives it as it is then (ADR 48).
        """
        now = self.now()
        _, others = closed_by(self.timetable, observed, now)
        gone = [policy for policy in sorted(others) if not cluster.may_patch(policy, target)]
        if not gone:
            return observed
        words = f"taken over from {', '.join(gone)}"
        decision = self.decides(now)
        if decision.open:
            decision = Decision(
                open=False, reason=words
            )  # until it is opened below, perhaps by a hook
        change = self._closing(target, observed, decision, now, *gone)
        found, is_patched = self._patched(cluster, target, change)
        if is_patched:  # else the next run takes it over
            self._tell(target, Change({}, Action.TAKEN_OVER, words))
        return found

    def _due(self, cluster: Cluster, target: Target, observed: Observed) -> Change:
        """Say what is due. What either clock says is closed is closed, if they are apart."""
        now = self.now()
        are_apart = cluster.clocks.are_apart
        changes = [
            self.due_change(self.timetable, target, observed, self.decides(at), at)
            for at in ((now, now - cluster.clocks.skew) if are_apart else (now,))
        ]
        # What closes comes first, then what opens.
        change = min(changes, key=lambda change: (True, False, None).index(change.suspend))
        if are_apart and change.suspend is False:
            # The annotation says so, for `status` and the alerts.
            fault = Decision(open=False, reason=APART, cause=Cause.CLOCK_SKEW)
            patch = self._closing(target, observed, fault, now).patch
            change = Change(patch, Action.NOT_OPENED, f"not opened: {APART}")
        return change

    def _closing(
        self, target: Target, observed: Observed, decision: Decision, now: datetime, *gone: str
    ) -> Change:
        """Say what keeps a target closed, though released or never applied."""
        names = (*self.timetable.former_names, *gone)
        gated = replace(self.timetable, former_names=names, released=(), first_apply="Wait")
        return due_change(gated, target, observed, decision, now)
