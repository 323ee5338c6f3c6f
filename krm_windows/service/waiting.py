"""What waits for a closed window, as far as a repository says it: no cluster is asked.

What was on the branch when the window closed counts as applied, and its tip as offered. Commits
that came in between are known at once; which of them a target takes is found by
`krm-windows pending`, in a process of its own, as that may build two trees of manifests. There is
one at a time. Both commits and the text of the policy name an answer, so it holds for ever.
"""

import json
import os
import sys
import threading
from collections.abc import Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from krm_windows.gate.timetable import Decision
from krm_windows.pending import records
from krm_windows.plurals import counted
from krm_windows.service.policies import Stored
from krm_windows.service.recent import Recent
from krm_windows.service.settings import Clusters, Settings
from krm_windows.system import programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Branch
from krm_windows.system.git_objects import Commit
from krm_windows.system.programs import Limits

# First parents that are looked at: of a window that was closed for longer, it is said to be more.
MOST_COMMITS = 1000
# Lists of commits that are kept, one for each tip of the branch.
_TIPS = 4
# Two trees of some thousand objects are built in seconds.
_SECONDS = 60.0
_OUTPUT = 32 << 20
# Bytes of answers that are kept; once it is parsed, each takes four times what was printed.
_MOST_KEPT = 32 << 20
_ANSWER, _GROWTH = 1000, 4
# Policies that wait to be looked at: as many as two pages of the fleet have.
_QUEUE = 100
# Commits, of the branch and of each target.
_SHOWN = 100
# What is passed on of what `pending` prints of a target, beside its commits.
_OF_TARGETS = ("kind", "namespace", "name", "pending", "notes")

_NOT_LOOKED = "which commits the targets will apply is not shown: serve is not told of `clusters`"

Record = dict[str, object]


@dataclass(frozen=True, slots=True)
class Found:
    """What waits for the targets of a policy: records of them, and how many commits in all.

    `problem` says why nothing is known of them; `is_complete` is whether it is known of every one.
    """

    targets: tuple[Record, ...] = ()
    count: int = 0
    is_complete: bool = False
    size: int = _ANSWER
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Waits:
    """What has come to the branch since a policy closed, the newest commit first.

    `old` is the commit that the branch had then, None where that is not known: then `commits` are
    only some of those that came. `asked` is what was begun to find out of the targets.
    """

    decision: Decision
    tip: str
    old: str | None
    commits: tuple[Record, ...] = ()
    asked: "Future[Found] | None" = None

    @property
    def found(self) -> Found | None:
        """What waits for the targets; None while that is not known."""
        return self.asked.result() if self.asked is not None and self.asked.done() else None

    @property
    def is_known(self) -> bool:
        """Whether it is known of every target, or that one at least has something to take."""
        return self.found is not None and (self.found.count > 0 or self.found.is_complete)

    @property
    def is_nothing(self) -> bool:
        """Whether it is known that nothing waits."""
        if self.old is None or not self.commits:
            return self.old is not None
        return self.is_known and self.found is not None and not self.found.count

    def record(self) -> Record:
        """Return it as JSON says it."""
        found = self.found
        is_known = found is not None and not found.problem
        return {
            "from": self.old,
            "to": self.tip,
            "count": None if self.old is None else len(self.commits),
            "complete": self.old is not None,
            "commits": self.commits[:_SHOWN],
            "targets": found.targets if found is not None and is_known else None,
            "notes": [] if is_known else [self._note(found)],
        }

    def _note(self, found: Found | None) -> str:
        """Say why it is not known what the targets take."""
        if found is not None:
            return found.problem
        if self.asked is not None:
            return "the targets are being read: try again"
        if self.old is None and self.commits:
            return f"at least {counted(len(self.commits), 'commit')} since it closed"
        if self.old is None:
            return "it is unknown when it closed"
        if self.commits:
            return _NOT_LOOKED
        since = "it should be open" if self.decision.open else "no commits since it closed"
        return f"{since}; what its targets have applied is unknown: no cluster was asked"


class Waiting:
    """Says what waits, for any number of threads."""

    def __init__(self, settings: Settings, branch: Branch) -> None:
        """Look at nothing yet."""
        self.clusters = settings.clusters
        self._directory = str(settings.repo)
        self._branch = branch
        self._history = lru_cache(_TIPS)(self._read_history)
        self._asked: Recent[Future[Found]] = Recent(_MOST_KEPT)
        self._lock = threading.Lock()
        self._places = threading.Semaphore(_QUEUE)
        self._worker = ThreadPoolExecutor(1, "waiting")

    def of(self, stored: Stored, cluster: str | None, decision: Decision, tip: str) -> Waits:
        """Return what is known, and have more found out; raises WorkspaceError."""
        if decision.open or decision.since is None:
            # Of a policy that is closed for good, or for 400 days, nobody knows when it closed.
            return Waits(decision, tip, tip if decision.open else None)
        closed = decision.since.timestamp()
        found: list[Record] = []
        for commit in self._history(tip):
            # The newest that was there already, by the way of the branch and not by the clock.
            if commit.committed <= closed:
                asked = None
                if found and self.clusters is not None:
                    asked = self._ask(self.clusters, stored, cluster, (commit.name, tip))
                return Waits(decision, tip, commit.name, tuple(found), asked)
            found.append(records.commit(commit))
        return Waits(decision, tip, None, tuple(found))

    def _ask(
        self, clusters: Clusters, stored: Stored, cluster: str | None, between: tuple[str, str]
    ) -> "Future[Found]":
        """Begin to find out what waits, once for however many ask."""
        key = (stored.identity, cluster, between)
        with self._lock:
            done = self._asked.get(key)
            if done is not None:
                return done
            if not self._places.acquire(blocking=False):
                done = Future()
                done.set_result(Found(problem="too many requests in progress: try again later"))
                return done
            done = self._worker.submit(self._look, clusters, stored, cluster, between)
            self._asked.put(key, done, _ANSWER)
        # Why it is not known is kept, too: it is tried again after the next commit.
        done.add_done_callback(lambda done: self._keep(key, done))
        return done

    def _keep(self, key: Hashable, done: "Future[Found]") -> None:
        self._places.release()
        self._asked.put(key, done, done.result().size)

    def _look(
        self, clusters: Clusters, stored: Stored, cluster: str | None, between: tuple[str, str]
    ) -> Found:
        """Run `krm-windows pending` on the text of a policy."""
        old, new = between
        # -P: no module is imported from the directory that the service was started in.
        command = [sys.executable, "-P", "-m", "krm_windows", "pending", "-", "--output=json"]
        command += [f"--repo={self._directory}", f"--clusters={clusters.directories}", "--jobs=1"]
        command += [f"--base={old}", f"--head={new}"]
        command += [f"--source={each}" for each in clusters.sources]
        if cluster is not None:
            command.append(f"--cluster={cluster}")
        limits = Limits(_SECONDS, _OUTPUT)
        try:
            # Nobody waits for what was to come of an older commit.
            if self._branch.tip() != new:
                return Found(problem="the branch has moved in the meantime")
            ended = programs.run(
                command, environment=os.environ, limits=limits, stdin=stored.config.span
            )
        except (WorkspaceError, OSError) as error:
            return Found(problem=str(error))
        if ended.code != 0:
            return Found(problem=ended.last_line.removeprefix("krm-windows: "))
        return _read(ended.output)

    def _read_history(self, tip: str) -> list[Commit]:
        return self._branch.first_parents(tip, MOST_COMMITS)


def _read(printed: bytes) -> Found:
    """Read what `pending -o json` prints."""
    targets = json.loads(printed)["targets"]
    commits = chain.from_iterable(target["commits"] or () for target in targets)
    names = {commit["commit"] for commit in commits}
    is_complete = all(target["pending"] is not None for target in targets)
    size = _ANSWER + _GROWTH * len(printed)
    return Found(tuple(map(_target, targets)), len(names), is_complete, size)


def _target(printed: Mapping[str, Any]) -> Record:
    """Return what is shown of a target."""
    commits = printed["commits"]
    return {
        **{name: printed[name] for name in _OF_TARGETS},
        "count": None if commits is None else len(commits),
        "commits": None if commits is None else commits[:_SHOWN],
        "reverted": (printed["reverted"] or [])[:_SHOWN],
    }
