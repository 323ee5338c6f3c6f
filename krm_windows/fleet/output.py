"""A tree of files made what a fleet yields, a cluster at a time; or only compared with it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from posixpath import dirname

from krm_windows import render
from krm_windows.fleet.rendering import Files, Fleet
from krm_windows.render import layout as paths
from krm_windows.results import Result, fails
from krm_windows.system.files import Changes, Folder, folders, stale

# As a timetable has it: `"release": "2026a"`.
_RELEASE = re.compile(rb'krm-windows\.dev/zone-data: "?\d{4}[a-z]+"?')


@dataclass(frozen=True, slots=True)
class ClusterOutcome:
    """What becomes of a cluster of a fleet, or of its base, whose name is empty; or of one policy.

    `results` are what is to be said of it. In a `folder` its `older` files are to become `files`;
    without one they stay as they are.
    """

    cluster: str
    results: Sequence[Result] = ()
    folder: Folder | None = None
    older: Files = field(default_factory=dict)
    files: Files = field(default_factory=dict)

    @classmethod
    def of(
        cls, folder: Folder, files: Files, cluster: str = "", results: Sequence[Result] = ()
    ) -> "ClusterOutcome":
        """Compare files with those that are there."""
        older = folder.read()
        # A newer release of the zone data alone changes nothing.
        if _of_any_release(older) == _of_any_release(files):
            files = older
        return cls(cluster, results, folder, older, files)

    def stale(self) -> dict[str, str]:
        """Return the diffs of the files that differ, by path."""
        return stale(self.older, self.files)

    def edits(self) -> dict[str, bytes | None]:
        """Return the contents of the files that differ, None of those that are to go."""
        return {path: self.files.get(path) for path in self.stale()}

    def write(self) -> Changes:
        """Write the files."""
        return self.folder.put(self.older, self.files) if self.folder else Changes()


@dataclass(frozen=True)
class FleetOutput:
    """The directory of a fleet's tree; if `strict`, a warning leaves the files of a cluster."""

    fleet: Fleet
    output: Path
    strict: bool = False

    def outcomes(self, said: Sequence[Result] = ()) -> Iterator[ClusterOutcome]:
        """Yield what becomes of the base, with what else is `said` of it, and of each cluster."""
        files, results = self.fleet.base()
        results = [*results, *said]
        # An error in the base is in every cluster: it is reported once, and none is rendered.
        if files is None or fails(results, strict=self.strict):
            yield ClusterOutcome("", results)
            return
        # To the base of a policy that is gone clusters may refer yet.
        current = {dirname(path) for path in files}
        older = self._base.read()
        gone = {path: older[path] for path in older if dirname(path) not in current}
        yield ClusterOutcome.of(self._base, {**gone, **files}, "", results)
        is_whole = True
        for name in self._clusters():
            outcome = self._cluster(name)
            is_whole = is_whole and outcome.folder is not None
            yield outcome
        if gone and is_whole:
            yield ClusterOutcome.of(self._base, files)

    @cached_property
    def _base(self) -> Folder:
        return Folder(self.output, render.is_header, branches=(paths.WINDOW,))

    def _clusters(self) -> list[str]:
        """Return the clusters of the fleet, and those that have files of ours and are no more."""
        there = folders(self.output / paths.CLUSTERS)
        # A directory without files of ours may be anybody's.
        gone = [name for name in there if name not in self._known and self._branch(name).read()]
        return sorted([*self._known, *gone])

    def _cluster(self, name: str) -> ClusterOutcome:
        """Return what becomes of a cluster."""
        branch = self._branch(name)
        # The cluster is gone: so are its files.
        files: Files | None = {}
        if name in self._known:
            files, results = self.fleet.render(name, branch.read())
        else:
            results = self.fleet.dropped(name, branch.read())
        # A single error or, if strict, warning leaves the files of this cluster as they are.
        if files is None or fails(results, strict=self.strict):
            return ClusterOutcome(name, results)
        return ClusterOutcome.of(branch, files, name, results)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.fleet.clusters)

    def _branch(self, name: str) -> Folder:
        return Folder(self.output, render.is_header, branches=(paths.directory(name),))


def _of_any_release(files: Files) -> dict[str, bytes]:
    """Return files without the release of the zone data that they name."""
    return {path: _RELEASE.sub(b"", content) for path, content in files.items()}
