"""A run of the gate: every target is made what it should be now."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
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

    def find(self, cluster: Cluster, target: Target) -> Observed | None:
        """Read a target as `_inherit` gives it; None if it does not exist."""
        try:
            return self._inherit(cluster, target, self.observe(target, cluster.get(target)))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def _inherit(self, cluster: Cluster, target: Target, observed: Observed) -> Observed:
        """Take a target over from policies that gate it no more, as they may not patch it."""
        _, others = closed_by(self.timetable, observed, self.now())
        gone = [policy for policy in sorted(others) if not cluster.may_patch(policy, target)]
        return observed._replace(gone=tuple(gone))

    def _due(self, cluster: Cluster, target: Target, observed: Observed) -> Change:
        """Say what is due. What either clock says is closed is closed, if they are apart."""
        now, clocks = self.now(), cluster.clocks
        decision = self.decides(now)
        change = self.due_change(self.timetable, target, observed, decision, now)
        if not change.patch:  # before it is opened, and where all that is left are annotations
            observed = self._inherit(cluster, target, observed)
            change = self.due_change(self.timetable, target, observed, decision, now)
        if not clocks.are_apart:
            return change
        if change.suspend is not False and self.decides(now - clocks.skew).open == decision.open:
            return change
        # The annotation says so, for `status` and the alerts.
        fault = Decision(open=False, reason=APART, cause=Cause.CLOCK_SKEW)
        kept = self.due_change(self.timetable, target, observed, fault, now)
        if not observed.suspended or (kept.words and not kept.patch):  # it is left to somebody
            return kept
        patch = {} if kept.suspend is False else kept.patch  # it opens without a window, but later
        return Change(patch, Action.NOT_OPENED, f"not opened: {APART}")
