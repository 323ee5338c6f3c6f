"""The merge gate: whether a change may land now, said as a status of its head.

It is decided by the evaluator that decides in the cluster, so both say the same at every instant.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from multiprocessing.pool import ThreadPool

from krm_windows import escape
from krm_windows.forge.connect import Connected
from krm_windows.forge.errors import ForgeError
from krm_windows.forge.model import CommitState, Group, PullRequest, Status
from krm_windows.forge.policies import Policy, Verdict, conclude, decide, judge, noted
from krm_windows.forge.reach import Change, Changes

# Of a description: GitHub refuses a longer one.
_MOST = 140


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """What came of a change: what is said of its head, or what went wrong.

    `is_new` where that was not said before.
    """

    change: PullRequest
    verdict: Verdict | None
    is_new: bool = False
    error: ForgeError | None = None


@dataclass
class MergeGate:
    """Gates the open changes of a repository by some policies.

    Nothing is set in a `dry_run`. So many `jobs` ask the forge at the same time. Changes into other
    branches than `bases` do not concern it; without any it is the default branch of the repository.
    `changed` says what a commit does to the commit `base`, or else to a branch.
    """

    forge: Connected
    policies: Sequence[Policy]
    changed: Changes
    context: str
    link: str = ""
    dry_run: bool = False
    jobs: int = 1
    bases: frozenset[str] = frozenset()
    base: str = ""
    known: dict[tuple[str, str], Change] = field(default_factory=dict)
    """What commits change, by the commit or branch that they are compared with; and by theirs."""

    def run(self, now: Callable[[], datetime]) -> Iterator[GateOutcome]:
        """Look at each open change, and say of its head what holds when it is looked at.

        Raises ForgeError where the list of changes cannot be read; what is wrong with one change
        does not keep the others from their status.
        """
        branches = self._branches()
        heads: dict[str, list[PullRequest]] = {}
        for change in self.changes(branches):
            heads.setdefault(change.sha, []).append(change)
        # Threads that do not outlive the process, whatever a request waits for when it is ended.
        with ThreadPool(self.jobs) as pool:
            # In order, so that two runs of the same say the same.
            for outcomes in pool.imap(partial(self._judge, now), heads.values()):
                yield from outcomes
            groups = {
                each.sha: each
                for each in self.forge.queued()
                # A branch with such a name at the head of a change is none of a queue.
                if each.branch in branches and each.sha not in heads
            }
            yield from pool.imap(partial(self._judge_group, now), groups.values())

    def changes(self, branches: frozenset[str] = frozenset()) -> Iterator[PullRequest]:
        """Yield the open changes that are to be merged into a branch that counts.

        A status is that of a commit: one for a change into a branch that anybody may make would
        let the same commit land in this one.
        """
        branches = branches or self._branches()
        for change in self.forge.open_changes():
            if change.base in branches:
                yield change

    def _branches(self) -> frozenset[str]:
        return self.bases or frozenset({self.forge.default_branch()})

    def _judge(
        self,
        now: Callable[[], datetime],
        changes: Sequence[PullRequest],
    ) -> list[GateOutcome]:
        """Say of the one head of some changes what holds for all of them.

        Two changes of one branch into two others have the same head, and a status is that of the
        commit: one that may land would let the other land, too.
        """
        # For each head anew: a thousand changes take a while, in which a window may close.
        at = now()
        try:
            verdict = self._strictest(changes, at)
            is_new = self.say(changes[0].sha, verdict)
        except ForgeError as error:
            return [GateOutcome(change, None, error=error) for change in changes]
        return [GateOutcome(change, verdict, is_new) for change in changes]

    def _strictest(self, changes: Sequence[PullRequest], at: datetime) -> Verdict:
        """Return what is said of the first change that may not land, or else of the last."""
        for change in changes:
            verdict = self.decide(change, at)
            if not verdict.may_land:
                break
        return verdict

    def _judge_group(self, now: Callable[[], datetime], group: Group) -> GateOutcome:
        """Say of a commit in a merge queue what holds for it; a change's head is another one."""
        at = now()
        try:
            change = self.forge.change(group.number)
            queued = replace(change, sha=group.sha)
            # Not with the commit in the name of its branch: whoever may push a branch chooses it.
            does = self._look(group.branch, group.sha)
            # What changes nothing is in no queue. What was said of it for an event stays.
            if does.files == frozenset():
                return GateOutcome(queued, None)
            verdict, is_new = self.answer(group.sha, change, does, at)
        except ForgeError as error:
            return GateOutcome(group.change(), None, error=error)
        return GateOutcome(queued, verdict, is_new)

    def answer(
        self, sha: str, change: PullRequest | None, does: Change, at: datetime
    ) -> tuple[Verdict, bool]:
        """Answer whether a commit may be merged now, for a change that is known or is not.

        Returns whether the answer is new. What would have to wait fails: it would hold up those
        behind it in the queue. Raises ForgeError.
        """
        labels = frozenset[str]() if change is None else change.labels
        verdict = judge(self.policies, does, labels, at)
        # `pending` is what GitHub's queue waits for, up to the hour that it gives its checks.
        if not verdict.may_land:
            verdict = replace(verdict, state=CommitState.FAILURE)
        return verdict, self.say(sha, verdict)

    def edge(self, at: datetime) -> datetime | None:
        """Return when the next policy opens or closes, None where that is far."""
        edges = (policy.decide(at).until for policy in self.policies)
        return min(filter(None, edges), default=None)

    def is_scheduled(self, change: PullRequest) -> bool:
        """Whether a change has the label of a policy: somebody wants it in its window."""
        return any(policy.label in change.labels for policy in self.policies)

    def decide(self, change: PullRequest, at: datetime) -> Verdict:
        """Say whether a change may land at an instant; raises ForgeError."""
        verdict = conclude(decide(self.policies, at))
        does = self._look(change.base, change.sha)
        if verdict.may_land:
            return noted(verdict, does)
        return judge(self.policies, does, change.labels, at)

    def _look(self, base: str, sha: str) -> Change:
        """Return what a commit changes in a branch."""
        head = self.base or base, sha
        if head in self.known:
            return self.known[head]
        change = self.changed(base, sha)
        # What could not be read may be there in the next round.
        if not change.unknown:
            self.known[head] = change
        return change

    def say(self, sha: str, verdict: Verdict) -> bool:
        """Set a status, unless it is there already; return whether it is new."""
        words = escape.cut(escape.line(verdict.words), _MOST)
        status = Status(self.context, verdict.state, words, self.link)
        # A forge takes a thousand of a commit, so what is there is not said again. It is read each
        # time, since somebody else may have said something in between.
        before = self.forge.statuses(sha).get(self.context)
        # Another link alone is no news: `link` may name the run that made it.
        is_new = before is None or before != replace(status, link=before.link)
        if is_new and not self.dry_run:
            self.forge.set_status(sha, status)
        return is_new
