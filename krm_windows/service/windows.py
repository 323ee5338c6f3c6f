"""What handlers and pages ask: policies, their state, their history, and changes of them.

Methods may be called from any thread. Those that read Git, evaluate or write take milliseconds or
more: call them away from the event loop.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path

from krm_windows.gate.timetable import Decision
from krm_windows.service import links, policies
from krm_windows.service.effects import Effects
from krm_windows.service.evaluation import Evaluator
from krm_windows.service.policies import Snapshot, Stored
from krm_windows.service.problems import Problem
from krm_windows.service.proposals import Watch
from krm_windows.service.rendering import Read, Renderer, Renew
from krm_windows.service.settings import Settings
from krm_windows.service.waiting import MOST_COMMITS, Waiting, Waits
from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Branch
from krm_windows.system.git_objects import Commit
from krm_windows.system.git_program import MovedError, RemoteError

# A change waits for the one before it, which takes a second at most, or for the remote.
_PATIENCE = 20.0
_PAUSE = 0.02
# Histories of files that are kept, for pages: of each file, the last change above all.
_MOST_LOGS = 5_000


class Windows:
    """The policies of a branch, as they are at its tip."""

    def __init__(
        self, settings: Settings, renew: Renew | None = None, read: Read | None = None
    ) -> None:
        """Open the clone, which is the service's own. Raises WorkspaceError.

        `renew` renders again what was rendered of a policy, and `read` the resources that it was
        rendered with; without both, that is left alone.
        """
        self.settings = settings
        self.branch = Branch(settings.repo, settings.branch)
        # For what is the service's alone: the lock of who writes, and the secret of sessions.
        self.folder = self.branch.layout.own / "krm-windows"
        self.folder.mkdir(exist_ok=True)
        self.below = _below(settings.repo, self.branch)
        # Renders again what was rendered; None where nothing is.
        self.renderer: Renderer | None = None
        if renew is not None and read is not None:
            self.renderer = Renderer(self.branch, renew, read)
        self.evaluator = Evaluator(self.renderer, lambda: self.snapshot.commit)
        self.waiting = Waiting(settings, self.branch)
        self.effects = Effects(self.branch)
        # Set once the service stops: then what is sent to browsers for hours ends, too.
        self.stopping = threading.Event()
        self._own = lru_cache(1)(self._own_paths)
        self._log = lru_cache(_MOST_LOGS)(self.branch.log)
        self._reading = threading.Lock()
        # Why the branch could not be read; empty where it could.
        self.problem = ""
        # What came of the last try to fetch the remote, as an answer says it.
        self.reach = "NotTried"
        remote = ""
        if settings.remote is not None:
            self.branch.git.check_remote(settings.remote)
            remote = self.branch.git.address(settings.remote)
        # None where changes are made, and not proposed.
        self.proposed: Watch | None = None
        if settings.proposals is not None:
            self.proposed = Watch(self.branch, settings.proposals, settings.remote or "")
        self._commit_pattern = links.commit_pattern(settings, remote)
        # Nothing is served before it can be read.
        tip = self._tip()
        # The policies as they were when the branch was last looked at: within a second.
        self.snapshot = policies.read(self.branch, tip, self.below, None)

    def now(self) -> datetime:
        """Return the instant that it is."""
        return datetime.now(UTC)

    def places(self, words: str = "") -> Iterator[tuple[Stored, str | None]]:
        """Yield each policy and cluster whose names have all of some words."""
        wanted = words.lower().split()
        for stored in self.snapshot.every():
            # `week north`: one word may be of the policy, the other of the cluster.
            left = [word for word in wanted if word not in stored.title.lower()]
            # To read a policy takes a tenth of a second, and most have none of the words. Names of
            # clusters are lower case (RFC 1123).
            if not all(map(stored.config.mentions, left)):
                continue
            for cluster in self.evaluator.clusters(stored) or (None,):
                name = (cluster or "").lower()
                if all(word in name for word in left):
                    yield stored, cluster

    def refresh(self) -> Snapshot:
        """Look at the branch, and read what has changed; return the policies."""
        with self._reading:
            tip = self._tip()
            # A commit never changes, so the same one is read once.
            if tip != self.snapshot.commit:
                self.snapshot = policies.read(self.branch, tip, self.below, self.snapshot)
            return self.snapshot

    def poll(self) -> None:
        """Look at the branch."""
        try:
            self.refresh()
            self.problem = ""
        except (WorkspaceError, OSError) as error:
            self.problem = str(error)

    def maintain(self) -> None:
        """Pack the repository's objects, if Git finds that they are too many."""
        # Beside whoever writes: Git itself keeps both apart.
        self.branch.git.maintain()

    def fetch(self) -> None:
        """Take over what the remote has more than the branch."""
        if self.settings.remote is None:
            return
        with self.alone():
            try:
                self._take_over(self.settings.remote)
                if self.proposed is not None:
                    self.proposed.look()
            except RemoteError:
                self.reach = "Unreachable"
                raise
            self.reach = "Reached"

    def catch_up(self) -> None:
        """Take over what the remote has more, before a change is made anew; raises Problem."""
        remote = self.settings.remote
        # It may move once more meanwhile: then so it does for whoever makes the change.
        with suppress(MovedError):
            # Commits here that the remote does not have: a person has to bring both together.
            if remote is not None and not self._take_over(remote):
                raise Problem(
                    HTTPStatus.CONFLICT,
                    f"the branch {self.branch.name} here and at {remote} have diverged",
                )

    def push(self, commit: str) -> None:
        """Have the branch at the remote lead to a commit, where there is a remote."""
        if self.settings.remote is not None:
            self.branch.git.push(self.settings.remote, commit, self.branch.ref)

    def _take_over(self, remote: str) -> bool:
        """Move the branch to the remote's commit; False where that lacks some that are here."""
        theirs = self.branch.fetch(remote)
        tip = self._tip()
        if not self.branch.is_ancestor(tip, theirs):
            return False
        if theirs != tip:
            self.branch.move(theirs, tip)
            self.refresh()
        return True

    def history(self, stored: Stored, count: int) -> list[Commit]:
        """Return the latest commits that changed the file of a policy, newest first."""
        # A commit has one history, so the answer never changes.
        return self._log(self.snapshot.commit, count, stored.file)

    def changes(self) -> Iterator[tuple[Commit, Stored]]:
        """Yield the latest changes of all policies, newest first, each with whose it is."""
        every = list(self.snapshot.every())
        for commit in self.branch.log(self.snapshot.commit, MOST_COMMITS, self.below):
            paths = self.branch.changed(commit)
            yield from ((commit, stored) for stored in every if stored.file in paths)

    def waits(self, decision: Decision) -> Waits:
        """Return what has come since a decision began to hold; raises WorkspaceError."""
        commit = self.snapshot.commit
        return self.waiting.since(decision, commit, self._own(commit))

    def _own_paths(self, commit: str) -> tuple[str, ...]:
        outputs = self.renderer.outputs(commit) if self.renderer else ()
        return tuple(f"{each.directory}/" for each in outputs)

    def commit_url(self, commit: str) -> str | None:
        """Return where a browser finds a commit; None where that is not known."""
        pattern = self._commit_pattern
        return None if pattern is None else pattern.replace("{commit}", commit)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep every other writer out, here and in other processes; raises Problem if it lasts."""
        ends = time.monotonic() + _PATIENCE
        with ExitStack() as held:
            while True:
                try:
                    held.enter_context(Directory.named(self.folder).alone())
                    break
                except WorkspaceError as error:
                    if time.monotonic() > ends:
                        raise Problem(
                            HTTPStatus.SERVICE_UNAVAILABLE,
                            "other changes are being written: try again in a moment",
                            headers={"Retry-After": "1"},
                            reason=str(error),
                        ) from None
                    time.sleep(_PAUSE)
            yield

    def _tip(self) -> str:
        tip = self.branch.tip()
        if tip is None:
            raise WorkspaceError(f"the branch {self.branch.name} no longer exists")
        return tip


def _below(directory: Path, branch: Branch) -> str:
    """Return the directory whose policies are served as a path from the top; empty for all."""
    # Resolved: Git knows the top without symbolic links.
    below = directory.resolve().relative_to(branch.layout.top).as_posix()
    return "" if below == "." else below
