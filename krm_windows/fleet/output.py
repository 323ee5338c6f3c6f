"""A tree of files made what a fleet yields, a cluster at a time; or only compared with it."""

from collections.abc import Iterable, Mapping
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
from krm_windows.render import stamp
from krm_windows.results import Result, fails
from krm_windows.system.files import Changes, folders
from krm_windows.system.files import stale as stale_files
from krm_windows.system.reading import is_kustomization
from krm_windows.system.trees import Tree

_NONE = Changes()


@dataclass(frozen=True, slots=True)
class ClusterOutcome:
    """What became of a cluster.

    `results` are what was said of it, `changes` how many files were renewed, or are to be. Where it
    was only compared, `stale` are the diffs of the files that differ by path, `edits` their
    contents, None of those that are to go, and `versions` the timetables that were in them and are
    to be.
    """

    cluster: str
    results: tuple[Result, ...] = ()
    changes: Changes = _NONE
    stale: Mapping[str, str] = field(default_factory=dict)
    edits: Mapping[str, bytes | None] = field(default_factory=dict)
    versions: tuple[Versions, ...] = ()


@dataclass(frozen=True)
class FleetOutput:
    """The directory of a fleet's tree.

    If it `checks`, nothing is written, and if it `explains`, the timetables in stale files are
    read; if `strict`, warnings count. If it `believes`, or writes, files with a stamp that fits
    them are fresh.
    """

    fleet: Fleet
    output: Path
    checks: bool = False
    strict: bool = False
    explains: bool = False
    believes: bool = False

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
        """Renew what all clusters share.

        The base of a policy that is gone stays, as clusters may refer to it until they are renewed.
        """
        older = self._base.read()
        kept = {}
        if not self.checks:
            current = {dirname(path) for path in files}
            kept = {path: older[path] for path in older if dirname(path) not in current}
        return self._renewed("", self._base, older, {**kept, **files})

    def tidied_base(self, files: Files) -> ClusterOutcome:
        """Remove what `base` has left, unless a cluster kept its files because of an error."""
        older = self._base.read()
        left = {dirname(path) for path in older if path not in files}
        # A comparison has shown them, and mostly there are none.
        if self.checks or not left:
            return ClusterOutcome("")
        # kustomize would refuse a cluster's kustomization whose base is gone.
        used = {each for each in left if self._is_used(each)}
        kept = {path: older[path] for path in older if dirname(path) in used}
        return self._renewed("", self._base, older, {**kept, **files})

    @cached_property
    def _base(self) -> Tree:
        return Tree(self.output, (paths.WINDOW,), render.is_header)

    def _is_used(self, base: str) -> bool:
        """Whether the kustomization of any cluster refers to the directory of a base."""
        entry = paths.reference(basename(base))
        for name in folders(self.output / paths.CLUSTERS):
            content = self._branch(name).read().get(paths.kustomization(name), b"")
            if entry in _resources(content):
                return True
        return False

    def cluster(self, name: str) -> ClusterOutcome:
        """Renew the files of a cluster, unless they are fresh."""
        branch = self._branch(name)
        older = branch.read()
        # The cluster is gone: so are its files.
        if name not in self._known:
            results = self.fleet.dropped(name, older)
            if fails(results, strict=self.strict):
                return ClusterOutcome(name, results)
            return self._renewed(name, branch, older, {}, results)
        if (self.believes or not self.checks) and self.fleet.is_fresh(name, older):
            if not self.checks:
                # A run that was killed may have left files of its own.
                branch.tidy()
            return ClusterOutcome(name)
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

    def _branch(self, name: str) -> Tree:
        return Tree(self.output, paths.branches(name), render.is_header)

    def _renewed(
        self,
        name: str,
        branch: Tree,
        older: Files,
        files: Files,
        results: Iterable[Result] = (),
    ) -> ClusterOutcome:
        """Write the files of a branch, or compare them with those that are there."""
        place = paths.kustomization(name)
        # A newer release of the zone data alone changes nothing.
        files = stamp.kept(older, files, place)
        if not self.checks:
            return ClusterOutcome(name, tuple(results), branch.write(older, files))
        before = stamp.without(older, place)
        after = stamp.without(files, place)
        stale = stale_files(before, after)
        # A stamp alone is no difference; with others it is written anew, as it is of all files.
        if not stale:
            return ClusterOutcome(name, tuple(results))
        edits = {path: files.get(path) for path in {**older, **files}}
        edits = {path: new for path, new in edits.items() if older.get(path) != new}
        # Of the base each cluster has its own version.
        versions: tuple[Versions, ...] = ()
        if name and self.explains:
            versions = tuple(timetables.versions(older.values(), files.values()))
        return ClusterOutcome(name, tuple(results), Changes(len(stale)), stale, edits, versions)

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


def _resources(kustomization: bytes) -> list[Value]:
    """Return the `resources` of a kustomization; none of one that is missing or is no YAML."""
    try:
        found = KubeObject.parse(kustomization).get("resources")
    except InputError:
        return []
    if isinstance(found, list):
        return found
    return []
