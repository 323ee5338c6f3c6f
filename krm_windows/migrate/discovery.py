"""Where the clusters of a repository are.

They are what bootstrapping wrote, or by the habits of directories, or the repository as a whole.
Nothing is guessed beyond that: what no cluster of these applies is named, and `--clusters` says
where the others are.
"""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from krm_windows.flux import cluster_directories
from krm_windows.gateable import KUSTOMIZE
from krm_windows.migrate import heuristics
from krm_windows.migrate.repository import Repository, parents
from krm_windows.system.checkout import Checkout

# Directories whose subdirectories are clusters, by the habits of Flux repositories.
_CLUSTERS = frozenset({"clusters", "cluster", "sites"})
# Those that are so only where there are none of the above: overlays of an application look the
# same.
_OVERLAYS = frozenset({"overlays", "environments", "envs"})
# Beside the clusters, and no cluster: what they have in common.
_SHARED = frozenset({"base", "_base", "common", "default"})
# What is in a cluster's directory, and is no name of one.
_PARTS = ("flux-system", "flux")
# What no name of an object may have in it (RFC 1123).
_FOREIGN = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class ClusterDirectories:
    """The directories that are applied as a whole, each to one cluster."""

    directories: tuple[str, ...]

    named: bool = True
    """False where nothing distinguishes one cluster from another, so that there can be one only."""

    @property
    def roots(self) -> list[str]:
        """The directories, as a survey spells them: the repository's own is `.`."""
        return [each or "." for each in self.directories]


def find(tree: Checkout, repository: Repository) -> ClusterDirectories:
    """Find the directories of the clusters."""
    # An entrance with a file is one that bootstrapping wrote; without it is only a habit.
    synced = (each.directory for each in cluster_directories.find(tree) if each.file)
    booted = frozenset(map(relative, synced))
    habitual = _below(repository, _CLUSTERS)
    by_habit = {each for each in habitual if not _is_booted(each, booted)}
    found = booted | by_habit
    if not found:
        found = frozenset(_below(repository, _OVERLAYS))
    if not found:
        return ClusterDirectories(tuple(_tops(tree, repository)), named=False)
    # The one directory of a repository with one cluster, such as `kubernetes/flux`, has no name of
    # a cluster.
    named = len(found) > 1 or any(map(_is_below, found))
    return ClusterDirectories(tuple(sorted(found)), named)


def names(directories: Sequence[str]) -> dict[str, str]:
    """Name clusters by the last part of their path, or by as many parts as distinguish them.

    The repository's own directory among others has no part: it is `root`.
    """
    split = {each: _parts(each) for each in directories}
    longest = max(map(len, split.values()), default=1)
    # `eu/prod` and `us/prod`: one part is not enough, two are.
    for count in range(1, longest + 1):
        found = {each: "-".join(parts[-count:]) for each, parts in split.items()}
        if len(set(found.values())) == len(found):
            return found
    # Paths that differ in what Kubernetes does not distinguish.
    numbered = {}
    for number, (each, parts) in enumerate(split.items(), 1):
        stem = "-".join(parts)
        numbered[each] = f"{stem}-{number}"
    return numbered


def relative(directory: str) -> str:
    """Return a directory as paths are spelt here: that of the repository is empty."""
    if directory == ".":
        return ""
    return directory


def _parts(directory: str) -> list[str]:
    """Return the parts of a path that distinguish clusters, spelt as Kubernetes does."""
    written = directory.split("/")
    # `clusters/berlin/flux-system`: the cluster is berlin.
    while len(written) > 1 and written[-1] in _PARTS:
        written.pop()
    spelt = []
    for part in written:
        if part in _CLUSTERS or part in _OVERLAYS:
            continue
        # RFC 1123: small letters, digits, and hyphens between them.
        label = _FOREIGN.sub("-", part.lower()).strip("-")
        if label:
            spelt.append(label)
    return spelt or ["root"]


def _is_booted(directory: str, booted: frozenset[str]) -> bool:
    """Whether bootstrapping named a directory, one in it, or one above it but the repository."""
    above = {directory, *parents(directory)} - {""}
    if not booted.isdisjoint(above):
        return True
    return any(each.startswith(f"{directory}/") for each in booted)


def _below(repository: Repository, names: frozenset[str]) -> Iterator[str]:
    """Yield the outermost directories that are in one of those names."""
    for directory in repository.directories:
        *above, own = directory.split("/")
        inside = [index for index, part in enumerate(above) if part in names]
        # Directly in the outermost of those names: `clusters/berlin`, not `clusters/berlin/apps`.
        if inside and inside[0] == len(above) - 1 and own not in _SHARED:
            yield directory


def _is_below(directory: str) -> bool:
    above = directory.split("/")[:-1]
    return not (_CLUSTERS | _OVERLAYS).isdisjoint(above)


def _tops(tree: Checkout, repository: Repository) -> Iterator[str]:
    """Yield the directories that nothing includes or applies.

    One of them may be a cluster without a name.
    """
    taken = cluster_directories.taken(tree)
    for path in sorted(repository.directories):
        if taken.has(path or "."):
            continue
        kustomization = repository.kustomizations.get(path)
        if kustomization:
            # A Component is nothing without what includes it.
            if kustomization.item.kind != "Component":
                yield path
        elif _is_in_kustomization(repository, path):
            continue
        elif _is_loose(repository, path, taken.included):
            yield path


def _is_in_kustomization(repository: Repository, path: str) -> bool:
    """Whether a directory above one has a kustomization, but for that of the repository."""
    return any(above and above in repository.kustomizations for above in parents(path))


def _is_loose(repository: Repository, path: str, included: Container[str]) -> bool:
    """Whether a directory has windows, or Flux Kustomizations, in files that nothing includes."""
    for each in repository.manifests.get(path, []):
        content = repository.contents[each]
        if each not in included and (
            heuristics.may_suspend(content) or KUSTOMIZE.encode() in content
        ):
            return True
    return False
