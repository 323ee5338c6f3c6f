"""The versions of a policy's file, from the commits of a branch: each counts from its commit on.

As with every change, that is the committer's time on the way of first parents. A version cannot
count before the one that it follows, whatever its clock said.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from hashlib import sha256

from krm_windows.history.simulation import instant
from krm_windows.krm import InputError, opened
from krm_windows.policy.load import Loaded
from krm_windows.policy.model import KIND, WindowPolicy
from krm_windows.preview.versions import Source
from krm_windows.results import Result, fails
from krm_windows.schedule.timetable import Timetable
from krm_windows.system.git_history import History
from krm_windows.system.git_objects import Commit

_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


class State(Enum):
    """What a version is: what is rendered of it, if anything."""

    READ = "InForce"
    UNREADABLE = "Unreadable"
    """Nothing is rendered of it, so the version before stays in force."""
    GONE = "Gone"
    """There is no policy any more."""
    ELSEWHERE = "OtherCluster"
    """The policy names clusters, and this one is not among them."""


@dataclass(frozen=True, slots=True)
class Request:
    """Who asked for an override, and where: what its author says of it beside the reason."""

    requested_by: str | None = None
    ticket: str | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """A version of the file at `path` from the top, of which `blob` is the object.

    `at` is the UTC instant that it counts from: later than its commit where that is `behind` the
    one before. `digest` is the SHA-256 of the content. A version that is read has a timetable, and
    the `requests` of its overrides by their keys.
    """

    commit: Commit
    at: datetime
    behind: bool
    path: str
    blob: str | None
    state: State
    digest: str | None = None
    timetable: Timetable | None = None
    problems: tuple[str, ...] = ()
    requests: Mapping[str, Request] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """The name of its commit, as short as is enough in a large repository."""
        return self.commit.name[:12]


@dataclass(frozen=True, slots=True)
class _Touched:
    """A commit that changed the file, and what it had there then; the path is from the top."""

    commit: Commit
    path: str
    blob: str | None


@dataclass(frozen=True, slots=True)
class _Policy:
    """The one policy that a content holds, read for all of its clusters."""

    source: Source
    loaded: Loaded

    def clusters(self) -> Iterable[str]:
        """Return the clusters that it names, with the one that it is built for."""
        if self.loaded.build_for is None or self.loaded.build_for in self.loaded.clusters:
            return self.loaded.clusters
        return (*self.loaded.clusters, self.loaded.build_for)

    def for_cluster(self, cluster: str | None, made: Revision) -> Revision:
        """Return a version as it is for a cluster, with the timetable, or else what is wrong.

        None is the policy as it is, or for the cluster that it says it is built for.
        """
        name = cluster
        if name is None:
            name = self.loaded.build_for
        # A build for it would end with the error that no such cluster is known.
        names_clusters = bool(self.loaded.clusters)
        if name is not None and names_clusters and name not in self.loaded.clusters:
            return self._elsewhere(made)
        policy, results = _policy(self.loaded, name)
        # The timetable alone: no CronJob is made of what is over.
        wanted = [(name, policy, results)]
        versions, said = self.source.compile(wanted, planned=False)
        problems = tuple(str(result) for result in said if _is_reported(result))
        if not versions:
            return replace(made, state=State.UNREADABLE, problems=problems)
        return replace(
            made,
            state=State.READ,
            timetable=versions[0].timetable,
            problems=problems,
            requests=_requests(versions[0].policy),
        )

    def _elsewhere(self, made: Revision) -> Revision:
        # Where it is wrong for each cluster that it names, nothing is rendered, nor taken away.
        if all(policy is None for policy in self.loaded.clusters.values()):
            problems = tuple(str(result) for result in self.loaded.results if _is_reported(result))
            return replace(made, state=State.UNREADABLE, problems=problems)
        return replace(made, state=State.ELSEWHERE)


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A content that holds no policy, or more than one, and why."""

    problem: str


def _requests(policy: WindowPolicy) -> dict[str, Request]:
    # A timetable has what the gate needs, and it needs none of these.
    overrides = policy.spec.overrides or {}
    return {
        key: Request(override.requested_by, override.ticket) for key, override in overrides.items()
    }


def _read(content: bytes) -> _Policy | _Unreadable:
    """Return the policy that a content holds, or what is wrong where it is not one."""
    try:
        found = [item for item in opened(content) if item.kind == KIND]
        # Two policies in a file are rendered as two: which one is meant could not be said.
        if len(found) != 1:
            return _Unreadable(f"must contain exactly one {KIND}, found {len(found)}")
        # The targets of that time are not read, so `closesEarly: auto` takes nothing off.
        source = Source(found[0], [])
        return _Policy(source, source.load())
    # What is no YAML at all, or no mapping where there has to be one.
    except InputError as error:
        return _Unreadable(str(error))


def _policy(loaded: Loaded, name: str | None) -> tuple[WindowPolicy | None, tuple[Result, ...]]:
    """Return the policy for a cluster; one that names no clusters is the same for each."""
    if name == loaded.build_for or loaded.clusters:
        return loaded.for_cluster(name)
    return loaded.for_cluster(None)


def _is_reported(result: Result) -> bool:
    # Hints about a policy that is in force are the matter of `check`.
    return fails([result])


class Versions:
    """The versions of a file, the oldest first; its renames are followed.

    Each is read once, for however many clusters it is asked.
    """

    def __init__(self, history: History, path: str) -> None:
        self._touched = list(_touched(history, path))
        # Git lists the newest first, and a version counts after those before it.
        self._touched.reverse()
        blobs = [each.blob for each in self._touched if each.blob is not None]
        # Of all at once: a process of Git each would take most of the time.
        self._contents = history.contents(blobs)
        self._read = {blob: _read(content) for blob, content in self._contents.items()}

    def clusters(self) -> list[str]:
        """Return all clusters that they name: the newest version's first, in its order."""
        found: dict[str, None] = {}
        for each in reversed(self._touched):
            policy = self._read.get(each.blob or "")
            if isinstance(policy, _Policy):
                found.update(dict.fromkeys(policy.clusters()))
        return list(found)

    def revisions(self, cluster: str | None) -> Iterator[Revision]:
        """Yield what they are for a cluster.

        None is each as it is, or for the cluster that it says it is built for.
        """
        last = _FIRST
        for each in self._touched:
            made = instant(each.commit.committed) or last
            # What is merged later is in force later, even if its clock says otherwise.
            at = max(made, last)
            yield self._revision(each, cluster, at, behind=made < last)
            last = at

    def _revision(
        self,
        each: _Touched,
        cluster: str | None,
        at: datetime,
        *,
        behind: bool,
    ) -> Revision:
        made = Revision(
            commit=each.commit,
            at=at,
            behind=behind,
            path=each.path,
            blob=each.blob,
            state=State.GONE,
        )
        # The commit removed the file, or put a directory in its place.
        if each.blob is None:
            return made
        content = self._contents.get(each.blob)
        # Git was asked for contents up to a size, so this one has no digest, either.
        if content is None:
            wrong = "is too large to be a manifest"
            return replace(made, state=State.UNREADABLE, problems=(wrong,))
        made = replace(made, digest=sha256(content).hexdigest())
        policy = self._read[each.blob]
        if isinstance(policy, _Unreadable):
            return replace(made, state=State.UNREADABLE, problems=(policy.problem,))
        return policy.for_cluster(cluster, made)


def _touched(history: History, path: str) -> Iterator[_Touched]:
    """Yield the commits that changed the file, the newest first, along its renames."""
    # All that Git lists below are on the way of first parents, and so in here.
    commits = {commit.name: commit for commit in history.commits}
    place: str | None = path
    start: str | None = history.commits[0].name
    # Each round begins at an older commit, so it ends.
    while place is not None and start is not None:
        found = [commits[name] for name in history.touching(place, start)]
        # Under this name, down to the commit that made the file.
        here = place
        place = None
        start = None
        there = _at(history, found, here)
        earlier = _before(history, found, here)
        for each, before in zip(there, earlier, strict=True):
            yield each
            # A file that was made by this commit may have had another name until then.
            if each.blob is not None and before is None:
                place = history.source(here, each.commit)
            if place is not None:
                start = each.commit.parent
                break


def _at(history: History, commits: Iterable[Commit], path: str) -> list[_Touched]:
    every = list(commits)
    blobs = history.blobs((commit.name, path) for commit in every)
    pairs = zip(every, blobs, strict=True)
    return [_Touched(commit, path, blob) for commit, blob in pairs]


def _before(
    history: History,
    commits: Iterable[Commit],
    path: str,
) -> list[str | None]:
    """Return what was at a path before each commit; before the first one there was nothing."""
    return history.blobs((commit.parent or "", path) for commit in commits)
