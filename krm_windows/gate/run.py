"""A run of the gate: every target is made what it should be now."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path

from krm_windows.gate.annotations import APART, Cause
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.objects import cut
from krm_windows.gate.target import Action, Change, Observed, closed_by, due_change, observe
from krm_windows.gate.timetable import Decision, Target, Timetable

FILES = Path(__file__).parents[2]  # where the ConfigMap has the program, and what it reads
_TRIES = 5  # for a target: others write it, too, Flux its status
_FINAL = range(400, 500)  # what the server refuses, but for these
_PASSING = (HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS)
_APART = Decision(open=False, reason=APART, cause=Cause.CLOCK_SKEW)


def log(**fields: object) -> None:
    """Write a line of JSON to the log of the Pod; long texts are cut."""
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
        """Every target, those that may have to be closed first."""
        # At an edge two CronJobs start a run each, one backwards, and they meet in the middle.
        targets = self.timetable.targets[:: -1 if self.backwards else 1]
        return (*targets, *self.timetable.released)

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
        ends: dict[Target, Change | Exception] = {}
        left = self.all_targets
        for _ in range(_TRIES):
            ends |= cluster.each(left, self._update)  # later ones in the time that is left
            left = tuple(target for target in left if _may_pass(ends[target]))
        failed = [
            str(each) for each in ends if not self._ends_well(each, ends[each], allow_missing)
        ]
        skew = round(cluster.skew.total_seconds())
        if cluster.clocks_are_apart:
            words = f"nothing was opened: this node's clock is {skew:+} s from the API server's"
            self.log(error=words)
        self.log(failed=failed, skewSeconds=skew)
        return not failed and not cluster.clocks_are_apart

    def _update(self, cluster: Cluster, target: Target) -> Change | Exception:
        """Make a target what it should be; give why it is left, or what went wrong."""
        try:
            change = self._due(cluster, target, self.observe(target, cluster.get(target)))
            if change.patch:
                found = self.observe(target, cluster.patch(target, change.patch))
                self._tell(target, change)
                # It is judged by the answer, at the time it is then: a webhook may have changed it.
                change = self._due(cluster, target, found)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this target's alone
            return error
        undone = ApiError(f"still not in the desired state after {_TRIES} attempts")
        return undone if change.patch else change

    def _ends_well(self, target: Target, end: Change | Exception, allow_missing: bool) -> bool:  # noqa: FBT001
        """Log how a target has ended, and say whether that is well."""
        if isinstance(end, Change):
            self._tell(target, end)
            # With `allow_missing` it is tried again soon, when the other's rights may be gone.
            is_left = end.action is Action.LEFT_TO_POLICY and allow_missing
            return not is_left and end.action is not Action.NOT_OPENED
        status = getattr(end, "status", None)
        # In a new cluster the rights in its namespace may not exist yet.
        hint = "not permitted yet: " if status == HTTPStatus.FORBIDDEN else ""
        self.log(target=str(target), error=f"{hint}{words_of(end)}")
        may_miss = allow_missing or target in self.timetable.released
        return may_miss and status == HTTPStatus.NOT_FOUND

    def _tell(self, target: Target, change: Change) -> None:
        if change.words:
            self.log(target=str(target), action=change.action, message=change.words)

    def inherit(self, cluster: Cluster, target: Target, observed: Observed) -> Observed:
        """Take a target over from policies that gate it no more, as they may not patch it."""
        _, others = closed_by(self.timetable, observed, self.now())
        gone = [policy for policy in sorted(others) if not cluster.may_patch(policy, target)]
        return observed._replace(gone=tuple(gone))

    def _due(self, cluster: Cluster, target: Target, observed: Observed) -> Change:
        """Say what is due; while clocks are apart, close what is closed by either, open nothing."""
        now, are_apart = self.now(), cluster.clocks_are_apart
        decision = self.decides(now)
        if are_apart:
            differ = self.decides(now - cluster.skew).open != decision.open
            if differ or (decision.open and observed.suspended):
                decision = _APART  # so the annotation says it, for `status` and the alerts
        change = self.due_change(self.timetable, target, observed, decision, now)
        if not change.patch:  # before it is opened, and where all that is left are annotations
            observed = self.inherit(cluster, target, observed)
            change = self.due_change(self.timetable, target, observed, decision, now)
        waits = decision is _APART and observed.suspended and change == Change({})
        if are_apart and (waits or change.action is Action.OPENED):
            return Change({}, Action.NOT_OPENED, f"not opened: {APART}")
        return change


def _may_pass(end: Change | Exception) -> bool:
    """Say whether it may go otherwise at the next try."""
    if not isinstance(end, ApiError):
        return False
    return end.status not in _FINAL or end.status in _PASSING
