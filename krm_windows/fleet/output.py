"""A tree of files made what a fleet yields, a cluster at a time; or only compared with it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from posixpath import basename, dirname

from krm_windows import render
from krm_windows.emit import timetables
from krm_windows.emit.timetables import Versions
from krm_windows.fleet.rendering import Files, Fleet
from krm_windows.flux.sources import NAME
from krm_windows.krm import InputError, KubeObject, Value
from krm_windows.render import layout as paths
from krm_windows.results import Result, fails
from krm_windows.system.files import Changes, Folder, folders, stale
from krm_windows.system.reading import is_kustomization

# As a timetable has it: `"release": "2026a"`.
_RELEASE = re.compile(rb'krm-windows\.dev/zone-data: "?\d{4}[a-z]+"?')


@dataclass(frozen=True, slots=True)
class ClusterOutcome:
    """What becomes of a cluster, or of the base, whose name is empty.

    `results` are what is to be said of it. In a `branch` its `older` files are to become `files`;
    without one they stay as they are.
    """

    cluster: str
    results: tuple[Result, ...] = ()
    branch: Folder | None = None
    older: Files = field(default_factory=dict)
    files: Files = field(default_factory=dict)

    def stale(self) -> dict[str, str]:
        """Return the diffs of the files that differ, by path."""
        return stale(self.older, self.files)

    def edits(self) -> dict[str, bytes | None]:
        """Return the contents of the files that differ, None of those that are to go."""
        return {path: self.files.get(path) for path in self.stale()}

    def versions(self) -> Iterable[Versions]:
        """Return the timetables that were in the files and are to be; the base has none."""
        return timetables.versions(self.older.values(), self.files.values()) if self.cluster else ()

    def write(self) -> Changes:
        """Write the files."""
        return self.branch.put(self.older, self.files) if self.branch else Changes()


@dataclass(frozen=True)
class FleetOutput:
    """The directory of a fleet's tree; if `strict`, a warning leaves the files of a cluster."""

    fleet: Fleet
    output: Path
    strict: bool = False

    def clusters(self) -> list[str]:
        """Return the clusters of the fleet, and those that have files of ours and are no more."""
        there = folders(self.output / paths.CLUSTERS)
        gone = [name for name in there if self._is_gone(name)]
        return sorted([*self._known, *gone])

    def _is_gone(self, name: str) -> bool:
        """Whether files of ours are left of a cluster that is no more."""
        if name in self._known:
            return False
        # A directory without files of ours may be anybody's.
        return bool(self._branch(name).read())

    def base(self, files: Files) -> ClusterOutcome:
        """Return what all clusters share; what was of a policy that is gone goes."""
        return self._renewed("", self._base, self._base.read(), files)

    def begun_base(self, files: Files) -> ClusterOutcome:
        """Return the base, with that of a policy that is gone, to which clusters may refer yet."""
        older = self._base.read()
        current = {dirname(path) for path in files}
        kept = {path: older[path] for path in older if dirname(path) not in current}
        return self._renewed("", self._base, older, {**kept, **files})

    def tidied_base(self, files: Files) -> ClusterOutcome:
        """Return the base without that, unless a cluster kept its files because of an error."""
        older = self._base.read()
        left = {dirname(path) for path in older if path not in files}
        # kustomize would refuse a cluster's kustomization whose base is gone.
        used = {each for each in left if self._is_used(each)}
        kept = {path: older[path] for path in older if dirname(path) in used}
        return self._renewed("", self._base, older, {**kept, **files})

    @cached_property
    def _base(self) -> Folder:
        return Folder(self.output, render.is_header, branches=(paths.WINDOW,))

    def _is_used(self, base: str) -> bool:
        """Whether the kustomization of any cluster refers to the directory of a base."""
        entry = paths.reference(basename(base))
        for name in folders(self.output / paths.CLUSTERS):
            content = self._branch(name).read().get(paths.kustomization(name), b"")
            if entry in _resources(content):
                return True
        return False

    def cluster(self, name: str) -> ClusterOutcome:
        """Return what becomes of a cluster."""
        branch = self._branch(name)
        older = branch.read()
        # The cluster is gone: so are its files.
        if name not in self._known:
            results = self.fleet.dropped(name, older)
            if fails(results, strict=self.strict):
                return ClusterOutcome(name, results)
            return self._renewed(name, branch, older, {}, results)
        # A single error or, if strict, warning leaves the files of this cluster as they are.
        rendered = self.fleet.render(name, older)
        if rendered.files is None or fails(rendered.results, strict=self.strict):
            return ClusterOutcome(name, rendered.results)
        # Two Kustomizations for one tree would undo each other's pruning.
        if self.fleet.delivery:
            self._refuse_doubled(name)
        return self._renewed(name, branch, older, rendered.files, rendered.results)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.fleet.clusters)

    def _branch(self, name: str) -> Folder:
        return Folder(self.output, render.is_header, branches=paths.branches(name))

    def _renewed(
        self,
        name: str,
        branch: Folder,
        older: Files,
        files: Files,
        results: tuple[Result, ...] = (),
    ) -> ClusterOutcome:
        # A newer release of the zone data alone changes nothing.
        if _of_any_release(older) == _of_any_release(files):
            files = older
        return ClusterOutcome(name, results, branch, older, files)

    def _refuse_doubled(self, name: str) -> None:
        """Refuse a delivery of what Flux delivers already.

        It applies all that is where it was bootstrapped, listed or not.
        """
        folder = self.output / paths.CLUSTERS / name
        if not (folder / NAME).is_dir() or is_kustomization(folder):
            return
        raise InputError(
            f"{folder}: Flux was bootstrapped here and applies everything in it, so the windows "
            "would be delivered twice; render into another directory, or remove "
            "--flux-kustomizations"
        )


def _of_any_release(files: Files) -> dict[str, bytes]:
    """Return files without the release of the zone data that they name."""
    return {path: _RELEASE.sub(b"", content) for path, content in files.items()}


def _resources(kustomization: bytes) -> list[Value]:
    """Return the `resources` of a kustomization; none of one that is missing or is no YAML."""
    try:
        found = KubeObject.parse(kustomization).get("resources")
    except InputError:
        return []
    if isinstance(found, list):
        return found
    return []
