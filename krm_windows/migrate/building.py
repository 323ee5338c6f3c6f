"""Building a kustomization, as far as windows are concerned: bases, components, patches old and new, names.

What it does not follow (remote bases, plugins, replacements) is reported, never guessed. It builds what kustomize would
refuse too, for a repository has to be read as it is.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from krm_windows import rules
from krm_windows.krm import InputError
from krm_windows.migrate import trees
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.patches import Patch, PatchError
from krm_windows.migrate.repository import RESOURCES, Repository, entries, is_remote, resolve
from krm_windows.migrate.selectors import Selectors
from krm_windows.migrate.trees import Document, Leaf, Map, Place, Tree, items, leaf, put, text
from krm_windows.results import Result

_PLUGINS = (
    "generators",
    "transformers",
    "validators",
    "replacements",
    "vars",
    "helmCharts",
    "helmChartInflationGenerator",
)
_SEPARATOR = re.compile(r"^---.*\n?", re.MULTILINE)
# Kustomizations that each include another one twice double the objects every time.
MOST_OBJECTS = 50_000
MOST_DEEP = 64
_WITHOUT_NAMESPACE = frozenset({"Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"})
_KEEP_NAMES = frozenset({"Namespace", "CustomResourceDefinition"})
_ACCOUNTS = frozenset({"ServiceAccount", "Role", "ClusterRole"})


@dataclass(frozen=True, slots=True)
class Build:
    """What a directory builds to, the files that were read for it, and what was found on the way."""

    objects: tuple[Document, ...] = ()
    files: frozenset[str] = frozenset()
    results: tuple[Result, ...] = ()

    def with_(self, other: "Build") -> "Build":
        """Return both; raises InputError where they are more than a repository can hold."""
        if len(self.objects) + len(other.objects) > MOST_OBJECTS:
            raise InputError(f"kustomizations that include each other come to more than {MOST_OBJECTS} objects")
        return Build((*self.objects, *other.objects), self.files | other.files, (*self.results, *other.results))


@dataclass(frozen=True)
class Builder:
    """Builds directories of a repository, each once."""

    repository: Repository
    _built: dict[str, Build] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)

    def build(self, directory: str) -> Build:
        """Build a directory: its kustomization, or as Flux does where there is none."""
        if directory not in self._built:
            self._built[directory] = Build()  # whoever includes itself finds nothing
            found = self.repository.kustomizations.get(directory)
            self._open.append(directory)
            if len(self._open) > MOST_DEEP:
                raise InputError(f"{directory}: is included by more than {MOST_DEEP} kustomizations, one in the other")
            self._built[directory] = self._layer(directory, found) if found else self._plain(directory)
            self._open.pop()
        return self._built[directory]

    def _plain(self, directory: str) -> Build:
        """Take every manifest below a directory; one with a kustomization of its own counts as a whole (Flux)."""
        objects = tuple(self.repository.manifests(directory))
        built = Build(objects, frozenset(found.place.file for found in objects))
        for below in sorted(self.repository.directories):
            inside = below.startswith(f"{directory}/") if directory else bool(below)
            if inside and not self._is_covered(directory, below):
                part = self.build(below) if below in self.repository.kustomizations else self._own(below)
                built = built.with_(part)
        return built

    def _own(self, directory: str) -> Build:
        objects = tuple(self.repository.manifests(directory))
        return Build(objects, frozenset(found.place.file for found in objects))

    def _is_covered(self, top: str, directory: str) -> bool:
        """Whether a directory between the two has a kustomization, which decides what is in it."""
        between = directory.rpartition("/")[0]
        while len(between) > len(top):
            if between in self.repository.kustomizations:
                return True
            between = between.rpartition("/")[0]
        return False

    def _layer(self, directory: str, kustomization: Document) -> Build:
        tree = kustomization.tree
        built = Build(files=frozenset({kustomization.place.file}), results=tuple(_plugins(tree)))
        for entry in entries(tree, "resources", "bases"):
            built = built.with_(self._entry(directory, entry))
        for entry in entries(tree, "components"):
            component = self.repository.kustomizations.get(resolve(directory, entry.text))
            inside = self._component(resolve(directory, entry.text), component) if component else None
            built = inside(built) if inside else built.with_(Build(results=(_missing(entry),)))
        return self.transformed(built, tree, directory)

    def _component(self, directory: str, component: Document) -> "_Component":
        return _Component(self, directory, component)

    def _entry(self, directory: str, entry: Leaf) -> Build:
        path = resolve(directory, entry.text)
        if path in self.repository.contents:
            return Build(self.repository.documents(path), frozenset({path}))
        if path in self.repository.kustomizations:
            return self.build(path)
        return Build(results=(_missing(entry),))

    def transformed(self, built: Build, tree: Map, directory: str) -> Build:
        """Apply patches, names, namespace and images of a kustomization, or of a Flux Kustomization's spec."""
        patches, files, results = self._patches(tree, directory)
        objects, more = _patched(built.objects, patches, self.repository.selectors)
        objects = tuple(_named(objects, text(tree, "namePrefix"), text(tree, "nameSuffix")))
        namespace = leaf(tree, "namespace") or leaf(tree, "targetNamespace")
        objects = tuple(_moved(found, namespace) for found in objects)
        images = [image for image in items(tree, "images") if isinstance(image, dict)]
        objects = tuple(replace(found, tree=_imaged(found.tree, images)) for found in objects)
        return Build(objects, built.files | files, (*built.results, *results, *more))

    def _patches(self, tree: Map, directory: str) -> tuple[list[Patch], frozenset[str], list[Result]]:
        patches: list[Patch] = []
        files: set[str] = set()
        results: list[Result] = []
        for name in ("patchesStrategicMerge", "patches", "patchesJson6902"):
            for entry in items(tree, name):
                try:
                    path, contents = self._content(entry, directory)
                except (InputError, PatchError) as error:
                    place = error.place if isinstance(error, PatchError) else next(trees.leaves(entry)).place
                    results.append(found_at(rules.MIGRATE_UNTRANSLATED, place, f"a patch that cannot be read: {error}"))
                    continue
                files.update({path} if path else ())
                target = trees.at(entry, "target")
                named = target if isinstance(target, dict) else None
                patches += [Patch(content, place, named) for content, place in contents]
        return patches, frozenset(files), results

    def _content(self, entry: Tree, directory: str) -> tuple[str, list[tuple[Tree, Place]]]:
        """Return the file of a patch, empty for an inline one, and the patches in it."""
        written = entry if isinstance(entry, Leaf) else leaf(entry, "path") or leaf(entry, "patch")
        if written is None:
            raise PatchError("it has neither a path nor a text", next(trees.leaves(entry)).place)
        path = resolve(directory, written.text)
        inline = written is leaf(entry, "patch") or (isinstance(entry, Leaf) and "\n" in written.text)
        content = written.text if inline else self.repository.text(path)
        if content is None:
            raise PatchError(f"there is no file {path}", written.place)
        file, above = (written.place.file, written.place.line) if inline else (path, 0)
        found = [
            (trees.inline(document, file, above + line), Place(file, above + line + 1))
            for document, line in _documents(content)
        ]
        return "" if inline else path, found


@dataclass(frozen=True, slots=True)
class _Component:
    """A Component: what it lists is added to what it is included in, and its patches see both."""

    builder: Builder
    directory: str
    kustomization: Document

    def __call__(self, built: Build) -> Build:
        tree = self.kustomization.tree
        listed = self.builder._layer(self.directory, replace(self.kustomization, tree=_listing(tree)))  # noqa: SLF001 - its other half
        return self.builder.transformed(built.with_(listed), tree, self.directory)


def _documents(content: str) -> Iterator[tuple[str, int]]:
    """Yield the documents of a file that hold anything, each with the number of lines above it."""
    start = line = 0
    for end, following in chain(((each.start(), each.end()) for each in _SEPARATOR.finditer(content)), [(None, 0)]):
        if content[start:end].strip():
            yield content[start:end], line
        line += content.count("\n", start, following)
        start = following


def _listing(tree: Map) -> Map:
    return {key: entry for key, entry in tree.items() if key in RESOURCES or key in _PLUGINS}


def _missing(entry: Leaf) -> Result:
    what = (
        "lies outside of the repository" if is_remote(entry.text) else "is no file or kustomization of the repository"
    )
    return found_at(rules.MIGRATE_NOT_FOLLOWED, entry.place, f"{entry.text} {what}, so windows in it are not seen")


def _plugins(tree: Map) -> Iterator[Result]:
    for name in _PLUGINS:
        for entry in [next(trees.leaves(tree[name]), None)] if name in tree else ():
            if entry:
                yield found_at(
                    rules.MIGRATE_NOT_FOLLOWED, entry.place, f"`{name}` is not followed; what it changes is not seen"
                )


def _patched(
    objects: Iterable[Document], patches: list[Patch], selectors: Selectors
) -> tuple[tuple[Document, ...], list[Result]]:
    held, results = list(objects), []
    for patch in patches:
        try:
            chosen = [found for found in held if patch.selects(found, selectors)]
            if not chosen:
                message = "patches nothing that is there; kustomize refuses to build that"
                results += [found_at(rules.MIGRATE_UNTRANSLATED, patch.place, message)] if patch.target is None else []
            trees_of = {id(found): patch.apply(found) for found in chosen}
        except PatchError as error:
            results.append(found_at(rules.MIGRATE_UNTRANSLATED, error.place, error.message))
            continue
        done = [(found, trees_of.get(id(found), found.tree)) for found in held]
        held = [replace(found, tree=tree) for found, tree in done if tree is not None]
    return tuple(held), results


def _named(objects: Iterable[Document], prefix: str, suffix: str) -> Iterator[Document]:
    """Give objects a prefix and a suffix, and follow them in what refers to an account or a role."""
    held = list(objects)
    if not prefix and not suffix:
        yield from held
        return
    renamed = {found.name for found in held if found.kind in _ACCOUNTS}
    for found in held:
        tree = _referring(found.tree, renamed, prefix, suffix)
        if found.kind in _KEEP_NAMES or not isinstance(tree, dict):
            yield replace(found, tree=tree if isinstance(tree, dict) else found.tree)
            continue
        name = leaf(tree, "metadata", "name")
        if name:
            tree = put(
                tree,
                replace(name, value=f"{prefix}{name.text}{suffix}", text=f"{prefix}{name.text}{suffix}"),
                "metadata",
                "name",
            )
        yield replace(found, tree=tree, former=found.former | {(found.namespace, found.name)})


def _referring(tree: Tree, renamed: set[str], prefix: str, suffix: str) -> Tree:
    if isinstance(tree, list):
        return [_referring(entry, renamed, prefix, suffix) for entry in tree]
    if isinstance(tree, Leaf):
        return tree
    done = {key: _referring(entry, renamed, prefix, suffix) for key, entry in tree.items()}
    refers = text(tree, "kind") in _ACCOUNTS and "metadata" not in tree
    for key in ("serviceAccountName", *(["name"] if refers else [])):
        held = leaf(tree, key)
        if held and held.text in renamed:
            done[key] = replace(held, value=f"{prefix}{held.text}{suffix}", text=f"{prefix}{held.text}{suffix}")
    return done


def _moved(found: Document, namespace: Leaf | None) -> Document:
    if namespace is None or found.kind in _WITHOUT_NAMESPACE:
        return found
    former = found.former | {(found.namespace, found.name)}
    return replace(found, tree=put(found.tree, namespace, "metadata", "namespace"), former=former)


def _imaged(tree: Map, images: list[Map]) -> Map:
    """Change the images of containers as a kustomization's `images` says."""
    done: Tree = tree
    for held in _images(tree) if images else ():
        name = _image_name(held.text)
        for image in images:
            if text(image, "name") == name:
                done = trees.replaced(done, held, _image(held, name, image))
    return done if isinstance(done, dict) else tree


def _image_name(written: str) -> str:
    """Return an image without tag and digest; a colon before the last slash is the port of a registry."""
    ends = (written.find("@"), written.find(":", written.rfind("/") + 1))
    return written[: min((end for end in ends if end >= 0), default=len(written))]


def _image(held: Leaf, name: str, image: Map) -> Leaf:
    rest = held.text[len(name) :]
    tag, digest = text(image, "newTag"), text(image, "digest")
    written = (text(image, "newName") or name) + (f"@{digest}" if digest else f":{tag}" if tag else rest)
    return replace(held, value=written, text=written)


def _images(tree: Tree) -> Iterator[Leaf]:
    if isinstance(tree, dict):
        if (found := leaf(tree, "image")) and "name" in tree:
            yield found
        for entry in tree.values():
            yield from _images(entry)
    elif isinstance(tree, list):
        for entry in tree:
            yield from _images(entry)
