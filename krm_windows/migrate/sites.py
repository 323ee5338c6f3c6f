"""The clusters of a repository: what is applied where, told by Flux Kustomizations and by directories."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from krm_windows import gateable, rules
from krm_windows.migrate import jobs, trees
from krm_windows.migrate.building import Build, Builder
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.repository import RESOURCES, Repository, entries, parents, resolve
from krm_windows.migrate.trees import Document, Leaf, Map, Tree, leaf, text
from krm_windows.results import Result

# Directories whose subdirectories are clusters, by the habits of Flux repositories.
_HOLDERS = ("clusters", "cluster", "overlays", "environments", "envs", "sites")
_SHARED = frozenset({"base", "_base", "common", "default"})
_FOREIGN = re.compile(r"[^a-z0-9]+")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::=([^}$]*))?\}")


@dataclass(frozen=True, slots=True)
class Part:
    """A directory as it is applied to one cluster, and the Flux Kustomization that does it, None where Git has none."""

    path: str
    build: Build
    deliverer: Document | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster: its name, None where the repository is for one only, and all that is applied to it."""

    name: str | None
    parts: tuple[Part, ...]
    shared: tuple[Document, ...] = ()
    """What is applied from directories of no cluster, which may be for this one too."""

    @property
    def objects(self) -> Iterator[Document]:
        """Every object of the cluster."""
        return (found for part in self.parts for found in part.build.objects)

    @property
    def gated(self) -> dict[tuple[str, str, str], Document]:
        """What can be suspended, by kind, namespace and name."""
        deliverers = [part.deliverer for part in self.parts if part.deliverer]
        every = [*self.shared, *deliverers, *self.objects]
        known = (found for found in every if gateable.find(found.kind, found.api_version))
        return {(found.kind, found.namespace, found.name): found for found in known}


@dataclass
class _Finder:
    """Follows what is applied from the directories that nothing else includes."""

    repository: Repository
    builder: Builder
    parts: dict[str, list[Part]] = field(default_factory=dict)
    applied: set[tuple[str, str]] = field(default_factory=set)

    def follow(self, path: str, home: str, deliverer: Document | None = None) -> None:
        """Take a directory for the cluster `home`, and what Flux Kustomizations in it apply."""
        build = self.builder.build(path)
        if deliverer:
            build = self._delivered(build, deliverer, path)
        self.parts.setdefault(home, []).append(Part(path, build, deliverer))
        for flux in build.objects:
            if (flux.kind, flux.group) == ("Kustomization", gateable.KUSTOMIZE):
                self._flux(flux, home)

    def _flux(self, flux: Document, home: str) -> None:
        path = resolve("", text(flux.tree, "spec", "path") or ".")
        known = path in self.repository.directories
        home = holder(path) or holder(flux.place.file) or home
        key = (f"{flux.namespace}/{flux.name}", home)
        if known and key not in self.applied:
            self.applied.add(key)
            self.follow(path, home, flux)

    def _delivered(self, build: Build, flux: Document, path: str) -> Build:
        spec = flux.tree.get("spec")
        spec = spec if isinstance(spec, dict) else {}
        build = self.builder.transformed(build, spec, path)
        values = trees.at(spec, "postBuild", "substitute")
        known = (
            {key: found.text for key, found in values.items() if isinstance(found, Leaf)}
            if isinstance(values, dict)
            else {}
        )
        if not trees.at(spec, "postBuild"):
            return build
        return replace(
            build, objects=tuple(replace(found, tree=_substituted_map(found.tree, known)) for found in build.objects)
        )


def find(repository: Repository) -> list[Site]:
    """Return the clusters whose CronJobs open or close anything, by name."""
    finder = _Finder(repository, Builder(repository))
    for path in _tops(repository):
        if not any(part.path == path for parts in finder.parts.values() for part in parts):
            finder.follow(path, holder(path) or path)
    homes = {home: _kept(parts) for home, parts in finder.parts.items()}
    busy = {home: parts for home, parts in homes.items() if any(map(jobs.is_one, _objects(parts)))}
    names = _names(list(busy))
    shared = tuple(
        found for home, parts in homes.items() if home not in busy and not holder(home) for found in _objects(parts)
    )
    return sorted(
        (Site(names[home], tuple(parts), shared) for home, parts in busy.items()), key=lambda site: site.name or ""
    )


def _objects(parts: Iterable[Part]) -> Iterator[Document]:
    return (found for part in parts for found in part.build.objects)


def _kept(parts: list[Part]) -> list[Part]:
    """Drop a directory that was taken by itself where Flux Kustomizations apply all that is in it."""
    delivered = {found.place for part in parts if part.deliverer for found in part.build.objects}
    places = {part.path: {found.place for found in part.build.objects} for part in parts}
    return [part for part in parts if part.deliverer or not places[part.path] <= delivered]


def _tops(repository: Repository) -> list[str]:
    """Return the directories that no kustomization includes, outermost first."""
    held = repository.kustomizations
    included = {resolve(path, entry.text) for path, found in held.items() for entry in entries(found.tree, *RESOURCES)}
    components = {path for path, found in held.items() if found.kind == "Component"}
    tops = {path for path in held if path not in included and path not in components}
    loose = {
        path
        for path in repository.directories
        if path not in held
        and not _below(path, held)
        and any(repository.manifests(path))
        and not _listed(repository, path, included)
    }
    return sorted(tops | loose, key=lambda path: (path.count("/"), path))


def _below(path: str, held: Collection[str]) -> bool:
    return any(other in held for other in parents(path) if other)


def _listed(repository: Repository, path: str, included: set[str]) -> bool:
    """Whether kustomizations include every file of a directory."""
    return all(found.place.file in included for found in repository.manifests(path))


def holder(path: str) -> str | None:
    """Return the part of a path that names a cluster: `fleet/clusters/berlin` of `fleet/clusters/berlin/infra`."""
    parts = path.split("/")
    for index, part in enumerate(parts[:-1]):
        last = parts[index + 1]
        if part in _HOLDERS and last not in _SHARED and not last.endswith((".yaml", ".yml")):
            return "/".join(parts[: index + 2])
    return None


def _names(homes: list[str]) -> dict[str, str | None]:
    """Name clusters by the last part of their path, or by as many parts as it takes to tell them apart."""
    if len(homes) == 1 and holder(homes[0]) != homes[0]:
        return {homes[0]: None}
    split = {home: [slug(part) for part in home.split("/") if part not in _HOLDERS] for home in homes}
    for count in range(1, max(map(len, split.values()), default=1) + 1):
        names = {home: "-".join(parts[-count:]) for home, parts in split.items()}
        if len(set(names.values())) == len(names):
            return dict(names)
    return {home: slug(home) for home in homes}  # paths that differ in what Kubernetes does not tell apart


def slug(part: str) -> str:
    """Spell a name as Kubernetes does: lower case, everything that is no letter or digit a hyphen."""
    return _FOREIGN.sub("-", part.lower()).strip("-")


def _substituted_map(tree: Map, known: dict[str, str]) -> Map:
    done = _substituted(tree, known)
    return done if isinstance(done, dict) else tree


def _substituted(tree: Tree, known: dict[str, str]) -> Tree:
    """Put Flux's variables in, those that are known; one with a default has it."""
    if isinstance(tree, dict):
        return {key: _substituted(entry, known) for key, entry in tree.items()}
    if isinstance(tree, list):
        return [_substituted(entry, known) for entry in tree]
    if "${" not in tree.text:
        return tree
    written = _VARIABLE.sub(
        lambda found: known.get(found[1], found[2] if found[2] is not None else found[0]), tree.text
    )
    meaning = {"true": True, "false": False}.get(written, written)
    return replace(tree, value=meaning, text=written)


def idle(site: Site) -> Iterator[Result]:
    """Say of a cluster whose CronJobs are all suspended that it has no window."""
    found = [job for job in site.objects if jobs.is_one(job)]
    suspended = [leaf(job.tree, "spec", "suspend") for job in found]
    if all(each is not None and each.value is True for each in suspended):
        names = ", ".join(sorted(job.name for job in found))
        where = f"on {site.name}" if site.name else "here"
        place = next(each.place for each in suspended if each)
        yield found_at(
            rules.MIGRATE_SUSPENDED,
            place,
            f"{names} stay suspended {where}: no window, and the policy gates nothing there",
        )
