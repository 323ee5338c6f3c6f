"""Where Flux enters a repository: the directories of its clusters, told by what syncs them, or else by habit.

`check --repo` is told them (`--clusters`), and suggests these; a command that is told nothing starts from them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from posixpath import dirname, join, normpath

from krm_windows.flux import objects
from krm_windows.flux.closure import kustomization_file
from krm_windows.flux.fields import BASES
from krm_windows.flux.model import Object
from krm_windows.flux.sources import OPERATOR, below
from krm_windows.gateable import HELM, KUSTOMIZE
from krm_windows.krm import InputError, Value
from krm_windows.system.checkout import Checkout
from krm_windows.system.reading import KUSTOMIZATIONS

# What a file holds in which an entrance may stand.
_MARKS = (KUSTOMIZE.encode(), OPERATOR.encode(), HELM.encode())
# By habit: what `flux bootstrap --path` is given in Flux' own examples, and what people make of that.
HABITS = (
    "clusters/*",
    "*/clusters/*",
    "cluster/*",
    "cluster",
    "*/cluster",
    "*/*/cluster",
    "flux/*",
    "environments/*",
)


@dataclass(frozen=True, slots=True)
class Entrance:
    """A cluster's directory, and the file that says so; empty where only its name does."""

    directory: str
    file: str = ""


def find(tree: Checkout) -> tuple[Entrance, ...]:
    """Return the directories of clusters, in order: of what syncs them, else by habit, else what nothing leads to.

    In a habit's directory, and in one to which nothing leads, there is a Flux Kustomization.
    """
    found = list(_read(tree))
    for candidates in (_synced(tree, found), _habitual(tree, found), _tops(tree, found)):
        entrances = {each.directory: each for each in candidates}
        if entrances:
            return tuple(entrances[directory] for directory in sorted(entrances))
    return ()


def _read(tree: Checkout) -> Iterator[Object]:
    """Yield the objects of Flux in the tree's files, as they are written."""
    for path in tree.manifests():
        content = tree.read(path) or b""
        if not any(mark in content for mark in _MARKS):
            continue
        try:
            yield from [item for item in objects.written(content, path) if _is_flux(item)]
        except InputError:  # it is told of where it is built
            continue


def _is_flux(item: Object) -> bool:
    kinds = {(KUSTOMIZE, "Kustomization"), (OPERATOR, "FluxInstance"), (HELM, "HelmRelease")}
    return (item.group, item.kind) in kinds


def _synced(tree: Checkout, found: Iterable[Object]) -> Iterator[Entrance]:
    """Yield what a sync applies: a Kustomization the directory that it lies in itself, an instance what it names."""
    for item in found:
        if item.kind == "Kustomization" and _applies_itself(item):
            path = item.text("spec", "path")
        elif item.kind == "FluxInstance":
            path = item.text("spec", "sync", "path")
        elif (
            item.kind == "HelmRelease"
            and item.get("spec", "values", "instance", "sync") is not None
        ):
            path = item.text("spec", "values", "instance", "sync", "path")
        else:
            continue
        directory = below("", path)
        if path and tree.is_directory(directory):
            yield Entrance(directory, item.file)


def _applies_itself(item: Object) -> bool:
    """Whether a Kustomization lies below its own path; one that applies everything is known by its name only."""
    directory = below("", item.text("spec", "path"))
    if directory == ".":
        return bool(item.namespace) and item.name == item.namespace
    return item.file.startswith(f"{directory}/")


def _habitual(tree: Checkout, found: Iterable[Object]) -> Iterator[Entrance]:
    holding = {dirname(item.file) for item in found if item.kind == "Kustomization"}
    for pattern in HABITS:
        for directory in tree.directories(pattern):
            if any(_is_within(each, directory) for each in holding):
                yield Entrance(directory)


def _tops(tree: Checkout, found: Iterable[Object]) -> Iterator[Entrance]:
    """Yield the directories with Flux Kustomizations that no Kustomization applies, and no kustomization includes."""
    flux = [item for item in found if item.kind == "Kustomization"]
    applied = {below("", item.text("spec", "path")) for item in flux} - {"."}
    included = set(_included(tree))
    for directory in sorted({dirname(item.file) or "." for item in flux}):
        if directory not in included and not any(_is_within(directory, each) for each in applied):
            yield Entrance(directory)


def _included(tree: Checkout) -> Iterator[str]:
    """Yield the directories that kustomizations include, by their own path or by that of a file in them."""
    for path in tree.manifests():
        if path.rpartition("/")[2] not in KUSTOMIZATIONS:
            continue
        for entry in _entries(tree.read(path) or b""):
            place = normpath(join(dirname(path), entry))
            is_other = dirname(place) != dirname(path)
            yield (
                place
                if kustomization_file(tree, place) is not None or not is_other
                else dirname(place)
            )


def _entries(content: bytes) -> Iterator[str]:
    try:
        (item,) = objects.parsed(content)
        lists: list[Value] = [item.get(key) for key in BASES]
    except (InputError, ValueError):
        return
    for entries in lists:
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, str):
                yield entry


def _is_within(directory: str, other: str) -> bool:
    return directory == other or directory.startswith(f"{other}/") or other == "."
