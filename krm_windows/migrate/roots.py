"""Where the clusters of a repository lie: what bootstrapping wrote, the habits of directories, or the whole.

Nothing is guessed beyond that: what no cluster of these applies is named, and `--clusters` says where the others lie.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from krm_windows.flux import entrances
from krm_windows.gateable import KUSTOMIZE
from krm_windows.migrate import shapes
from krm_windows.migrate.repository import RESOURCES, Repository, entries, parents, resolve
from krm_windows.migrate.trees import Document, text
from krm_windows.system.checkout import Checkout

# Directories whose subdirectories are clusters, by the habits of Flux repositories.
_CLUSTERS = frozenset({"clusters", "cluster", "sites"})
# Those that are so only where there are none of the above: overlays of an application look the same.
_OVERLAYS = frozenset({"overlays", "environments", "envs"})
_SHARED = frozenset({"base", "_base", "common", "default"})
# What lies in a cluster's directory, and is no name of one.
_PARTS = ("flux-system", "flux")
_FOREIGN = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Roots:
    """The directories that are applied as a whole, each to one cluster.

    `named` is false where nothing tells one cluster from another: then the repository is taken for one cluster only.
    """

    directories: tuple[str, ...]
    named: bool = True


def find(tree: Checkout, repository: Repository) -> Roots:
    """Find the directories of the clusters."""
    booted = frozenset(_inner(each.directory) for each in entrances.find(tree) if each.file)
    found = booted | {each for each in _held(repository, _CLUSTERS) if not _is_booted(each, booted)}
    if not found:
        found = frozenset(_held(repository, _OVERLAYS))
    if not found:
        return Roots(tuple(_tops(repository)), named=False)
    # The one directory of a repository with one cluster, such as `kubernetes/flux`, has no name of a cluster.
    return Roots(tuple(sorted(found)), named=len(found) > 1 or any(map(_is_held, found)))


def names(directories: Sequence[str]) -> dict[str, str]:
    """Name clusters by the last part of their path, or by as many parts as it takes to tell them apart.

    The repository's own directory among others has no part: it is `root`.
    """
    split = {each: _parts(each) for each in directories}
    for count in range(1, max(map(len, split.values()), default=1) + 1):
        found = {each: "-".join(parts[-count:]) for each, parts in split.items()}
        if len(set(found.values())) == len(found):
            return found
    # Paths that differ in what Kubernetes does not tell apart.
    return {
        each: f"{'-'.join(parts)}-{number}" for number, (each, parts) in enumerate(split.items(), 1)
    }


def _parts(directory: str) -> list[str]:
    """Return the parts of a path that tell clusters apart, spelt as Kubernetes does."""
    written = directory.split("/")
    # `clusters/berlin/flux-system`: the cluster is berlin.
    while len(written) > 1 and written[-1] in _PARTS:
        written = written[:-1]
    spelt = [
        _FOREIGN.sub("-", part.lower()).strip("-")
        for part in written
        if part not in _CLUSTERS | _OVERLAYS
    ]
    return [part for part in spelt if part] or ["root"]


def _inner(directory: str) -> str:
    """Return a directory as paths are spelt here: that of the repository is empty."""
    return "" if directory == "." else directory


def _is_booted(directory: str, booted: frozenset[str]) -> bool:
    """Whether bootstrapping named a directory, one above it but for the repository itself, or one in it."""
    above = any(each in booted for each in (directory, *parents(directory)) if each)
    return above or any(each.startswith(f"{directory}/") for each in booted)


def _held(repository: Repository, holders: frozenset[str]) -> Iterator[str]:
    """Yield the outermost directories that lie in one of those names."""
    for directory in repository.directories:
        parts = directory.split("/")
        inside = [index for index, part in enumerate(parts[:-1]) if part in holders]
        if inside and inside[0] == len(parts) - 2 and parts[-1] not in _SHARED:
            yield directory


def _is_held(directory: str) -> bool:
    return not (_CLUSTERS | _OVERLAYS).isdisjoint(directory.split("/")[:-1])


def _tops(repository: Repository) -> Iterator[str]:
    """Yield the directories that nothing includes or applies: one of them may be a cluster without a name."""
    held = repository.kustomizations
    included = {
        resolve(path, each.text)
        for path, found in held.items()
        for each in entries(found.tree, *RESOURCES)
    }
    included |= {_applied(document) for document in repository.mentioning(KUSTOMIZE)}
    for path in sorted(repository.directories):
        if path in included:
            continue
        if path in held:
            if held[path].kind != "Component":
                yield path
        elif not any(above in held for above in parents(path) if above) and _is_loose(
            repository, path, included
        ):
            yield path


def _applied(document: Document) -> str:
    return resolve("", text(document.tree, "spec", "path").lstrip("/") or ".")


def _is_loose(repository: Repository, path: str, included: set[str]) -> bool:
    """Whether a directory without a kustomization has windows, or Flux Kustomizations, that nothing includes."""
    loose = [each for each in repository.files_in(path) if each not in included]
    return any(
        shapes.may_turn(repository.contents[each]) or repository.mentions(each, KUSTOMIZE)
        for each in loose
    )
