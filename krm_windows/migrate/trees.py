"""Trees: documents of a repository as maps, lists and leaves.

Each leaf knows where it was written. A patched object has leaves from several files. Trees are
never changed: what edits one returns another.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from krm_windows.flux.model import ObjectIdentity
from krm_windows.gateable import group_of
from krm_windows.krm import InputError, Mapping, Node, Scalar, documents, parse, value


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A line of a file, counted from 1; the path is relative to the repository."""

    file: str
    line: int

    def __str__(self) -> str:
        """Write it as compilers do."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar: what it means (core schema of YAML 1.2), and the text that is written there."""

    value: str | int | float | bool | None
    text: str
    location: Location


Tree: TypeAlias = dict[str, "Tree"] | list["Tree"] | Leaf
Map: TypeAlias = dict[str, Tree]


@dataclass(frozen=True, slots=True)
class Document:
    """An object of the repository, and where it begins."""

    tree: Map
    location: Location

    index: int = 0
    """Its number in its file, from 0."""

    former: frozenset[tuple[str, str]] = frozenset()
    """The namespaces and names that it had before kustomize changed them."""

    @property
    def api_version(self) -> str:
        """`apiVersion`, or empty."""
        return text(self.tree, "apiVersion")

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return group_of(self.api_version)

    @property
    def kind(self) -> str:
        """`kind`, or empty."""
        return text(self.tree, "kind")

    @property
    def name(self) -> str:
        """`metadata.name`, or empty."""
        return text(self.tree, "metadata", "name")

    @property
    def namespace(self) -> str:
        """`metadata.namespace`, or empty."""
        return text(self.tree, "metadata", "namespace")

    @property
    def identity(self) -> ObjectIdentity:
        """Which object it is in a cluster."""
        return ObjectIdentity(self.group, self.kind, self.namespace, self.name)

    def __str__(self) -> str:
        """Name the object."""
        return str(self.identity)


def read(path: str, content: bytes) -> tuple[Document, ...]:
    """Read the documents of a file that are maps; raises InputError for what is no YAML."""
    found = []
    for index, item in enumerate(documents(content)):
        # Lines are counted within a document, so those of the documents before it are added.
        above = item.lines_above
        # Only the first document of a file may have a byte order mark.
        source = item.source[item.start : item.end]
        root = parse(source.decode("utf-8-sig"))
        if isinstance(root, Mapping):
            tree = of_mapping(root, path, above)
            location = Location(path, above + root.line)
            found.append(Document(tree, location, index))
    return tuple(found)


def of(node: Node, path: str, above: int = 0) -> Tree:
    """Return the tree of a node; `above` are the lines of the file before its document."""
    if isinstance(node, Scalar):
        location = Location(path, above + node.line)
        meaning = value(node)
        # No scalar means one; this is for the type checker.
        if isinstance(meaning, list | dict):
            return Leaf(None, node.text, location)
        return Leaf(meaning, node.text, location)
    if isinstance(node, Mapping):
        return of_mapping(node, path, above)
    return [of(item, path, above) for item in node.items]


def of_mapping(node: Mapping, path: str, above: int = 0) -> Map:
    """Return the tree of a mapping; raises InputError where it has one key twice."""
    found: Map = {}
    for key, entry in node.entries:
        # YAML forbids it (1.2.2, 3.2.1.1), and readers differ in which one they take.
        if key.text in found:
            raise InputError("a mapping has a duplicate key", node.line)
        found[key.text] = of(entry, path, above)
    return found


def at(tree: Tree | None, *path: str | int) -> Tree | None:
    """Return the tree at a path, None where there is nothing."""
    for step in path:
        if isinstance(tree, dict):
            tree = tree.get(str(step))
        elif isinstance(tree, list) and isinstance(step, int) and step < len(tree):
            tree = tree[step]
        else:
            return None
    return tree


def leaf(tree: Tree | None, *path: str | int) -> Leaf | None:
    """Return the leaf at a path, None where there is none or it is null."""
    found = at(tree, *path)
    if isinstance(found, Leaf) and found.value is not None:
        return found
    return None


def text(tree: Tree | None, *path: str | int) -> str:
    """Return the text at a path, empty where there is none."""
    found = leaf(tree, *path)
    if found is None:
        return ""
    return found.text


def items(tree: Tree | None, *path: str | int) -> list[Tree]:
    """Return the list at a path, empty where there is none."""
    found = at(tree, *path)
    if isinstance(found, list):
        return found
    return []


def plain(tree: Tree) -> object:
    """Return what a tree says, without the locations where it is written."""
    if isinstance(tree, Leaf):
        return tree.text
    if isinstance(tree, list):
        return [plain(entry) for entry in tree]
    return {key: plain(entry) for key, entry in tree.items()}


def leaves(tree: Tree | None) -> Iterator[Leaf]:
    """Yield every leaf, in order; none where there is no tree."""
    if isinstance(tree, Leaf):
        yield tree
    elif isinstance(tree, dict):
        for entry in tree.values():
            yield from leaves(entry)
    elif tree is not None:
        for entry in tree:
            yield from leaves(entry)
