"""The versions of a policy's file, from the commits of a branch: each counts from its commit on.

As with every change, that is the committer's time on the way of first parents. A version cannot
count before the one that it follows, whatever its clock said.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from hashlib import sha256
from itertools import chain

from krm_windows.krm import InputError, opened
from krm_windows.policy.load import Loaded, PolicyDocument
from krm_windows.policy.model import KIND
from krm_windows.preview.clock import instant
from krm_windows.preview.versions import PolicySource
from krm_windows.results import Result, fails
from krm_windows.schedule.timetable import Timetable
from krm_windows.system.git_history import History
from krm_windows.system.git_objects import Commit

_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


class VersionState(Enum):
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
    state: VersionState
    digest: str | None = None
    timetable: Timetable | None = None
    problems: tuple[str, ...] = ()
    requests: Mapping[str, Request] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Touched:
    """A commit that changed the file, and what it had there then; the path is from the top."""

    commit: Commit
    path: str
    blob: str | None


@dataclass(frozen=True, slots=True)
class _Policy:
    """The one policy that a content holds, read for all of its clusters."""

    source: PolicySource
    loaded: Loaded

    def clusters(self) -> Iterable[str]:
        """Return the clusters that it names, with the one that it is built for."""
        return dict.fromkeys((*self.loaded.clusters, *filter(None, [self.loaded.build_for])))

    def for_cluster(self, cluster: str | None, made: Revision) -> Revision:
        """Return a version as it is for a cluster, with the timetable, or else what is wrong.

        None is the policy as it is, or for the cluster that it says it is built for.
        """
        loaded = self.loaded
        name = loaded.build_for if cluster is None else cluster
        # A build for it would end with the error that no such cluster is known.
        if name is not None and loaded.clusters and name not in loaded.clusters:
            # Where it is wrong for each cluster that it names, nothing is rendered, nor taken away.
            if all(policy is None for policy in loaded.clusters.values()):
                return _unreadable(made, *_errors(loaded.results))
            return replace(made, state=VersionState.ELSEWHERE)
        # One that names no clusters is the same for each.
        is_own = bool(loaded.clusters) or name == loaded.build_for
        wanted = [(name, *loaded.for_cluster(name if is_own else None))]
        versions, said = self.source.compile(wanted)
        if not versions:
            return _unreadable(made, *_errors(said))
        overrides = versions[0].policy.spec.overrides or {}
        return replace(
            made,
            state=VersionState.READ,
            timetable=versions[0].timetable,
            # A timetable has what the gate needs, and it needs none of these.
            requests={
                key: Request(each.requested_by, each.ticket) for key, each in overrides.items()
            },
        )


def _errors(results: Iterable[Result]) -> Iterator[str]:
    # Hints about a policy that is in force are the matter of `check`.
    return (str(result) for result in results if fails([result]))


def _unreadable(made: Revision, *problems: str) -> Revision:
    return replace(made, state=VersionState.UNREADABLE, problems=problems)


def _read(content: bytes) -> _Policy | str:
    """Return the policy that a content holds, or what is wrong where it is not one."""
    try:
        found = [item for item in opened(content) if item.kind == KIND]
        # Two policies in a file are rendered as two: which one is meant could not be said.
        if len(found) != 1:
            return f"must contain exactly one {KIND}, found {len(found)}"
        # The targets of that time are not read, so `closesEarly: auto` takes nothing off.
        source = PolicySource(found[0])
        return _Policy(source, source.load())
    # What is no YAML at all, or no mapping where there has to be one.
    except InputError as error:
        return str(error)


class Versions:
    """The versions of a file, the oldest first; its renames are followed.

    Each is read once, for however many clusters it is asked.
    """

    def __init__(self, history: History, path: str) -> None:
        # Git lists the newest first, and a version counts after those before it.
        self._touched = [*_touched(history, path)][::-1]
        blobs = [each.blob for each in self._touched if each.blob is not None]
        self._contents = history.contents(blobs)
        self._read = {blob: _read(content) for blob, content in self._contents.items()}

    def clusters(self) -> list[str]:
        """Return all clusters that they name: the newest version's first, in its order."""
        return list(dict.fromkeys(chain.from_iterable(map(_Policy.clusters, self._policies()))))

    def last(self) -> PolicyDocument | None:
        """Return the newest one that can be read."""
        return next((each.loaded.source for each in self._policies()), None)

    def excepted(self) -> list[str]:
        """Return the clusters that any version has overrides of their own for."""
        every = (each.loaded.source.patches.items() for each in self._policies())
        # What is not a map is wrong: nothing is rendered of it.
        own = (
            name
            for name, patch in chain.from_iterable(every)
            if isinstance(patch, dict) and "overrides" in patch
        )
        return list(dict.fromkeys(own))

    def _policies(self) -> Iterator[_Policy]:
        for each in reversed(self._touched):
            policy = self._read.get(each.blob or "")
            if isinstance(policy, _Policy):
                yield policy

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
            state=VersionState.GONE,
        )
        # The commit removed the file, or put a directory in its place.
        if each.blob is None:
            return made
        content = self._contents.get(each.blob)
        # Git was asked for contents up to a size, so this one has no digest, either.
        if content is None:
            return _unreadable(made, "is too large to be a manifest")
        made = replace(made, digest=sha256(content).hexdigest())
        policy = self._read[each.blob]
        if isinstance(policy, str):
            return _unreadable(made, policy)
        return policy.for_cluster(cluster, made)


def _touched(history: History, path: str) -> Iterator[_Touched]:
    """Yield the commits that changed the file, the newest first, along its renames."""
    # All that Git lists below are on the way of first parents, and so in here.
    commits = {commit.name: commit for commit in history.commits}
    start: str | None = history.commits[0].name
    # Each round begins at an older commit, so it ends.
    while start is not None:
        # Under this name, down to the commit that made the file.
        names = history.touching(path, start)
        start = None
        for name in names:
            commit = commits[name]
            [blob] = history.blobs([(name, path)])
            yield _Touched(commit, path, blob)
            # A file that was made by this commit may have had another name until then.
            earlier = history.source(path, commit)
            if earlier is not None:
                path, start = earlier, commit.parent
                break
