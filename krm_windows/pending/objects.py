"""How the objects that are applied differ between two revisions, and which images they run."""

import re
from collections.abc import Iterable, Iterator, Mapping

from krm_windows.flux import Object
from krm_windows.flux.model import Identity
from krm_windows.gateable import HELM
from krm_windows.inventory import ORIGIN
from krm_windows.krm import InputError, Value, value
from krm_windows.pending.between import Kind, ObjectChange

Objects = Mapping[Identity, Object]
Pairs = list[tuple[str, Value, Value]]
"""Paths, each with what is there before and after."""
# The lists of a Pod's containers (core/v1, PodSpec), wherever a Pod template may be.
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
# A host, a path, a tag and a digest (OCI distribution specification, and what containerd takes).
# What is printed for `crictl pull` is one word, and no option.
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}")
# So much of a change is enough to recognise it by.
_DEEPEST = 100


def compare(before: Objects, after: Objects) -> tuple[ObjectChange, ...]:
    """Return what changes, in the order of kinds and names."""
    every = before.keys() | after.keys()
    found = []
    # By kind first, as a reader looks for the Deployments, and not for what is in a namespace.
    for identity in sorted(every, key=_order):
        change = _change(before.get(identity), after.get(identity))
        if change is not None:
            found.append(change)
    return tuple(found)


def _change(old: Object | None, new: Object | None) -> ObjectChange | None:
    """Return how an object changes, None where both are alike."""
    if new is None:
        return ObjectChange(Kind.REMOVED, str(old))
    if old is None:
        return ObjectChange(Kind.ADDED, str(new))
    fields = tuple(_fields(old, new))
    if not fields:
        return None
    return ObjectChange(Kind.CHANGED, str(new), fields)


def images(objects: Iterable[Object]) -> set[str]:
    """Return the images that Pods of some objects run on, or mount."""
    found: set[str] = set()
    for each in objects:
        # The schema of a CRD may have a property of any name.
        # Anything else may have the template of a Pod in it, whatever its kind is called.
        if each.kind != "CustomResourceDefinition":
            found.update(_images(content(each)))
    return found


def is_image(text: str) -> bool:
    """Whether a text can be the name of an image, and no variable that nobody has put in."""
    return _IMAGE.fullmatch(text) is not None


def charts(before: Objects, after: Objects) -> Iterator[str]:
    """Yield the HelmReleases that are new or change: what their charts run on is not known here."""
    releases = compare(_releases(before), _releases(after))
    for change in releases:
        # One that goes runs nothing any more.
        if change.kind is not Kind.REMOVED:
            yield change.object


def _releases(objects: Objects) -> Objects:
    found: dict[Identity, Object] = {}
    for identity, each in objects.items():
        group, kind, _, _ = identity
        if (group, kind) == (HELM, "HelmRelease"):
            found[identity] = each
    return found


def _order(identity: Identity) -> tuple[str, ...]:
    group, kind, namespace, name = identity
    return (kind, namespace, name, group)


def _fields(old: Object, new: Object) -> Iterator[str]:
    # Mostly the very same bytes, which need not be read.
    if old.item.span == new.item.span:
        return
    before = content(old)
    after = content(new)
    yield from _differences(before, after, "", 0)


def content(item: Object) -> Value:
    """Return an object without the note of where kustomize found it."""
    try:
        found = value(item.item.node)
    except InputError:
        # With variables put in, it may be no YAML any more: then its text is what it is.
        return item.item.span.decode(errors="replace")
    if not isinstance(found, dict):
        return found
    metadata = found.get("metadata")
    if not isinstance(metadata, dict):
        return found
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict):
        return found
    if ORIGIN in annotations:
        del annotations[ORIGIN]
        # kustomize adds the mapping, too, where the object had none.
        if not annotations:
            del metadata["annotations"]
    return found


def _differences(old: Value, new: Value, path: str, depth: int) -> Iterator[str]:
    """Yield the paths at which two values differ, such as `spec.replicas`."""
    pairs = None
    if depth < _DEEPEST:
        pairs = _pairs(old, new, path)
    if pairs is not None:
        for below, one, other in pairs:
            yield from _differences(one, other, below, depth + 1)
    elif not _are_equal(old, new):
        yield path or "."


def _are_equal(one: Value, other: Value) -> bool:
    """Whether two values are the same: to Python `1` and `true` are equal, and to nobody else."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        # The order of keys says nothing.
        return one.keys() == other.keys() and all(
            _are_equal(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    return one == other


def _pairs(old: Value, new: Value, path: str) -> Pairs | None:
    """Return what is below two values side by side, None where they are to be named themselves."""
    if isinstance(old, dict) and isinstance(new, dict):
        return _field_pairs(old, new, path)
    if isinstance(old, list) and isinstance(new, list):
        return _entry_pairs(old, new, path)
    return None


def _field_pairs(
    old: dict[str, Value],
    new: dict[str, Value],
    path: str,
) -> Pairs:
    found: Pairs = []
    # In the order of the manifest, those that are new last. One that is null is as one that is
    # not there.
    names = dict.fromkeys((*old, *new))
    for name in names:
        below = _below(path, name)
        found.append((below, old.get(name), new.get(name)))
    return found


def _entry_pairs(
    old: list[Value],
    new: list[Value],
    path: str,
) -> Pairs | None:
    found: Pairs = []
    before = _named(old)
    after = _named(new)
    # Containers, ports and volumes are known by their names, wherever in the list they are.
    if before is not None and after is not None:
        names = dict.fromkeys((*before, *after))
        for name in names:
            below = f"{path}[{name}]"
            found.append((below, before.get(name), after.get(name)))
        return found
    # Of a list that got shorter nobody can say which of its entries is gone.
    if len(old) != len(new):
        return None
    for index, (one, other) in enumerate(zip(old, new, strict=True)):
        below = f"{path}[{index}]"
        found.append((below, one, other))
    return found


def _below(path: str, name: str) -> str:
    # `metadata.annotations[example.com/note]`: a dot in a name is none of the path.
    if "." in name or "/" in name:
        return f"{path}[{name}]"
    if not path:
        return name
    return f"{path}.{name}"


def _named(entries: list[Value]) -> dict[str, Value] | None:
    """Return the entries of a list by their names, None where not all have one of their own."""
    found: dict[str, Value] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            return None
        name = entry.get("name")
        # A port may have none.
        if not isinstance(name, str):
            return None
        # Variables may be set twice: then they are known by their place.
        if name in found:
            return None
        found[name] = entry
    return found


def _images(content: Value) -> Iterator[str]:
    # Without recursion: a CRD of somebody's own may be nested as deep as it likes.
    waiting = [content]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            yield from _of_pod(part)
            waiting += part.values()


def _of_pod(spec: dict[str, Value]) -> Iterator[str]:
    """Yield the images that a mapping names, if it is the spec of a Pod."""
    for key in _CONTAINERS:
        for container in _entries(spec.get(key)):
            yield from _text(container.get("image"))
    # An image may be mounted, too (core/v1, ImageVolumeSource).
    for volume in _entries(spec.get("volumes")):
        source = volume.get("image")
        if isinstance(source, dict):
            yield from _text(source.get("reference"))


def _text(value: Value) -> Iterator[str]:
    """Yield a value if it is a text with something in it."""
    if isinstance(value, str) and value:
        yield value


def _entries(part: Value) -> Iterator[dict[str, Value]]:
    if isinstance(part, list):
        for entry in part:
            if isinstance(entry, dict):
                yield entry
