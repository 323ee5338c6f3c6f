"""How the objects that are applied differ between two revisions, and which images they run."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from krm_windows.flux import Object
from krm_windows.flux.model import Identity
from krm_windows.gateable import HELM
from krm_windows.inventory import ORIGIN
from krm_windows.krm import InputError, Value, value
from krm_windows.pending.between import Kind, ObjectChange

Objects = Mapping[Identity, Object]
# The lists of a Pod's containers (core/v1, PodSpec), wherever a Pod template may be.
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
# A host, a path, a tag and a digest (OCI distribution specification, and what containerd takes).
# What is printed for `crictl pull` is one word, and no option.
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}")
# So much of a change is enough to recognise it by.
_DEEPEST = 100


def compare(before: Objects, after: Objects) -> tuple[ObjectChange, ...]:
    """Return what changes, in the order of kinds and names."""
    # By kind first, as a reader looks for the Deployments, and not for what is in a namespace.
    every = sorted(before.keys() | after.keys(), key=_order)
    found = (_change(before.get(identity), after.get(identity)) for identity in every)
    return tuple(filter(None, found))


def _change(old: Object | None, new: Object | None) -> ObjectChange | None:
    """Return how an object changes, None where both are alike."""
    if new is None:
        return ObjectChange(Kind.REMOVED, str(old))
    if old is None:
        return ObjectChange(Kind.ADDED, str(new))
    # Mostly the very same bytes, which need not be read.
    if old.item.span == new.item.span:
        return None
    fields = tuple(_differences(content(old), content(new)))
    return ObjectChange(Kind.CHANGED, str(new), fields) if fields else None


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
    for identity, each in after.items():
        is_release = (each.group, each.kind) == (HELM, "HelmRelease")
        if is_release and _change(before.get(identity), each) is not None:
            yield str(each)


def _order(identity: Identity) -> tuple[str, ...]:
    group, kind, namespace, name = identity
    return (kind, namespace, name, group)


def content(item: Object) -> Value:
    """Return an object without the note of where kustomize found it."""
    try:
        found = value(item.item.node)
    except InputError:
        # With variables put in, it may be no YAML any more: then its text is what it is.
        return item.item.span.decode(errors="replace")
    metadata = found.get("metadata") if isinstance(found, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(metadata, dict) and isinstance(annotations, dict) and ORIGIN in annotations:
        del annotations[ORIGIN]
        # kustomize adds the mapping, too, where the object had none.
        if not annotations:
            del metadata["annotations"]
    return found


def _differences(old: Value, new: Value, path: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the paths at which two values differ, such as `spec.replicas`."""
    pairs = _pairs(old, new) if depth < _DEEPEST else None
    if pairs is not None:
        for step, one, other in pairs:
            yield from _differences(one, other, f"{path}{step}".removeprefix("."), depth + 1)
    # As JSON: to Python `1` and `true` are equal, and to nobody else.
    elif _json(old) != _json(new):
        yield path or "."


def _json(part: Value) -> str:
    # The order of keys says nothing.
    return json.dumps(part, sort_keys=True, default=str)


def _pairs(old: Value, new: Value) -> list[tuple[str, Value, Value]] | None:
    """Return what is below two values side by side, None where they are to be named themselves."""
    before, after = _steps(old), _steps(new)
    if before is not None and after is not None and type(old) is type(new):
        # In the order of the manifest, those that are new last. One that is null is as one that is
        # not there.
        return [(step, before.get(step), after.get(step)) for step in {**before, **after}]
    # Of a list that got shorter nobody can say which of its entries is gone.
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [(f"[{index}]", *pair) for index, pair in enumerate(zip(old, new, strict=True))]
    return None


def _steps(part: Value) -> dict[str, Value] | None:
    """Return what is below a value by its step in a path; None where it has no name of its own."""
    if isinstance(part, dict):
        # `metadata.annotations[example.com/note]`: a dot in a name is none of the path.
        return {
            f"[{name}]" if "." in name or "/" in name else f".{name}": below
            for name, below in part.items()
        }
    if not isinstance(part, list):
        return None
    # Containers, ports and volumes are known by their names, wherever in the list they are. A port
    # may have none, and variables may be set twice.
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in part]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return None
    return {f"[{name}]": entry for name, entry in zip(names, part, strict=True)}


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


def _of_pod(spec: dict[str, Value]) -> list[str]:
    """Return the images that a mapping names, if it is the spec of a Pod."""
    containers = chain.from_iterable(_entries(spec.get(key)) for key in _CONTAINERS)
    found = [container.get("image") for container in containers]
    # An image may be mounted, too (core/v1, ImageVolumeSource).
    mounted = (volume.get("image") for volume in _entries(spec.get("volumes")))
    found += (source.get("reference") for source in mounted if isinstance(source, dict))
    return [image for image in found if isinstance(image, str) and image]


def _entries(part: Value) -> list[dict[str, Value]]:
    return [each for each in part if isinstance(each, dict)] if isinstance(part, list) else []
