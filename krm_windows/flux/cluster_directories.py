"""Where Flux enters a repository.

The directories of its clusters, known by what syncs them, or else by habit. `check --repo` is given
them (`--clusters`), and suggests these; a command that is given nothing starts from them.
"""

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath
from posixpath import basename, commonpath, dirname

from krm_windows.flux import objects
from krm_windows.flux.artifact_files import Artifact, ArtifactFiles
from krm_windows.flux.closure import close, joined, window_policies
from krm_windows.flux.model import Object
from krm_windows.flux.sources import NAME, OPERATOR, below, inside, instance
from krm_windows.gateable import HELM, KUSTOMIZE
from krm_windows.system.checkout import Checkout
from krm_windows.system.reading import KUSTOMIZATIONS

# What a file holds in which an entrance may be.
_MARKS = (KUSTOMIZE.encode(), OPERATOR.encode(), HELM.encode())
# The chart of the Flux Operator's instance.
_INSTANCE = "flux-instance"


# By habit: what `flux bootstrap --path` is given in Flux' own examples, and what people make of
# that.
_HABITS = (
    *("clusters/*", "*/clusters/*", "cluster/*", "cluster"),
    *("*/cluster", "*/*/cluster", "flux/*", "environments/*"),
)


@dataclass(frozen=True, slots=True)
class Entrance:
    """A cluster's directory, and the file that says so; empty where only its name does."""

    directory: str
    file: str = ""


def find(tree: Checkout) -> tuple[Entrance, ...]:
    """Return the directories of clusters, in order.

    Of what syncs them, else those of a usual name with a Flux Kustomization.
    """
    # What is left out of the artifact is no part of a cluster; it may be applied by hand.
    every = list(_read(tree))
    tree = _artifact(tree)
    found = list(_synced(tree, every))
    if not found:
        found = list(_habitual(tree, (item for item in every if not tree.is_absent(item.file))))
    entrances = {each.directory: each for each in found}
    return tuple(entrances[directory] for directory in sorted(entrances))


def _artifact(tree: Checkout) -> Checkout:
    """Return a tree as any source has it whose own fields leave nothing out."""
    return ArtifactFiles(tree, Artifact()).checkout


def within(tree: Checkout, directories: Sequence[str]) -> tuple[str, ...]:
    """Return directories, of one that has only directories itself those that are synced below it.

    `clusters/demo` may be `clusters/demo/00` and `clusters/demo/01`, and what these share. Left out
    is one that has only directories and leads to no Kustomization, where others do: it holds what
    they share, or what a hub applies to a spoke. Left out is also what no artifact has.
    """
    tree = _artifact(tree)
    directories = [each for each in directories if not tree.is_absent(each)]
    # A hidden file configures a tool, such as SOPS.
    manifests = (path for path in tree.manifests() if not basename(path).startswith("."))
    filled = set(map(dirname, manifests))
    outer = set(directories) - filled
    # To look for what syncs a cluster is to look at every file.
    if not outer:
        return tuple(directories)
    flux = list(_read(tree))
    synced = sorted({each.directory for each in _synced(tree, flux)})
    files = {item.file for item in flux if item.kind == "Kustomization"}
    found: list[str] = []
    for each in directories:
        if each not in outer or each in synced:
            found.append(each)
        else:
            found += _inner(tree, each, synced, files)
    return tuple(found)


def _inner(
    tree: Checkout,
    directory: str,
    synced: Iterable[str],
    files: Collection[str],
) -> Sequence[str]:
    """Return the clusters of a directory that has only directories itself.

    `files` have the Kustomizations of the repository.
    """
    inner = [each for each in synced if _is_within(each, directory)]
    # Without any Kustomization nothing shows which directory is a cluster.
    if inner or (files and not _leads_to_any(tree, directory, files)):
        return inner
    return [directory]


def _leads_to_any(tree: Checkout, directory: str, files: Collection[str]) -> bool:
    """Whether one of some files lies below a directory, or a kustomization below it has one."""
    below_it = f"{directory}/"
    if any(file.startswith(below_it) for file in files):
        return True
    inside = (path for path in tree.manifests() if path.startswith(below_it))
    built = (dirname(path) for path in inside if basename(path) in KUSTOMIZATIONS)
    return any(not _files(tree, each).isdisjoint(files) for each in built)


def has_policy(tree: Checkout, directory: str) -> bool:
    """Whether a policy is directly in a directory, as `krm-windows init` leaves it."""
    for path in tree.manifests():
        if dirname(path) == directory and window_policies(tree.read(path) or b""):
            return True
    return False


def _read(tree: Checkout, without: Container[str] = frozenset()) -> Iterator[Object]:
    """Yield the objects of Flux in the tree's files, as they are written."""
    # To look for a group in the bytes is much cheaper than to read every file.
    for path in tree.manifests():
        if path in without:
            continue
        content = tree.read(path) or b""
        if not any(mark in content for mark in _MARKS):
            continue
        # One that cannot be read is reported where it is built.
        for item in objects.readable(content):
            found = Object.in_file(item, path)
            if _is_flux(found):
                yield found


def is_instance_release(item: Object) -> bool:
    """Whether a HelmRelease is most likely one of the chart of the Flux Operator's instance."""
    named = (
        item.name,
        item.text("spec", "chartRef", "name"),
        item.text("spec", "chart", "spec", "chart"),
    )
    return item.kind == "HelmRelease" and _INSTANCE in named


# The kinds that say what Flux applies to a cluster.
_FLUX = ((KUSTOMIZE, "Kustomization"), (OPERATOR, "FluxInstance"), (HELM, "HelmRelease"))


def _is_flux(item: Object) -> bool:
    return (item.group, item.kind) in _FLUX


def unread(tree: Checkout, read: Container[str]) -> list[Object]:
    """Return the objects of Flux of an artifact in files that are not among those `read`."""
    return list(_read(_artifact(tree), read))


def unlisted(
    tree: Checkout, unread: Sequence[Object], read: Iterable[str], applied: Collection[str]
) -> dict[str, str]:
    """Return the directories that may be of clusters, each with a file that says so.

    What is `unread` syncs one, or is a Kustomization of which nothing around was `read`. What lies
    in a directory that is `applied`, by one of these as well, was switched off there.
    """
    touched = set(map(str, chain.from_iterable(PurePosixPath(path).parents for path in read)))
    flux = list(kustomizations(unread))
    inner = {below("", item.text("spec", "path")) for item in flux}
    groups = defaultdict[str, list[str]](list)
    for item in flux:
        directory = dirname(item.file)
        # One that applies everything says nothing.
        if any(_is_within(directory, each) for each in {*applied, *inner} - {"."}):
            continue
        outer = _untouched(directory, touched)
        # An application that is beside others of which some are applied was switched off, too.
        if "/" not in outer or not _is_within(below("", item.text("spec", "path")), outer):
            groups[outer].append(item.file)
    found = {each.directory: each.file for each in _synced(_artifact(tree), unread)}
    return found | {commonpath(map(dirname, files)): files[0] for files in groups.values()}


def _untouched(directory: str, touched: Container[str]) -> str:
    """Return the outermost directory around one that has no file of those that were read."""
    above = dirname(directory)
    while above and above not in touched:
        directory, above = above, dirname(above)
    return directory


def _synced(tree: Checkout, found: Iterable[Object]) -> Iterator[Entrance]:
    """Yield what a sync applies.

    For a Kustomization it is the directory that it is in itself, for an instance what it names.
    A Kustomization has others below it: an application may have its own.
    """
    others: list[Entrance] = []
    operated: list[Entrance] = []
    read = list(found)
    files = {item.file for item in read if item.kind == "Kustomization"}
    for item in read:
        directory = _entered(tree, item)
        if directory is None:
            continue
        entrance = Entrance(directory, item.file)
        if instance(item) is not None:
            operated.append(entrance)
        elif _is_bootstrapped(item) or (
            not _is_led_to(tree, entrance, read)
            and _leads_to_any(tree, directory, files - {item.file})
        ):
            others.append(entrance)
    yield from operated
    yield from others


def _entered(tree: Checkout, item: Object) -> str | None:
    """Return the directory that an object syncs a cluster from; None where it is none of here."""
    sync = instance(item)
    path = ""
    if sync is not None:
        path = item.text(*sync, "path")
    elif _is_bootstrapped(item) or _applies_itself(tree, item):
        path = item.text("spec", "path")
    directory = below("", path)
    if not path or tree.is_directory(directory):
        return directory if path else None
    return None


def _is_bootstrapped(item: Object) -> bool:
    """Whether a Kustomization has the name that `flux bootstrap` gives, `flux-system/flux-system`.

    It syncs a cluster wherever it is, even if it is but a patch of what bootstrap wrote.
    """
    if (item.namespace, item.name) == (NAME, NAME):
        return True
    # `flux bootstrap --namespace`: of one that applies everything nothing but its name is known.
    directory = below("", item.text("spec", "path"))
    return directory == "." and bool(item.namespace) and item.name == item.namespace


def _applies_itself(tree: Checkout, item: Object) -> bool:
    """Whether a Kustomization is among what it applies, or lies there and was applied by hand.

    Not every one that is below its own path is: many people keep what applies a directory in it.
    """
    # A patch of a Kustomization has no source, and syncs nothing.
    if not item.text("spec", "sourceRef", "name"):
        return False
    directory = below("", item.text("spec", "path"))
    if directory == "." or not item.file.startswith(f"{directory}/"):
        return False
    return dirname(item.file) == directory or item.file in _files(tree, directory)


# Of a hub that applies 400 clusters it is asked 400 times: 5 s in place of 90. The tree of an
# artifact (`_artifact`) is equal to no other, so nothing is taken for what it was before.
@lru_cache(maxsize=4096)
def _files(tree: Checkout, directory: str) -> frozenset[str]:
    """Return the files whose objects a build of a directory applies."""
    return frozenset(close(tree, directory, {}).resources)


def _is_led_to(tree: Checkout, entrance: Entrance, found: Iterable[Object]) -> bool:
    """Whether another Kustomization, from a directory outside an entrance's, has its file.

    Then what applies itself is a part of that Kustomization, and not where Flux enters.
    """
    directories = {below("", item.text("spec", "path")) for item in kustomizations(found)}
    for directory in directories - {"."}:
        is_around = _is_within(entrance.directory, directory)
        # Most lead elsewhere, which their names alone say: a root includes what lies below it.
        if directory == entrance.directory or not is_around:
            continue
        if entrance.file in _files(tree, directory):
            return True
    return False


def kustomizations(found: Iterable[Object]) -> Iterator[Object]:
    """Yield the Kustomizations that apply something; a patch of one has no source."""
    for item in found:
        if item.kind == "Kustomization" and item.text("spec", "sourceRef", "name"):
            yield item


def by_hand(tree: Checkout, directory: str) -> tuple[Object, ...]:
    """Return the Kustomizations right in a directory that apply it.

    The directory's kustomization may leave the file out: then somebody applied it by hand.
    """
    # Everything is applied by many, of which none is about this directory alone.
    if directory == ".":
        return ()
    found: list[Object] = []
    for name in tree.names(directory):
        path = joined(directory, name)
        content = tree.read(path) or b""
        if KUSTOMIZE.encode() in content:
            # One that cannot be read is reported where it is built.
            found += (Object.in_file(item, path) for item in objects.readable(content))
    flux = kustomizations(filter(_is_flux, found))
    return tuple(item for item in flux if below("", item.text("spec", "path")) == directory)


def _habitual(tree: Checkout, found: Iterable[Object]) -> Iterator[Entrance]:
    """Yield the directories of the usual names in which there is a Flux Kustomization."""
    directories = {dirname(item.file) for item in found if item.kind == "Kustomization"}
    for pattern in _HABITS:
        for directory in tree.directories(pattern):
            # A directory of a usual name may be of anything, such as of Terraform.
            if any(_is_within(each, directory) for each in directories):
                yield Entrance(directory)


def _is_within(directory: str, other: str) -> bool:
    return inside(directory, other) is not None
