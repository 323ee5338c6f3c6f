"""The merge gate: whether a change may land now, said as a status of its head.

It is decided by the evaluator that decides in the cluster, so both say the same at every instant.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from multiprocessing.pool import ThreadPool

from krm_windows import escape
from krm_windows.forge.errors import ForgeError
from krm_windows.forge.exemptions import LABEL, Exemptions
from krm_windows.forge.model import Change, Forge, Group, State, Status
from krm_windows.forge.reach import Reach
from krm_windows.gate.decide import Decider, Decision
from krm_windows.gate.timetable import Timetable
from krm_windows.preview.calendar import named
from krm_windows.preview.clock import shown

# Before the name of a policy, in a label that puts a change under it.
SCHEDULED = "window:"
# Of a description: GitHub refuses a longer one.
_MOST = 140


class Policy:
    """A policy for a cluster, and the paths that it gates."""

    def __init__(self, timetable: Timetable, reach: Reach) -> None:
        """Prepare a policy to be asked; raises LookupError without the rules of its zone."""
        self.timetable = timetable
        self.reach = reach
        self._decider = Decider(timetable)

    @property
    def label(self) -> str:
        """The label that puts a change under it: `window:` and its `metadata.name`."""
        return f"{SCHEDULED}{self.timetable.policy.rpartition('/')[2]}"

    def decide(self, at: datetime) -> Decision:
        """Say whether it is open, as its gate in the cluster does."""
        return self._decider.decide(at)

    def words(self, decision: Decision) -> str:
        """Say what it is, until when and why."""
        word = "open" if decision.open else "closed"
        until = "for more than 400 days"
        if decision.until is not None:
            zone = self.timetable.zone
            until = f"until {shown(decision.until, zone)} {zone.key}"
        return f"{word} {until}: {named(self.timetable)} ({decision.reason})"


_Head = tuple[int, str, str]
Decided = tuple[Policy, Decision]
"""A policy, and what it is at an instant."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a change may land, and why; `stale` where its head moved while it was looked at."""

    state: State
    words: str
    stale: bool = False

    @property
    def may_land(self) -> bool:
        """Whether it may land now."""
        return self.state is State.SUCCESS


def judge(
    policies: Sequence[Policy],
    files: frozenset[str] | None,
    labels: frozenset[str],
    at: datetime,
) -> Verdict:
    """Say whether what changes some files may land at an instant, by the policies that gate it.

    None where not all files are known: what is left out may be gated.
    """
    gating = list(policies)
    if files is not None:
        gating = [each for each in policies if each.label in labels or each.reach.touched(files)]
    concerned = [(policy, policy.decide(at)) for policy in gating]
    closed = _closed(concerned)
    if closed:
        return Verdict(State.PENDING, _last(closed))
    if not concerned:
        return Verdict(State.SUCCESS, "changes nothing that a window gates")
    return Verdict(State.SUCCESS, _first(concerned))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a change: what is said of its head, or what went wrong.

    `is_new` where that was not said before.
    """

    change: Change
    verdict: Verdict | None
    is_new: bool = False
    error: ForgeError | None = None


@dataclass
class MergeGate:
    """Gates the open changes of a repository by some policies.

    `exempt_by` may set the label that lets a change through, and so may those whom the file of
    the base branch at the path `exempt_file` names. Nothing is set in a `dry_run`. So
    many `jobs` ask the forge at the same time. Changes into other branches than `bases` do not
    concern it; without any it is the default branch of the repository.
    """

    forge: Forge
    policies: Sequence[Policy]
    context: str
    link: str = ""
    exempt_by: frozenset[str] = frozenset()
    exempt_file: str = ""
    dry_run: bool = False
    jobs: int = 1
    bases: frozenset[str] = frozenset()
    # What changes: of a commit into another branch it is something else.
    _files: dict[_Head, frozenset[str] | None] = field(default_factory=dict)
    # By the commit: what was said of it last.
    _said: dict[str, Status] = field(default_factory=dict)

    def run(self, now: Callable[[], datetime]) -> Iterator[Outcome]:
        """Look at each open change, and say of its head what holds when it is looked at.

        Raises ForgeError where the list of changes cannot be read; what is wrong with one change
        does not keep the others from their status.
        """
        branches = self._branches()
        heads: dict[str, list[Change]] = {}
        for change in self.changes(branches):
            heads.setdefault(change.sha, []).append(change)
        # Threads that do not outlive the process, whatever a request waits for when it is ended.
        with ThreadPool(self.jobs) as pool:
            # In order, so that two runs of the same say the same.
            for outcomes in pool.imap(partial(self._judge, now), heads.values()):
                yield from outcomes
            groups = [group for group in self.forge.queued() if group.branch in branches]
            yield from pool.imap(partial(self._judge_group, now), groups)
        met = set()
        for changes in heads.values():
            met |= {_head(change) for change in changes}
        # What is closed by now is asked for no more.
        for head in self._files.keys() - met:
            del self._files[head]
        for sha in self._said.keys() - heads.keys() - {group.sha for group in groups}:
            del self._said[sha]

    def changes(self, branches: frozenset[str] = frozenset()) -> Iterator[Change]:
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

    def _judge(self, now: Callable[[], datetime], changes: Sequence[Change]) -> list[Outcome]:
        """Say of the one head of some changes what holds for all of them.

        Two changes of one branch into two others have the same head, and a status is that of the
        commit: one that may land would let the other land, too.
        """
        try:
            # A thousand changes take a while, in which a window may close.
            at = now()
            verdicts = [self.decide(change, at) for change in changes]
            verdict = next((each for each in verdicts if not each.may_land), verdicts[0])
            is_new = self.say(changes[0].sha, verdict)
        except ForgeError as error:
            return [Outcome(change, None, error=error) for change in changes]
        return [Outcome(change, verdict, is_new) for change in changes]

    def _judge_group(self, now: Callable[[], datetime], group: Group) -> Outcome:
        """Say of a commit in a merge queue what holds for it; a change's head is another one."""
        try:
            change = self.forge.change(group.number)
            files = self.forge.compared(group.base, group.sha)
            verdict, is_new = self.answer(group.sha, change, files, now())
            return Outcome(replace(change, sha=group.sha), verdict, is_new)
        except ForgeError as error:
            return Outcome(group.change(), None, error=error)

    def answer(
        self, sha: str, change: Change | None, files: frozenset[str] | None, at: datetime
    ) -> tuple[Verdict, bool]:
        """Answer whether a commit may be merged now, for a change that is known or is not.

        Returns whether the answer is new. What would have to wait fails: it would hold up those
        behind it in the queue. Raises ForgeError.
        """
        if change is None:
            verdict = judge(self.policies, files, frozenset(), at)
        else:
            verdict = self._decide_files(files, change, at)
        # `pending` is what GitHub's queue waits for, up to the hour that it gives its checks.
        if not verdict.may_land:
            verdict = replace(verdict, state=State.FAILURE)
        return verdict, self.say(sha, verdict)

    def edge(self, at: datetime) -> datetime | None:
        """Return when the next policy opens or closes, None where that is far."""
        edges = (policy.decide(at).until for policy in self.policies)
        return min((each for each in edges if each is not None), default=None)

    def is_scheduled(self, change: Change) -> bool:
        """Whether a change has the label of a policy: somebody wants it in its window."""
        return any(policy.label in change.labels for policy in self.policies)

    def decide(self, change: Change, at: datetime) -> Verdict:
        """Say whether a change may land at an instant; raises ForgeError."""
        decided = [(policy, policy.decide(at)) for policy in self.policies]
        # Then it may land whatever it changes, and a request is saved.
        if not _closed(decided):
            return Verdict(State.SUCCESS, _first(decided))
        verdict = self._decide_files(self._changed(change), change, at)
        if not verdict.may_land:
            return verdict
        # The files were those of the head that it had when they were read. Had somebody pushed
        # another one in between, the status would say of one commit what is true of another.
        if _head(self.forge.change(change.number)) != _head(change):
            self._files.pop(_head(change), None)
            return Verdict(State.PENDING, "its head has moved: look again", stale=True)
        return verdict

    def _decide_files(self, files: frozenset[str] | None, change: Change, at: datetime) -> Verdict:
        """Say whether a change of some files may land at an instant, or is exempt."""
        verdict = judge(self.policies, files, change.labels, at)
        if verdict.may_land or LABEL not in change.labels:
            return verdict
        return self._exempted(change, files, verdict, at)

    def _changed(self, change: Change) -> frozenset[str] | None:
        head = _head(change)
        if head not in self._files:
            self._files[head] = self.forge.changed_files(change)
        return self._files[head]

    def _exempted(
        self,
        change: Change,
        files: frozenset[str] | None,
        verdict: Verdict,
        at: datetime,
    ) -> Verdict:
        """Say whether the label lets a change through that would have to wait."""
        gated = files
        if files is not None:
            closed = [policy for policy in self.policies if not policy.decide(at).open]
            # A change that waits by its label alone may touch nothing that is gated.
            gated = frozenset(_gated(closed, files)) or files
        answer = Exemptions(self.exempt_by, self.exempt_file).answer(self.forge, change, gated)
        if answer.granted:
            return Verdict(State.SUCCESS, answer.words)
        return Verdict(State.PENDING, f"{answer.words}; {verdict.words}")

    def say(self, sha: str, verdict: Verdict) -> bool:
        """Set a status, unless it is there already; return whether it is new."""
        if verdict.stale:
            return False
        status = Status(self.context, verdict.state, _cut(escape.line(verdict.words)), self.link)
        before = self._said.get(sha)
        if before is None:
            # A forge takes a thousand of a commit, so what is there is not said again.
            before = self.forge.statuses(sha).get(self.context)
        # Another link alone is no news: `--link` may name the run that made it.
        is_new = before is None or before != replace(status, link=before.link)
        if is_new and not self.dry_run:
            self.forge.set_status(sha, status)
        if not self.dry_run:
            self._said[sha] = status
        return is_new


def _gated(policies: Sequence[Policy], files: frozenset[str]) -> Iterator[str]:
    """Yield those files that any of some policies gates."""
    for file in files:
        if any(policy.reach.has(file) for policy in policies):
            yield file


def _head(change: Change) -> _Head:
    """Return what the files of a change depend on."""
    return change.number, change.sha, change.base


def _closed(decided: Sequence[Decided]) -> list[Decided]:
    """Return those that are closed."""
    return [each for each in decided if not each[1].open]


def _first(decided: Sequence[Decided]) -> str:
    """Say which of some open policies closes first."""
    return _words(min(decided, key=_until))


def _last(decided: Sequence[Decided]) -> str:
    """Say which of some closed policies opens last, and how many more are closed."""
    said = _words(max(decided, key=_until))
    if len(decided) > 1:
        return f"{said} and {len(decided) - 1} more"
    return said


def _until(decided: Decided) -> float:
    """Return until when it stays so, in seconds since 1970, to be compared."""
    until = decided[1].until
    # More than 400 days away.
    if until is None:
        return float("inf")
    return until.timestamp()


def _words(decided: Decided) -> str:
    policy, decision = decided
    return policy.words(decision)


def _cut(text: str) -> str:
    if len(text) <= _MOST:
        return text
    return f"{text[: _MOST - 1]}…"
