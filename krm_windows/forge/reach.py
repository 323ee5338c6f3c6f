"""Which changes a policy gates: those that reach what it gates in a repository, or named paths."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from posixpath import dirname

from krm_windows.checks.repository.gated import GatedCluster
from krm_windows.flux import Cluster, Survey
from krm_windows.patterns import glob


@dataclass(frozen=True, slots=True)
class Reach:
    """Paths of a repository: files, all below some directories, and what some globs match.

    `*` in a glob matches any characters, `/` included.
    """

    files: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()
    globs: tuple[str, ...] = ()

    def has(self, path: str) -> bool:
        """Whether a path, which need not be there any more or yet, is among them."""
        if path in self.files:
            return True
        if any(glob.matches(each, path) for each in self.globs):
            return True
        return "" in self.directories or any(each in self.directories for each in _above(path))

    def touched(self, paths: Iterable[str]) -> bool:
        """Whether any of some paths is among them."""
        return any(self.has(path) for path in paths)


def of_policies(survey: Survey, named: Collection[str]) -> Mapping[tuple[str, str], Reach]:
    """Return what each of some policies gates, by its `namespace/name` and a cluster's name.

    A policy is there for those clusters of which it gates anything.
    """
    found: dict[tuple[str, str], Reach] = {}
    for cluster in survey.clusters:
        for policy, reach in _of_cluster(cluster):
            if policy in named:
                # Several Kustomizations of a cluster may have the same policy.
                before = found.get((policy, cluster.name), Reach())
                found[policy, cluster.name] = Reach(
                    before.files | reach.files, before.directories | reach.directories
                )
    return found


def _of_cluster(cluster: Cluster) -> Iterator[tuple[str, Reach]]:
    """Yield policies of a cluster, each with some paths that it gates."""
    gated = GatedCluster(cluster)
    for kustomization in cluster.kustomizations.values():
        # Its source is another repository: a path such as `./` is none of this one.
        if not kustomization.files and not kustomization.complete:
            continue
        # Those that suspend it, or the source that it takes its files from.
        policies = gated.holds(kustomization)
        # A file that is new in a directory of which files are read may be read, too.
        directories = {dirname(file) for file in kustomization.files} | {kustomization.path}
        whole = Reach(kustomization.files, frozenset(map(_named, directories)))
        for policy in policies:
            yield policy, whole
        for item in kustomization.objects:
            # A HelmRelease, say, that is gated itself; kustomize may not say in which file it is.
            reach = Reach(frozenset({item.file})) if item.file else whole
            for policy in gated.gates(item) - policies:
                if not _is_followed(cluster, item.identity):
                    yield policy, reach


def _is_followed(cluster: Cluster, identity: tuple[str, str, str, str]) -> bool:
    """Whether an object is a Kustomization of the cluster: what it applies is what waits."""
    _, kind, namespace, name = identity
    return kind == "Kustomization" and f"{namespace}/{name}" in cluster.kustomizations


def _above(path: str) -> Iterator[str]:
    """Yield the directories above a path."""
    above = dirname(path)
    while above:
        yield above
        above = dirname(above)


def _named(directory: str) -> str:
    """Return a directory as the paths of a forge have it: the root is empty."""
    plain = directory.removeprefix("./").strip("/")
    if plain == ".":
        return ""
    return plain
