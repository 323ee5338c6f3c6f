"""What was built, as documents whose leaves know the file and the line that they come from.

kustomize notes the file of each object. Where one of its values is written, the base or a patch, is found by looking:
the first of them that says the same at the same path.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from krm_windows.flux.closure import close
from krm_windows.flux.model import Object
from krm_windows.flux.places import place
from krm_windows.krm import InputError
from krm_windows.krm.nodes import Mapping
from krm_windows.migrate import trees
from krm_windows.migrate.repository import Repository
from krm_windows.migrate.trees import Document, Leaf, Place, Tree, at
from krm_windows.system.checkout import Checkout


@dataclass(frozen=True)
class Placing:
    """Finds where objects come from; what several clusters share is looked up once."""

    tree: Checkout
    repository: Repository
    _known: dict[int, tuple[Object, Document]] = field(default_factory=dict)
    _patches: dict[str, tuple[Document, ...]] = field(default_factory=dict)

    def document(self, item: Object) -> Document:
        """Return an object as a document; raises InputError where it cannot be read."""
        # An object is kept beside what was made of it, so that no other can have its number.
        known = self._known.get(id(item))
        if known is None:
            known = self._known[id(item)] = item, self._document(item)
        return known[1]

    def _document(self, item: Object) -> Document:
        file, origin = self._origin(item)
        node = item.item.node
        if not isinstance(node, Mapping):
            raise InputError(f"{file}: an object is no mapping")
        above = origin.place if origin else Place(file, max(item.first + 1, 1))
        built = Document(trees.of_mapping(node, file), above, origin.index if origin else 0)
        names = {built.name} | ({origin.name} if origin else set())
        patches = [
            each
            for each in self._patching(item.directory)
            if each.kind == built.kind and each.name in names
        ]
        written = [each.tree for each in (*patches, *([origin] if origin else []))]
        tree = _placed(built.tree, written, above)
        former = {(origin.namespace, origin.name)} if origin else set()
        return replace(
            built,
            tree=tree if isinstance(tree, dict) else built.tree,
            former=frozenset(former - {(built.namespace, built.name)}),
        )

    def _origin(self, item: Object) -> tuple[str, Document | None]:
        """Return the file of an object, and the document there that it was made of."""
        file, found = place(self.tree, item)
        if found is None:
            return file, None
        first = found.source.count(b"\n", 0, found.start)
        last = found.source.count(b"\n", 0, found.end)
        inside = (
            each for each in self.repository.documents(file) if first < each.place.line <= last + 1
        )
        return file, next((each for each in inside if each.kind == item.kind), None)

    def _patching(self, directory: str) -> tuple[Document, ...]:
        """Return the documents of the files that a build of a directory reads, but for its kustomizations."""
        if not directory:
            return ()
        if directory not in self._patches:
            closure = close(self.tree, directory, {})
            files = [path for path in closure.files if path not in closure.kustomizations]
            self._patches[directory] = tuple(
                each for path in files for each in self.repository.documents(path)
            )
        return self._patches[directory]


def _placed(built: Tree, written: Sequence[Tree], place: Place) -> Tree:
    """Give each leaf the place of the first that says the same at its path, or else of what it stands in."""
    if isinstance(built, dict):
        place = _head(written, place)
        return {key: _placed(entry, _below(written, key), place) for key, entry in built.items()}
    if isinstance(built, list):
        place = _head(written, place)
        return [_placed(entry, _below(written, index), place) for index, entry in enumerate(built)]
    same = (each for each in written if isinstance(each, Leaf) and each.text == built.text)
    return replace(built, place=next((each.place for each in same), place))


def _below(written: Iterable[Tree], step: str | int) -> list[Tree]:
    found = (at(each, step) for each in written)
    return [each for each in found if each is not None]


def _head(written: Sequence[Tree], place: Place) -> Place:
    """Return where the last of what is written begins: the base, as patches come first."""
    found = next(trees.leaves(written[-1]), None) if written else None
    return found.place if found else place
