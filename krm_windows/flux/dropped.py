"""What patches of policies remove by null below a cluster.

A merge drops it, and nothing in the result says so. A null in the policy's own file is kept,
whatever else kustomize does with the policy: there it is a value.
"""

from collections.abc import Iterator
from posixpath import dirname, join, normpath

from krm_windows import rules
from krm_windows.flux.model import Finding
from krm_windows.flux.objects import readable
from krm_windows.krm import KubeObject
from krm_windows.krm.nodes import Mapping, Node, Scalar, Sequence
from krm_windows.policy import clusters
from krm_windows.system.checkout import Checkout

_KIND = "WindowPolicy"
# In both a patch may be written down, or named by its path.
_FIELDS = ("patches", "patchesStrategicMerge")


def nulls(
    tree: Checkout,
    file: str,
    content: bytes,
) -> Iterator[Finding]:
    """Yield what the patches of a kustomization would remove and do not.

    They are in its own file, or in one that it names.
    """
    if not any(name.encode() in content for name in _FIELDS):
        return
    fields = readable(content)[0].node
    lines = content.decode(errors="replace").splitlines()
    for text, of_policies in _patches(fields):
        place = file
        patch = text.text.encode()
        above = _above(text, lines)
        # One line is a path, and no patch.
        if "\n" not in text.text:
            place = normpath(join(dirname(file), text.text))
            patch = tree.read(place) or b""
            above = 0
        # A list of operations (RFC 6902) is no object, and has no documents.
        for item in readable(patch):
            # A patch with a target needs no kind of its own.
            if item.kind == _KIND or (of_policies and not item.kind):
                yield from _notices(item, place, above)


def _notices(item: KubeObject, place: str, above: int) -> Iterator[Finding]:
    """Yield what one patch would remove and does not; `above` are the lines of the file before."""
    first = above + item.lines_above
    for path, line in clusters.dropped(item.node):
        message = f"{path} {clusters.why_dropped(path)}"
        yield Finding(rules.CLUSTER_NULL_DROPPED, message, file=place, line=first + line)


def _patches(fields: Node) -> Iterator[tuple[Scalar, bool]]:
    """Yield the text of each patch, or its path.

    Each comes with whether its target says that it is one of policies.
    """
    for name in _FIELDS:
        entries = _field(fields, name)
        if not isinstance(entries, Sequence):
            continue
        for entry in entries.items:
            # `patchesStrategicMerge` has no targets.
            if isinstance(entry, Scalar):
                yield entry, False
                continue
            kind = _field(_field(entry, "target"), "kind")
            of_policies = isinstance(kind, Scalar) and kind.text == _KIND
            for text in (_field(entry, "patch"), _field(entry, "path")):
                if isinstance(text, Scalar):
                    yield text, of_policies


def _field(node: Node | None, name: str) -> Node | None:
    """Return a field of what may be a mapping."""
    if not isinstance(node, Mapping):
        return None
    return node.find(name)


def _above(text: Scalar, lines: list[str]) -> int:
    """Return how many lines of the file are above the first of a text.

    A text in a block begins a line later.
    """
    # A text that was folded may be on fewer lines than its own.
    if text.line > len(lines):
        return text.line - 1
    head = lines[text.line - 1][text.column - 1 :]
    if head.startswith(("|", ">")):
        return text.line
    return text.line - 1
