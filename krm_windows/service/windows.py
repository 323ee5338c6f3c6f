"""What handlers and pages ask: policies, their state, their history, and changes of them.

Methods may be called from any thread. Those that read Git, evaluate or write take milliseconds or
more: call them away from the event loop.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from http import HTTPStatus
from pathlib import Path

from krm_windows.service import policies
from krm_windows.service.evaluation import Evaluator
from krm_windows.service.policies import Snapshot, Stored, title
from krm_windows.service.problems import Problem
from krm_windows.service.recent import Recent
from krm_windows.service.rendering import Renderer
from krm_windows.service.resources import Resources
from krm_windows.service.settings import Settings
from krm_windows.service.waiting import Waiting
from krm_windows.system import locks
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Branch, Entry
from krm_windows.system.git_program import RemoteError

# A change waits for the one before it, which takes a second at most, or for the remote.
_PATIENCE = 20.0
_PAUSE = 0.02
# Commits that are kept for what a page asks: the last change of each file.
_MOST_LATEST = 5_000


class Reach(Enum):
    """What came of the last try to fetch the remote, as an answer says it."""

    NONE = "None"
    UNTRIED = "NotTried"
    REACHED = "Reached"
    FAILED = "Unreachable"


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the service can answer, and what is wrong otherwise.

    A `remote` out of reach keeps nobody from reading, so the service is ready all the same.
    """

    ready: bool
    detail: str
    commit: str
    remote: Reach


class Windows:
    """The policies of a branch, as they are at its tip."""

    def __init__(self, settings: Settings) -> None:
        """Open the clone, which is the service's own. Raises WorkspaceError."""
        self.settings = settings
        self.branch = Branch(settings.directory, settings.branch)
        # For what is the service's alone: the lock of who writes, and the secret of sessions.
        self.folder = self.branch.layout.own / "krm-windows"
        self.folder.mkdir(exist_ok=True)
        self.below = _below(settings.directory, self.branch)
        # Renders again what was rendered; None where nothing is.
        self.renderer: Renderer | None = None
        resources: Resources | None = None
        if settings.renew is not None:
            self.renderer = Renderer(self.branch, settings.renew)
            resources = Resources(self.renderer, lambda: self._snapshot.commit)
        self.evaluator = Evaluator(resources)
        self.waiting = Waiting(settings, self.branch)
        self._latest: Recent[Entry] = Recent(_MOST_LATEST)
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        self._error = ""
        self._reach = Reach.NONE
        if settings.remote is not None:
            self._reach = Reach.UNTRIED
            self.branch.git.check_remote(settings.remote)
        # Nothing is served before it can be read.
        tip = self._tip()
        self._snapshot = policies.read(self.branch, tip, self.below, None)

    @property
    def snapshot(self) -> Snapshot:
        """The policies as they were when the branch was last looked at: within a second."""
        return self._snapshot

    def now(self) -> datetime:
        """Return the instant that it is."""
        return datetime.now(UTC)

    def find(self, namespace: str, name: str, file: str | None = None) -> Stored:
        """Return a policy; raises Problem where there is none, or where several files have it."""
        return one(self._snapshot, namespace, name, file)

    def is_new(self, namespace: str, name: str) -> bool:
        """Say whether there is no policy of that name yet."""
        return (namespace, name) not in self._snapshot.policies

    def refresh(self) -> Snapshot:
        """Look at the branch, and read what has changed; return the policies."""
        with self._reading:
            tip = self._tip()
            # A commit never changes, so the same one is read once.
            if tip != self._snapshot.commit:
                self._snapshot = policies.read(self.branch, tip, self.below, self._snapshot)
            return self._snapshot

    def poll(self) -> None:
        """Look at the branch."""
        try:
            self.refresh()
            self._error = ""
        except (WorkspaceError, OSError) as error:
            self._error = str(error)

    def maintain(self) -> None:
        """Pack the repository's objects, if Git finds that they are too many."""
        # Beside whoever writes: Git itself keeps both apart.
        self.branch.git.maintain()

    def fetch(self) -> None:
        """Take over what the remote has more than the branch."""
        remote = self.settings.remote
        if remote is None:
            return
        with self.alone():
            try:
                theirs = self.branch.fetch(remote)
            except RemoteError:
                self._reach = Reach.FAILED
                raise
            self._reach = Reach.REACHED
            self.catch_up(theirs)

    def catch_up(self, theirs: str) -> None:
        """Move the branch to a commit of the remote that has all of its own; else leave it."""
        tip = self._tip()
        # What is here and not there yet is pushed with the next change.
        if theirs == tip or not self.branch.is_ancestor(tip, theirs):
            return
        self.branch.move(theirs, tip)
        self.refresh()

    def history(self, stored: Stored, count: int) -> list[Entry]:
        """Return the latest commits that changed the file of a policy, newest first."""
        return self.branch.log(self._snapshot.commit, count, stored.file)

    def latest(self, stored: Stored) -> Entry | None:
        """Return the latest commit that changed the file of a policy; it is looked up once."""
        # A commit has one history, so the answer never changes.
        key = (self._snapshot.commit, stored.file)
        found = self._latest.get(key)
        if found is None:
            for found in self.history(stored, 1):
                self._latest.put(key, found)
        return found

    def health(self) -> Health:
        """Say whether there is anything in the way of answering."""
        # Ready as long as the last look at the branch went well.
        return Health(not self._error, self._error, self._snapshot.commit, self._reach)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep every other writer out, here and in other processes; raises Problem if it lasts."""
        # Threads of this process first: flock is for the others.
        if not self._writing.acquire(timeout=_PATIENCE):
            raise _busy("another change is in progress")
        try:
            with self._locked():
                yield
        finally:
            self._writing.release()

    def _locked(self) -> ExitStack:
        """Lock out other processes; raises Problem where one of them has the lock for too long."""
        ends = time.monotonic() + _PATIENCE
        held = ExitStack()
        while True:
            try:
                held.enter_context(locks.alone(self.folder))
            except WorkspaceError as error:
                if time.monotonic() > ends:
                    raise _busy(str(error)) from None
                time.sleep(_PAUSE)
            else:
                return held

    def _tip(self) -> str:
        tip = self.branch.tip()
        if tip is None:
            raise WorkspaceError(f"the branch {self.branch.name} no longer exists")
        return tip


def one(snapshot: Snapshot, namespace: str, name: str, file: str | None) -> Stored:
    """Return a policy of a commit; raises Problem where there is none, or several."""
    found = snapshot.policies.get((namespace, name), ())
    if file is not None:
        found = tuple(stored for stored in found if stored.file == file)
    if not found:
        raise Problem(HTTPStatus.NOT_FOUND, f"policy {title(namespace, name)} not found")
    if len(found) > 1:
        files = ", ".join(stored.file for stored in found)
        raise Problem(
            HTTPStatus.CONFLICT,
            f"{title(namespace, name)} is in several files: select one with ?file= ({files})",
        )
    return found[0]


def _below(directory: Path, branch: Branch) -> str:
    """Return the directory whose policies are served as a path from the top; empty for all."""
    # Resolved: Git knows the top without symbolic links.
    below = directory.resolve().relative_to(branch.layout.top).as_posix()
    if below == ".":
        return ""
    return below


def _busy(why: str) -> Problem:
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, why, headers={"Retry-After": "1"})
