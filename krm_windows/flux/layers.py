"""What becomes of rendered windows on their way to the cluster, and which fields may do it.

What was rendered is compared with what is applied, so no field has to be known for what it does.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from posixpath import basename, dirname

from krm_windows.emit.header import is_rendered
from krm_windows.emit.labels import POLICY
from krm_windows.flux import objects
from krm_windows.flux.builds import Build, Builds, Request
from krm_windows.flux.closure import joined
from krm_windows.flux.follow import CHANGING, FollowedCluster
from krm_windows.flux.model import Alteration, Cause, Kustomization, Object
from krm_windows.gateable import KUSTOMIZE
from krm_windows.inventory import ORIGIN
from krm_windows.krm import Value
from krm_windows.system.checkout import Checkout
from krm_windows.system.reading import KUSTOMIZATIONS

# Annotations, or labels, by which Flux does not write an object that is there already, or does not
# write it at all (kustomize-controller), and those by which it leaves it when it is gone from Git.
ABSTAINS = frozenset(
    {
        (f"{KUSTOMIZE}/ssa", "IfNotPresent"),
        (f"{KUSTOMIZE}/ssa", "Ignore"),
        (f"{KUSTOMIZE}/reconcile", "disabled"),
    }
)
LEFT = frozenset(
    {
        (f"{KUSTOMIZE}/prune", "disabled"),
        (f"{KUSTOMIZE}/reconcile", "disabled"),
        (f"{KUSTOMIZE}/ssa", "Ignore"),
    }
)
# Flux ignores the case.
_OBEYED = {(key, text.lower()) for key, text in ABSTAINS | LEFT}
# What a kustomization is, what it is made of, and how it is printed: none changes an object.
_NEUTRAL = frozenset(
    {
        *("apiVersion", "kind", "metadata", "resources", "bases"),
        *("sortOptions", "openapi"),
    }
)
# Of these mappings, entries that a layer adds change nothing for the gate.
_GROWING = frozenset({"labels", "annotations", "matchLabels"})
# On which node the Pods run, which a policy does not say: a layer may.
_PLACING = frozenset(
    {"affinity", "nodeSelector", "priorityClassName", "tolerations", "topologySpreadConstraints"}
)

_Changes = tuple[str, ...] | None
"""The fields of a rendered object that are applied otherwise; None where it is not applied."""


def examine(builds: Builds, state: FollowedCluster) -> None:
    """Note what becomes of the rendered windows of a cluster."""
    for key, build in state.built.items():
        # Of what could not be built nothing is known.
        if build.rendered and build.objects:
            own = state.found[key]
            found = [
                *_alterations(builds, state.asked[key], own, build),
                *_left_out(builds.tree, state, build),
            ]
            state.found[key] = replace(own, alterations=tuple(found))


def _alterations(
    builds: Builds, request: Request, own: Kustomization, build: Build
) -> Iterator[Alteration]:
    """Yield what a Kustomization makes of the windows that it applies."""
    rendered = _rendered(builds, build)
    made = zip(rendered, _compared(rendered, own.objects), strict=True)
    changes = [(item, fields) for item, fields in made if fields != ()]
    # What a file says itself, no layer does.
    written = [(item, fields) for item, fields in changes if _is_left(item)]
    layered = [each for each in changes if each not in written]
    if written:
        yield _altered(written, ())
    if layered:
        yield _altered(layered, tuple(_causes(builds, request, own)))
    for kind in ("labels", "annotations"):
        path = f"spec.commonMetadata.{kind}"
        common = None if own.own is None else own.own.get("spec", "commonMetadata", kind)
        if isinstance(common, dict):
            over = [item for item in rendered if _is_overridden(item, kind, common)]
            if over:
                fields = (f"metadata.{kind}",)
                yield _altered([(item, fields) for item in over], (Cause(path, own.own),))


def _left_out(tree: Checkout, state: FollowedCluster, build: Build) -> Iterator[Alteration]:
    """Yield the rendered objects beside those of a build, of the same policies, that none has."""
    beside: set[str] = set()
    for folder in set(map(dirname, build.rendered)):
        names = set(tree.names(folder or ".")).difference(KUSTOMIZATIONS)
        beside.update(joined(folder, name) for name in names)
    labels = {item.note(POLICY) for item in build.objects if item.item.mentions(POLICY)}
    missing: list[tuple[Object, _Changes]] = []
    for path in sorted(beside - build.files):
        content = tree.read(path) or b""
        for document in objects.readable(content) if is_rendered(content) else ():
            item = Object.in_file(document, path)
            label = item.note(POLICY)
            if label and label in labels and item.identity not in state.known:
                missing.append((item, None))
    if missing:
        yield _altered(missing, ())


def _altered(changes: Sequence[tuple[Object, _Changes]], causes: tuple[Cause, ...]) -> Alteration:
    removed = tuple(item for item, fields in changes if fields is None)
    return Alteration(removed, tuple((item, fields) for item, fields in changes if fields), causes)


def _rendered(builds: Builds, build: Build) -> list[Object]:
    """Return the objects of policies as they were rendered, without what other layers change.

    A kustomization that was rendered may patch a base (the layout `overlays`), so it is built.
    """
    tree = builds.tree
    listings = {
        file: Request(dirname(file) or ".")
        for file in build.rendered
        if basename(file) in KUSTOMIZATIONS and is_rendered(tree.read(file) or b"")
    }
    builds.build(listings.values())
    made = {file: builds.done[request] for file, request in listings.items()}
    found: list[Object] = []
    for file in sorted(build.rendered):
        if any(file in other.files for name, other in made.items() if name != file):
            continue
        if file in made:
            found += made[file].objects
        else:
            found += objects.written(tree.read(file) or b"", file)
    return [item for item in found if item.item.mentions(POLICY) and item.note(POLICY)]


def _causes(builds: Builds, request: Request, own: Kustomization) -> Iterator[Cause]:
    """Yield each field on the way to what is built that may change an object."""
    for flux, name in CHANGING.items():
        if name in json.loads(request.changes):
            yield Cause(f"spec.{flux}", own.own)
    if own.own is not None and own.own.get("spec", "postBuild"):
        yield Cause("spec.postBuild", own.own)
    for file, fields in builds.closure(request).kustomizations.items():
        content = builds.tree.read(file) or b""
        # What uses a Component decides what that changes.
        if fields.get("kind") == "Component" or is_rendered(content):
            continue
        for document in objects.readable(content)[:1]:
            for key in fields:
                if key not in _NEUTRAL and document.get(key):
                    yield Cause(key, file=file, item=document)


def _compared(rendered: Sequence[Object], built: Sequence[Object]) -> list[_Changes]:
    """Return what became of each rendered object among those that were built."""
    # An object of the whole cluster is the same one with a namespace, which kustomize before 5.6
    # gives to admission policies.
    known = {item.identity._replace(namespace=""): item for item in built}
    known |= {item.identity: item for item in built}
    found = (known.get(item.identity) for item in rendered)
    return [
        None if now is None else tuple(_changes(item, now))
        for item, now in zip(rendered, found, strict=True)
    ]


def _is_left(item: Object) -> bool:
    """Whether an object has a note by which Flux leaves it as it is."""
    return any(_is_obeyed(key, item.note(key)) for key, _ in _OBEYED if item.item.mentions(key))


def _changes(item: Object, now: Object) -> Iterator[str]:
    """Yield the fields in which an object differs from the rendered one."""
    if _is_left(now):
        yield "metadata.annotations"
    # The same text needs no reading, and most have it.
    if item.item.span == now.item.span:
        return
    before, after = _comparable(item), _comparable(now)
    for key in sorted({*before, *after}):
        yield from _differences(before.get(key), after.get(key), key)


def _comparable(item: Object) -> dict[str, Value]:
    content = item.item.get()
    fields = dict(content) if isinstance(content, dict) else {}
    for key in ("metadata", "status"):
        fields.pop(key, None)
    for key in ("labels", "annotations"):
        fields[f"metadata.{key}"] = item.get("metadata", key)
    return fields


def _differences(before: Value, after: Value, path: str) -> Iterator[str]:
    """Yield the fields that differ; entries that a layer adds to labels and annotations do not."""
    is_growing = path.rpartition(".")[2] in _GROWING
    if is_growing:
        before, after = before or {}, after or {}
    if isinstance(before, dict) and isinstance(after, dict):
        # By it kustomize says where the object was written.
        keys = set(before) - {ORIGIN}
        if not is_growing:
            keys |= set(after) - _PLACING
        for key in sorted(keys):
            yield from _differences(before.get(key), after.get(key), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _differences(old, new, f"{path}[{number}]")
    elif before != after:
        yield path


def _is_obeyed(key: str, text: Value) -> bool:
    """Whether Flux writes or prunes an object otherwise for a note."""
    return (key, str(text).lower()) in _OBEYED


def _is_overridden(item: Object, kind: str, common: dict[str, Value]) -> bool:
    """Whether `commonMetadata` does more to an object than to add to it."""
    own = item.get("metadata", kind)
    return any(
        _is_obeyed(key, text) or (isinstance(own, dict) and own.get(key, text) != text)
        for key, text in common.items()
    )
