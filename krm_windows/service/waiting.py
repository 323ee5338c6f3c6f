"""What waits for a closed window, as far as a repository says it: no cluster is asked.

What was on the branch when the window closed counts as applied, and its tip as offered. Commits
that came in between are known at once; which of them a target takes is found by
`krm-windows pending`, in a process of its own, as that may take seconds; there is one at a time.
Both commits and the text of the policy name an answer, so it holds for ever.
"""

import json
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from krm_windows.gate.timetable import Decision
from krm_windows.krm import documents
from krm_windows.pending import records
from krm_windows.service import policies
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem, Record
from krm_windows.service.settings import Settings
from krm_windows.system import programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Branch
from krm_windows.system.git_objects import Commit, Node
from krm_windows.system.programs import Limits

# First parents that are looked at: of a window that was closed for longer, it is said to be more.
MOST_COMMITS = 1000
# Lists of commits that are kept, one for each tip of the branch, and answers of `pending`.
_TIPS = 4
_ANSWERS = 64
_LIMITS = Limits(60.0, 32 << 20)
# Seconds for which somebody waits for another's answer.
_PATIENCE = 5.0
# Commits, of the branch and of each target.
_SHOWN = 100
# What is passed on of what `pending` prints of a target, beside its commits.
_OF_TARGETS = ("kind", "namespace", "name", "pending", "notes")


@dataclass(frozen=True, slots=True)
class Waits:
    """What has come to the branch since a policy closed, the newest commit first.

    `old` is the commit that the branch had then, None where that is not known: then `commits` are
    only some of those that came. `others` are those that change more than windows.
    """

    decision: Decision
    tip: str
    old: str | None
    commits: tuple[Commit, ...] = ()
    others: tuple[Commit, ...] = ()

    def record(self) -> Record:
        """Return it as JSON says it."""
        count = None if self.old is None else len(self.commits)
        return {
            "from": self.old,
            "to": self.tip,
            "count": count,
            "countBesidesWindows": count and len(self.others),
            "complete": count is not None and count <= _SHOWN,
            "commits": list(map(records.commit, self.commits[:_SHOWN])),
        }


@dataclass(frozen=True, slots=True)
class Targets:
    """What the targets of a policy take; None where that is not known, and `note` says why."""

    found: tuple[Record, ...] | None = None
    note: str = ""

    def record(self) -> Record:
        """Return it as JSON says it."""
        return {"targets": self.found, "notes": [self.note] if self.note else []}


class Waiting:
    """Says what waits, for any number of threads."""

    def __init__(self, settings: Settings, branch: Branch) -> None:
        """Look at nothing yet."""
        self.clusters = settings.clusters
        self._directory = str(settings.repo)
        self._branch = branch
        self._history = lru_cache(_TIPS)(lambda tip: tuple(branch.first_parents(tip, MOST_COMMITS)))
        self._answer = lru_cache(_ANSWERS)(self._look)
        self._is_own = lru_cache(MOST_COMMITS)(self._changes_only)
        self._lock = threading.Lock()

    def since(self, decision: Decision, tip: str, own: tuple[str, ...]) -> Waits:
        """Return what has come since a decision began to hold; raises WorkspaceError.

        `own` are the directories that are rendered from policies, each with a `/` behind it.
        """
        if decision.open or decision.since is None:
            # Of a policy that is closed for good, or for 400 days, nobody knows when it closed.
            return Waits(decision, tip, tip if decision.open else None)
        closed = decision.since.timestamp()
        commits = self._history(tip)
        # The newest that was there already, by the way of the branch and not by the clock.
        for number, commit in enumerate(commits):
            if commit.committed <= closed:
                old, commits = commit.name, commits[:number]
                break
        else:
            old = None
        others = tuple(each for each in commits if not self._is_own(each, own))
        return Waits(decision, tip, old, commits, others)

    def targets(self, stored: Stored, cluster: str | None, waits: Waits) -> Targets:
        """Find out what the targets take of what has come: it takes seconds, the first time.

        Raises Problem while that is found out for others.
        """
        if waits.old is None:
            return Targets(note="it is unknown when it closed, or what came since")
        if not waits.commits:
            since = "it should be open" if waits.decision.open else "no commits since it closed"
            return Targets(
                note=f"{since}; what its targets have applied is unknown: no cluster was asked"
            )
        if self.clusters is None:
            return Targets(
                note="which commits the targets will apply is not shown: serve is not told of "
                "`clusters`"
            )
        if not self._lock.acquire(timeout=_PATIENCE):
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "what waits for another policy is being worked out: try again later",
                headers={"Retry-After": "5"},
            )
        try:
            return self._answer(stored.config.span, cluster, waits.old, waits.tip)
        finally:
            self._lock.release()

    def _look(self, policy: bytes, cluster: str | None, old: str, new: str) -> Targets:
        """Run `krm-windows pending` on the text of a policy."""
        # -P: no module is imported from the directory that the service was started in.
        command = [sys.executable, "-P", "-m", "krm_windows", "pending", "-", "--output=json"]
        command += [f"--repo={self._directory}", f"--base={old}", f"--head={new}", "--jobs=1"]
        if self.clusters is not None:
            command.append(f"--clusters={self.clusters.directories}")
            command += [f"--source={each}" for each in self.clusters.sources]
        if cluster is not None:
            command.append(f"--cluster={cluster}")
        try:
            ended = programs.run(command, environment=os.environ, limits=_LIMITS, stdin=policy)
        except (WorkspaceError, OSError) as error:
            return Targets(note=str(error))
        if ended.code != 0:
            return Targets(note=ended.last_line.removeprefix("krm-windows: "))
        return Targets(tuple(map(_target, json.loads(ended.output)["targets"])))

    def _changes_only(self, commit: Commit, own: tuple[str, ...]) -> bool:
        found = (
            f"{path}/".startswith(own) or all(map(self._has_policies_alone, filter(None, versions)))
            for path, *versions in self._branch.steps(commit)[0]
        )
        # Of a large commit, the first other path says it; one that changes nothing has none.
        return next(found, False) and all(found)

    def _has_policies_alone(self, file: Node) -> bool:
        try:
            content = self._branch.objects.content(file.name, most=policies.MOST)
        except WorkspaceError:
            return False  # another repository, or too large for a policy
        found = policies.parse(content)
        return isinstance(found, tuple) and 0 < len(found) == len(documents(content))


def _target(printed: Mapping[str, Any]) -> Record:
    """Return what is shown of a target."""
    commits = printed["commits"]
    return {
        **{name: printed[name] for name in _OF_TARGETS},
        "count": None if commits is None else len(commits),
        "commits": None if commits is None else commits[:_SHOWN],
        "reverted": (printed["reverted"] or [])[:_SHOWN],
    }
