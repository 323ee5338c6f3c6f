"""What was built, as documents whose leaves know the file and the line that they come from.

kustomize notes the file of each object (`config.kubernetes.io/origin`). Whether one of its values
is from the base or from a patch is found by looking: it is the first of them that says the same at
the same path.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from krm_windows.flux.closure import close
from krm_windows.flux.locations import Locator
from krm_windows.flux.model import Object
from krm_windows.krm import InputError
from krm_windows.krm.nodes import Mapping
from krm_windows.migrate import trees
from krm_windows.migrate.repository import Repository
from krm_windows.migrate.trees import Document, Leaf, Location, Tree, at
from krm_windows.system.checkout import Checkout


@dataclass(frozen=True)
class Origins:
    """Finds where objects come from; what several clusters share is looked up once."""

    tree: Checkout
    repository: Repository
    _known: dict[int, tuple[Object, Document]] = field(default_factory=dict)
    _patches: dict[str, tuple[Document, ...]] = field(default_factory=dict)

    @cached_property
    def _locator(self) -> Locator:
        return Locator(self.tree)

    def document(self, item: Object) -> Document:
        """Return an object as a document; raises InputError where it cannot be read."""
        known = self._known.get(id(item))
        if known is None:
            # An object is kept beside what was made of it, so that no other can have its number.
            known = item, self._document(item)
            self._known[id(item)] = known
        _, document = known
        return document

    def _document(self, item: Object) -> Document:
        file, origin = self._origin(item)
        node = item.item.node
        if not isinstance(node, Mapping):
            raise InputError(f"{file}: an object is not a mapping")
        tree = trees.of_mapping(node, file)
        # Made by a generator, so no file has it as it is.
        if origin is None:
            made = Document(tree, Location(file, max(item.lines_above + 1, 1)))
            return self._placed(made, made.name, [], item.directory)
        made = Document(tree, origin.location, origin.index)
        before = (origin.namespace, origin.name)
        # `namePrefix`, `nameSuffix` and `namespace` of a kustomization change these.
        if before != (made.namespace, made.name):
            made = replace(made, former=frozenset({before}))
        return self._placed(made, origin.name, [origin.tree], item.directory)

    def _placed(
        self,
        made: Document,
        former: str,
        written: list[Tree],
        directory: str,
    ) -> Document:
        """Return a document with the location of each leaf.

        A patch names its object as it was called before, or after, kustomize changed its name.
        """
        names = (made.name, former)
        patches: list[Tree] = [
            each.tree
            for each in self._patching(directory)
            if each.kind == made.kind and each.name in names
        ]
        # Patches come first: what they say is what the object has.
        sources = patches + written
        location = _head(sources, made.location)
        tree = {}
        for key, entry in made.tree.items():
            tree[key] = _with_locations(entry, _below(sources, key), location)
        return replace(made, tree=tree)

    def _origin(self, item: Object) -> tuple[str, Document | None]:
        """Return the file of an object, and the document there that it was made of."""
        file, found, _ = self._locator.locate(item)
        if found is None:
            return file, None
        first = found.lines_above
        last = first + found.source.count(b"\n", found.start, found.end)
        for each in self.repository.documents(file):
            # Lines of a location are counted from 1, those before the document's bytes from 0.
            if each.kind == item.kind and first < each.location.line <= last + 1:
                return file, each
        return file, None

    def _patching(self, directory: str) -> tuple[Document, ...]:
        """Return the documents of the files that a build reads, but for its kustomizations."""
        if not directory:
            return ()
        if directory not in self._patches:
            self._patches[directory] = tuple(self._read(directory))
        return self._patches[directory]

    # Which of these files are patches is not asked: one with the object's kind and name is.
    def _read(self, directory: str) -> Iterator[Document]:
        closure = close(self.tree, directory, {})
        for path in closure.files:
            if path not in closure.kustomizations:
                yield from self.repository.documents(path)


def _with_locations(
    built: Tree,
    sources: Sequence[Tree],
    location: Location,
) -> Tree:
    """Give each leaf the location of the source that says the same at its path.

    Where none does, it has the location of the mapping or list that it is in.
    """
    if isinstance(built, Leaf):
        # The same text at the same path: of two that say it, the first is as good as the other.
        for each in sources:
            if isinstance(each, Leaf) and each.text == built.text:
                return replace(built, location=each.location)
        return replace(built, location=location)
    location = _head(sources, location)
    if isinstance(built, dict):
        mapping: Tree = {
            key: _with_locations(entry, _below(sources, key), location)
            for key, entry in built.items()
        }
        return mapping
    # Entries by their number: a patch that adds to a list has others, and then says nothing.
    return [
        _with_locations(entry, _below(sources, index), location)
        for index, entry in enumerate(built)
    ]


def _below(sources: Iterable[Tree], step: str | int) -> list[Tree]:
    found = (at(each, step) for each in sources)
    return [each for each in found if each is not None]


def _head(sources: Sequence[Tree], location: Location) -> Location:
    """Return where the last of some sources begins: the base, as patches come first."""
    if not sources:
        return location
    first = next(trees.leaves(sources[-1]), None)
    if first is None:
        return location
    return first.location
