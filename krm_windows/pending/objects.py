"""How the objects that are applied differ between two revisions."""

import json
from collections.abc import Iterator, Mapping

from krm_windows.flux import Object
from krm_windows.flux.model import Identity
from krm_windows.inventory import ORIGIN
from krm_windows.krm import InputError, Value, value
from krm_windows.pending.between import Kind, ObjectChange

Objects = Mapping[Identity, Object]


def compare(before: Objects, after: Objects) -> Iterator[ObjectChange]:
    """Yield what changes, in the order of kinds and names."""
    # By kind first, as a reader looks for the Deployments, and not for what is in a namespace.
    for identity in sorted(before.keys() | after.keys(), key=_order):
        old, new = before.get(identity), after.get(identity)
        if new is None:
            yield ObjectChange(Kind.REMOVED, str(old))
        elif old is None:
            yield ObjectChange(Kind.ADDED, str(new))
        # Mostly the very same bytes, which need not be read.
        elif old.item.span != new.item.span and as_json(content(old)) != as_json(content(new)):
            yield ObjectChange(Kind.CHANGED, str(new))


def as_json(part: Value) -> str:
    """Return a text that is another where a value is: `1` and `true` are equal to Python alone."""
    # The order of keys says nothing.
    return json.dumps(part, sort_keys=True, default=str)


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
