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
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from queue import SimpleQueue
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from krm_windows.gate.timetable import Decision
from krm_windows.pending import records
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
_MOST_KEPT = 32 << 20
# Policies that wait to be looked at: as many as two pages of the fleet have.
_QUEUE = 100
# Of each target.
_SHOWN = 100

NOT_LOOKED = "which commits the targets will apply is not shown: serve is not told of `clusters`"

Record = dict[str, object]


@dataclass(frozen=True, slots=True)
class Arrived:
    """What has come to the branch since a window closed, the newest commit first.

    `old` is the commit that the branch had then, None where that is not known: then `commits` are
    only some of those that came.
    """

    since: datetime | None
    tip: str
    old: str | None
    commits: tuple[Commit, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all are known that came."""
        return self.old is not None


def _commit(record: Mapping[str, Any]) -> Commit:
    return Commit(record["commit"], None, record["committed"], record["author"], record["subject"])


_Commits = tuple[Annotated[Commit, BeforeValidator(_commit)], ...]


class Target(BaseModel):
    """What waits for a target, as `pending -o json` prints it.

    `waits` is None where that is not known, and `notes` say why; `commits` are None where nobody
    looked for them.
    """

    model_config = ConfigDict(frozen=True)

    kind: str
    namespace: str
    name: str
    waits: bool | None = Field(alias="pending")
    commits: _Commits | None
    reverted: _Commits | None
    images: tuple[str, ...] | None = Field(alias="newImages")
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """As `Kustomization flux-system/apps`."""
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Found:
    """What waits for the targets of a policy; `problem` says why nothing is known of them."""

    targets: tuple[Target, ...] = ()
    problem: str = ""

    @property
    def count(self) -> int:
        """How many commits wait in all, each once."""
        names: set[str] = set()
        for target in self.targets:
            names.update(commit.name for commit in target.commits or ())
        return len(names)

    @property
    def is_known(self) -> bool:
        """Whether it is known of every target, or that one at least has something to take."""
        if self.problem:
            return False
        return self.count > 0 or self.is_complete

    @property
    def is_complete(self) -> bool:
        """Whether it is known of every target."""
        return not self.problem and all(target.waits is not None for target in self.targets)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that is answered once: a policy on a cluster, between two commits."""

    stored: Stored
    cluster: str | None
    old: str
    new: str

    @property
    def key(self) -> Hashable:
        """What the answer depends on."""
        return self.stored.identity, self.cluster, self.old, self.new


class Waiting:
    """Says what waits, for any number of threads."""

    def __init__(self, settings: Settings, branch: Branch) -> None:
        """Look at nothing yet."""
        self.clusters = settings.clusters
        self._directory = str(settings.directory)
        self._branch = branch
        self._commits: Recent[list[Commit]] = Recent(_TIPS)
        self._found: Recent[Found] = Recent(_MOST_KEPT)
        self._asked: dict[Hashable, Future[Found]] = {}
        self._queue: SimpleQueue[Asked] = SimpleQueue()
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None

    def arrived(self, decision: Decision, tip: str) -> Arrived:
        """Return what has come to the branch since a window closed; raises WorkspaceError."""
        if decision.open or decision.since is None:
            # Of a policy that is closed for good, or for 400 days, nobody knows when it closed.
            return Arrived(decision.since, tip, tip if decision.open else None, ())
        closed = decision.since.timestamp()
        found: list[Commit] = []
        for commit in self._history(tip):
            # The newest that was there already, by the way of the branch and not by the clock.
            if commit.committed <= closed:
                return Arrived(decision.since, tip, commit.name, tuple(found))
            found.append(commit)
        return Arrived(decision.since, tip, None, tuple(found))

    def known(self, asked: Asked) -> Found | None:
        """Return what waits, if it was found before."""
        return self._found.get(asked.key)

    def find(self, asked: Asked) -> "Future[Found]":
        """Begin to find out what waits, once for however many ask."""
        done: Future[Found] = Future()
        found = self.known(asked)
        if found is not None:
            done.set_result(found)
            return done
        with self._lock:
            if asked.key in self._asked:
                return self._asked[asked.key]
            if len(self._asked) >= _QUEUE:
                done.set_result(Found(problem="too many requests in progress: try again later"))
                return done
            self._asked[asked.key] = done
            self._queue.put(asked)
            if self._worker is None:
                # It ends with the process, whatever it is doing.
                self._worker = threading.Thread(target=self._work, daemon=True, name="waiting")
                self._worker.start()
        return done

    def _work(self) -> None:
        while True:
            asked = self._queue.get()
            # It stays until it is answered, so that nobody begins it again.
            done = self._asked[asked.key]
            # From now on nobody can cancel it.
            done.set_running_or_notify_cancel()
            try:
                found = self._look(asked)
                # Why it is not known, too: it is tried again after the next commit.
                self._found.put(asked.key, found, _size(found))
                done.set_result(found)
            # Whoever asked gets to know it, and the next question is answered.
            except Exception as error:  # noqa: BLE001
                done.set_exception(error)
            with self._lock:
                del self._asked[asked.key]

    def _look(self, asked: Asked) -> Found:
        if self.clusters is None:
            return Found(problem=NOT_LOOKED)
        # Nobody waits for what was to come of an older commit.
        if self._branch.tip() != asked.new:
            return Found(problem="the branch has moved in the meantime")
        try:
            return _targets(self._printed(asked, self.clusters))
        except (WorkspaceError, OSError, ValueError, LookupError, TypeError) as error:
            return Found(problem=str(error))

    def _printed(self, asked: Asked, clusters: Clusters) -> bytes:
        """Run `krm-windows pending` on the text of a policy; raises WorkspaceError."""
        # -P: no module is imported from the directory that the service was started in.
        command = [sys.executable, "-P", "-m", "krm_windows", "pending", "-", "--output=json"]
        command += [f"--repo={self._directory}", f"--clusters={clusters.directories}", "--jobs=1"]
        command += [f"--base={asked.old}", f"--head={asked.new}"]
        command += [f"--source={each}" for each in clusters.sources]
        if asked.cluster is not None:
            command.append(f"--cluster={asked.cluster}")
        # Without kustomize nobody builds, and images are not known.
        if programs.find("kustomize") is not None:
            command.append("--diff")
        ended = programs.run(
            command,
            environment=os.environ,
            limits=Limits(_SECONDS, _OUTPUT),
            stdin=asked.stored.config.span,
        )
        if ended.code != 0:
            raise WorkspaceError(ended.last_line.removeprefix("krm-windows: "))
        return ended.output

    def _history(self, tip: str) -> Sequence[Commit]:
        found = self._commits.get(tip)
        if found is None:
            found = self._branch.first_parents(tip, MOST_COMMITS)
            self._commits.put(tip, found)
        return found


def _targets(printed: bytes) -> Found:
    """Read what `pending -o json` prints; raises LookupError, TypeError or ValueError."""
    found = json.loads(printed)
    return Found(TypeAdapter(tuple[Target, ...]).validate_python(found["targets"]))


def _size(found: Found) -> int:
    # What Python takes for a commit, mostly its texts.
    commits = sum(len(each.commits or ()) + len(each.reverted or ()) for each in found.targets)
    return 1000 * (1 + len(found.targets)) + 800 * commits


def record(arrived: Arrived, found: Found | None, notes: Sequence[str]) -> Record:
    """Return what waits as JSON says it."""
    every = list(notes)
    targets: list[Record] | None = None
    if found is not None and found.problem:
        every.append(found.problem)
    elif found is not None:
        targets = [_target_record(each) for each in found.targets]
    return {
        "from": arrived.old,
        "to": arrived.tip,
        "count": len(arrived.commits) if arrived.is_complete else None,
        "complete": arrived.is_complete,
        "commits": _shown(arrived.commits),
        "targets": targets,
        "notes": every,
    }


def _target_record(of: Target) -> Record:
    return {
        **of.model_dump(mode="json", by_alias=True),
        "count": None if of.commits is None else len(of.commits),
        "commits": None if of.commits is None else _shown(of.commits),
        "reverted": _shown(of.reverted or ()),
    }


def _shown(commits: Sequence[Commit]) -> list[Record]:
    return [records.commit(each) for each in commits[:_SHOWN]]
