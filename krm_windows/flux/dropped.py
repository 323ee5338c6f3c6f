"""What patches of policies remove by null below a cluster: a merge drops it, and nothing in the result says so.

A null in the policy's own file is kept, whatever else kustomize does with the policy: there it is a value.
"""

from collections.abc import Iterator
from posixpath import dirname, join, normpath

from krm_windows import rules
from krm_windows.flux.model import Notice
from krm_windows.flux.objects import parsed
from krm_windows.krm import InputError, KubeObject
from krm_windows.krm.nodes import Mapping, Node, Scalar, Sequence
from krm_windows.policy import clusters
from krm_windows.system.checkout import Checkout

_KIND = "WindowPolicy"
_FIELDS = ("patches", "patchesStrategicMerge")


def check(tree: Checkout, file: str, content: bytes) -> Iterator[Notice]:
    """Yield what the patches that a kustomization's file names, or holds, would remove and do not."""
    if not any(name.encode() in content for name in _FIELDS):
        return
    fields = _documents(content)[0].node
    lines = content.decode(errors="replace").splitlines()
    for text, of_policies in _patches(fields):
        if "\n" in text.text:
            place, patch, above = file, text.text.encode(), _above(text, lines)
        else:
            place, above = normpath(join(dirname(file), text.text)), 0
            patch = tree.read(place) or b""
        for item in _documents(patch):
            if item.kind == _KIND or (of_policies and not item.kind):
                yield from _told(item, place, above)


def _told(item: KubeObject, place: str, above: int) -> Iterator[Notice]:
    first = above + item.source.count(b"\n", 0, item.start)
    for path, line in clusters.dropped(item.node):
        yield Notice(
            rules.CLUSTER_NULL_DROPPED, f"{path} {clusters.why_dropped(path)}", place, first + line
        )


def _patches(fields: Node) -> Iterator[tuple[Scalar, bool]]:
    """Yield the text of each patch, or its path, and whether its target says that it is one of policies."""
    for name in _FIELDS:
        entries = fields.find(name) if isinstance(fields, Mapping) else None
        for entry in entries.items if isinstance(entries, Sequence) else ():
            if isinstance(entry, Scalar):
                yield entry, False
            elif isinstance(entry, Mapping):
                target = entry.find("target")
                kind = target.find("kind") if isinstance(target, Mapping) else None
                texts = (entry.find("patch"), entry.find("path"))
                yield from ((text, _is_policy(kind)) for text in texts if isinstance(text, Scalar))


def _is_policy(kind: Node | None) -> bool:
    return isinstance(kind, Scalar) and kind.text == _KIND


def _above(text: Scalar, lines: list[str]) -> int:
    """Return how many lines of the file stand above the first of a text: one in a block begins a line later."""
    head = lines[text.line - 1][text.column - 1 :] if text.line <= len(lines) else ""
    return text.line if head.startswith(("|", ">")) else text.line - 1


def _documents(content: bytes) -> tuple[KubeObject, ...]:
    """Return the documents of a file; none of one that is no patch of this form, such as a list of operations."""
    try:
        return parsed(content)
    except InputError:
        return ()
