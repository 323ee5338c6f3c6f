"""Merging what is scheduled: changes with the label of a window, one at a time, oldest first."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from krm_windows.forge.errors import ConflictError, ForgeError, RefusedError
from krm_windows.forge.gate import MergeGate
from krm_windows.forge.model import Method, Progress, PullRequest, Readiness, moved
from krm_windows.forge.policies import Verdict

_POLL = timedelta(seconds=15)
# What a forge works out after a push, a status or a merge is there in seconds.
_GRACE = timedelta(minutes=1)


class Result(Enum):
    """What came of a change."""

    MERGED = auto()
    APPROVED = auto()
    # Of a dry run: nothing keeps it back but that.
    READY = auto()
    # Its window is closed.
    WAITS = auto()
    FAILED = auto()


@dataclass(frozen=True, slots=True)
class Landing:
    """What came of a change, and why."""

    change: PullRequest
    result: Result
    words: str


@dataclass
class Merger:
    """Merges the changes that a gate lets through and that carry the label of a policy.

    `now` tells the time, `sleep` takes seconds. A change whose checks take longer than `timeout`
    has failed. With `approve_only` changes are approved, and their checks are the forge's matter.
    """

    gate: MergeGate
    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    timeout: timedelta
    method: Method | None = None
    approve_only: bool = False

    def run(self) -> Iterator[Landing]:
        """Merge what may be merged; end after the first change that fails.

        Raises ForgeError where the list of changes cannot be read.
        """
        # The list is read before the first merge, as a merge moves what a page has.
        changes = [each for each in self.gate.changes() if self.gate.is_scheduled(each)]
        failed: PullRequest | None = None
        for change in changes:
            # What comes behind may need it, as its author has put it behind.
            if failed is not None:
                words = f"not tried, because #{failed.number} failed"
                landing = Landing(change, Result.WAITS, words)
            else:
                landing = self._landing(change)
            if landing.result is Result.FAILED:
                failed = change
            yield landing

    def _landing(self, change: PullRequest) -> Landing:
        # Whatever is wrong with one change is its answer; what is wrong with the list is not.
        try:
            return self._land(change)
        except RefusedError as error:
            return Landing(change, Result.FAILED, f"the token has no permission: {error}")
        except ConflictError as error:
            # Somebody's push is the reason, if there was one.
            sha = self.gate.forge.change(change.number).sha
            words = str(error) if sha == change.sha else moved(sha).words
            return Landing(change, Result.FAILED, words)
        except ForgeError as error:
            return Landing(change, Result.FAILED, f"{error}")

    def _land(self, change: PullRequest) -> Landing:
        """Wait for the checks of a change as long as its window is open, and merge it."""
        began = sure = self.now()
        while True:
            verdict = self.gate.decide(change, self.now())
            if not verdict.may_land:
                return self._wait(change, verdict)
            # Checks are not waited for: approved early, it lands the sooner.
            if self.approve_only:
                return self._approve(change, verdict.words)
            readiness = self.gate.forge.readiness(change, self.gate.context)
            if readiness.progress is Progress.READY:
                try:
                    return self._merge(change)
                except ConflictError as error:
                    # Gitea says so of every change right after a merge, and shows what was before.
                    readiness = Readiness(Progress.UNKNOWN, str(error))
            if readiness.progress is Progress.MERGED:
                return Landing(change, Result.MERGED, "by someone else")
            at = self.now()
            # GitHub's `blocked`, too: it is so for as long as it takes to count our status.
            if readiness.progress is not Progress.UNKNOWN:
                sure = at
            is_over = at - sure >= _GRACE or at - began >= self.timeout
            if is_over or readiness.progress is Progress.BLOCKED:
                return Landing(change, Result.FAILED, readiness.words)
            if self.gate.dry_run:
                return Landing(change, Result.WAITS, readiness.words)
            self._rest()

    def _wait(self, change: PullRequest, verdict: Verdict) -> Landing:
        """Leave a change to the next window, with a status that says so."""
        self.gate.say(change.sha, verdict)
        return Landing(change, Result.WAITS, verdict.words)

    def _rest(self) -> None:
        """Sleep for a while, and not past the next edge."""
        at = self.now()
        length = _POLL
        edge = self.gate.edge(at)
        # Asked right after the edge, a change that may no longer land is said to wait at once.
        if edge is not None:
            length = min(length, edge - at)
        self.sleep(length.total_seconds())

    def _merge(self, change: PullRequest) -> Landing:
        """Merge a change at the commit that was judged."""
        # What was asked in between took time, in which the window may have closed.
        verdict = self.gate.decide(change, self.now())
        if not verdict.may_land:
            return self._wait(change, verdict)
        if self.gate.dry_run:
            return Landing(change, Result.READY, verdict.words)
        forge = self.gate.forge
        try:
            forge.merge(change, self.method)
        except (ConflictError, RefusedError):
            raise
        except ForgeError:
            # Its answer may be what was lost.
            if forge.readiness(change, self.gate.context).progress is not Progress.MERGED:
                raise
        return Landing(change, Result.MERGED, verdict.words)

    def _approve(self, change: PullRequest, words: str) -> Landing:
        """Approve a change at the commit that was judged, once."""
        if self.gate.dry_run:
            return Landing(change, Result.READY, words)
        self.gate.forge.approve(change, words)
        return Landing(change, Result.APPROVED, words)
