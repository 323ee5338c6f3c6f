"""What becomes of rendered windows on their way to the cluster, and which field does it.

What was rendered is compared with what is applied. Where they differ, every field on the way is
left out of the build in turn: those without which the result is another are those that do it. So
no field has to be known for what it does.
"""

import json
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from posixpath import basename, dirname

from krm_windows import rules
from krm_windows.emit.header import is_rendered
from krm_windows.emit.labels import POLICY
from krm_windows.flux import fields, instances, objects
from krm_windows.flux.builds import Build, Builds, Request
from krm_windows.flux.follow import CHANGING, State
from krm_windows.flux.locations import Locator
from krm_windows.flux.model import (
    Alteration,
    Cluster,
    Finding,
    Identity,
    Kustomization,
    Layer,
    Object,
    ObjectIdentity,
    Outcome,
    reference,
)
from krm_windows.flux.sources import below
from krm_windows.gate.timetable import Target
from krm_windows.gateable import KUSTOMIZE
from krm_windows.inventory import ORIGIN
from krm_windows.krm import InputError, KubeObject, Value
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
_FLUX_FIELD = {name: field for field, name in CHANGING.items()}

Probe = Callable[[Sequence[Object]], tuple[Hashable, ...]]
"""Something that is asked of what is built, as it may change without a field."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a kustomization as it is built; with an `index`, one entry of a list."""

    file: str
    key: str
    index: int | None
    value: Value


def examine(builds: Builds, state: State) -> None:
    """Note what becomes of the rendered windows of a cluster, and who sets what delivers them."""
    layers = _Layers(builds, state, Locator(builds.tree))
    delivering: dict[str, None] = {}
    for key, build in state.built.items():
        each: str | None = key
        # Of what could not be built nothing is known.
        if build.rendered and build.objects:
            own = state.found[key]
            state.found[key] = replace(own, alterations=tuple(layers.alterations(own, build)))
        # Whatever delivers it, as well.
        while (build.rendered or build.policies) and each in state.found:
            delivering[each] = None
            each = state.found[each].parent
    for key in delivering:
        own = state.found[key]
        state.found[key] = replace(own, set_above=layers.set_above(own))
    for key in state.built:
        own = state.found[key]
        left_out = tuple(layers.left_out(own))
        state.found[key] = replace(own, alterations=(*own.alterations, *left_out))


def placed(builds: Builds, state: State, notice: Finding) -> Finding:
    """Return what was met at a field of an object where that is written."""
    if notice.about is None or notice.about.made_by is None:
        return notice
    layers = _Layers(builds, state, Locator(builds.tree))
    layer = layers.by_instance(notice.about, notice.path)
    return notice if layer is None else replace(notice, about=layer.about, path=layer.path)


def with_targets(builds: Builds, state: State, cluster: Cluster) -> Cluster:
    """Note which layers rename or move targets that a policy has by the name in their file.

    And which set the field by which the gate closes one.
    """
    layers = _Layers(builds, state, Locator(builds.tree))
    missing = set(layers.misled())
    suspended_by: dict[Identity, Layer] = {}
    targets: set[Target] = set()
    for gate in cluster.gates:
        targets.update(gate.targets)
    for target in targets:
        identity = ObjectIdentity.of_target(target)
        if identity not in cluster.objects:
            missing.add(identity)
            continue
        owner, item = cluster.objects[identity]
        layer = layers.above(item, owner.key, ".".join(target.field))
        if layer is not None:
            suspended_by[identity] = layer
    cluster = replace(cluster, suspended_by=suspended_by)
    if not missing:
        return cluster
    found = {}
    for key, each in cluster.kustomizations.items():
        moved = tuple(layers.moved(each, missing)) if key in state.built else ()
        found[key] = replace(each, alterations=(*each.alterations, *moved))
    return replace(cluster, kustomizations=found)


@dataclass(frozen=True, slots=True)
class _Layers:
    """Looks for layers in a cluster."""

    builds: Builds
    state: State
    locator: Locator

    def alterations(self, each: Kustomization, build: Build) -> Iterator[Alteration]:
        """Yield what a Kustomization makes of the windows that it applies."""
        rendered = self._rendered(build)

        def outcomes(built: Sequence[Object]) -> tuple[Outcome, ...]:
            return tuple(_outcomes(rendered, built))

        made = outcomes(build.objects)
        explained: set[ObjectIdentity] = set()
        if any(outcome.differs for outcome in made):
            for field, changed in self._causes(self.state.asked[each.key], outcomes, made):
                explained.update(made[number].rendered.identity for number in changed)
                yield Alteration(
                    self._layer(each, field), tuple(made[number] for number in changed)
                )
        unexplained = [
            each for each in made if each.differs and each.rendered.identity not in explained
        ]
        if unexplained:
            yield Alteration(None, tuple(unexplained))
        yield from self._by_flux(each, made, outcomes)

    def left_out(self, each: Kustomization) -> Iterator[Alteration]:
        """Yield what keeps windows, or what delivers them, out of the artifact, and stops no build.

        What does stop one is said of the build.
        """
        request = self.state.asked[each.key]
        built = self.state.built[each.key]
        if request.artifact is None or any(n.rule is rules.BUILD_FAILED for n in built.notices):
            return
        files = self.builds.files(request.artifact)
        # Nearly always it is something else, and nothing has to be built again for it.
        if not any(
            POLICY.encode() in text or KUSTOMIZE.encode() in text for text in files.left_out
        ):
            return
        whole = replace(request, artifact=None)
        self.builds.build([whole])
        everything = self.builds.done[whole]
        blamed = {file: files.left_out_by(file) for file in sorted(everything.files)}
        kept = {item.identity for item in built.objects}
        lost = [
            item
            for item in everything.objects
            if item.identity not in kept and (item.note(POLICY) or self._delivers(item))
        ]
        layers = (blamed.get(self.locator.locate(item).file) for item in lost)
        layer = next(filter(None, layers), None)
        if layer is not None and layer.about is not None:
            layer = self.by_instance(layer.about, layer.path) or layer
        if layer is not None:
            yield Alteration(layer, tuple(Outcome(item, None) for item in lost))

    def _delivers(self, item: Object) -> bool:
        """Whether an object is a Kustomization that applies what was rendered."""
        if (item.group, item.kind) != (KUSTOMIZE, "Kustomization"):
            return False
        source = reference(item, item.namespace, "spec", "sourceRef")
        home = None if source is None else self.state.sources.home(source)
        if home is None:
            return False
        request = Request(below(home, item.text("spec", "path")))
        self.builds.build([request])
        return bool(self.builds.done[request].rendered)

    def moved(
        self, each: Kustomization, missing: Collection[ObjectIdentity]
    ) -> Iterator[Alteration]:
        """Yield what renames or moves objects that are missing under the name in their file."""
        kinds = {(identity.group, identity.kind) for identity in missing}
        written: list[Object] = []
        for item in each.objects:
            document = None
            if (item.group, item.kind) in kinds and item.made_by is None:
                document = self.locator.locate(item).document
            if document is None:
                continue
            own = Object.of(document)
            # A namespace that the file leaves open is put in by whoever applies it.
            written += (
                replace(own, namespace=identity.namespace)
                for identity in missing
                if own.identity in (identity, identity._replace(namespace=""))
            )
        if not written:
            return

        def outcomes(built: Sequence[Object]) -> tuple[Outcome, ...]:
            return tuple(Outcome(item, _identity(_nearest(item, built))) for item in written)

        made = outcomes(self.state.built[each.key].objects)
        for field, changed in self._causes(self.state.asked[each.key], outcomes, made):
            found = tuple(made[number] for number in changed if made[number].applied)
            if found:
                yield Alteration(self._layer(each, field), found)

    def misled(self) -> Iterator[ObjectIdentity]:
        """Yield what would deliver windows if it were in the namespace that its file says."""
        for key, each in self.state.found.items():
            if key in self.state.built or each.own is None or each.own.made_by is not None:
                continue
            document = self.locator.locate(each.own).document
            written = None if document is None else Object.of(document)
            if written is None or written.namespace in ("", each.own.namespace):
                continue
            if self._delivers(written):
                yield written.identity

    def _by_flux(
        self,
        each: Kustomization,
        made: Sequence[Outcome],
        outcomes: Callable[[Sequence[Object]], tuple[Outcome, ...]],
    ) -> Iterator[Alteration]:
        """Yield what Flux makes of the windows once they are built."""
        if each.own is None:
            return
        filled = outcomes(each.objects)
        changed = [after for before, after in zip(made, filled, strict=True) if before != after]
        if changed:
            yield Alteration(self._of_flux(each, "postBuild"), tuple(changed))
        for kind in ("labels", "annotations"):
            common = each.own.get("spec", "commonMetadata", kind)
            if isinstance(common, dict):
                named = [_overridden(outcome, kind, common) for outcome in filled]
                if any(named):
                    layer = self._of_flux(each, "commonMetadata", f".{kind}")
                    yield Alteration(layer, tuple(filter(None, named)))

    def _rendered(self, build: Build) -> list[Object]:
        """Return the objects of policies as they were rendered, without what other layers change.

        A kustomization that was rendered may patch a base (the layout `overlays`), so it is built.
        """
        tree = self.builds.tree
        listings = {
            file: Request(dirname(file) or ".")
            for file in build.rendered
            if basename(file) in KUSTOMIZATIONS and is_rendered(tree.read(file) or b"")
        }
        self.builds.build(listings.values())
        made = {file: self.builds.done[request] for file, request in listings.items()}
        found: list[Object] = []
        for file in sorted(build.rendered):
            if any(file in other.files for name, other in made.items() if name != file):
                continue
            if file in made:
                found += made[file].objects
            else:
                found += objects.written(tree.read(file) or b"", file)
        return [item for item in found if item.item.mentions(POLICY) and item.note(POLICY)]

    def _causes(
        self, request: Request, probe: Probe, whole: Sequence[Hashable]
    ) -> Iterator[tuple[_Field, list[int]]]:
        """Yield the fields of a build without which some answers to a probe are others.

        Each comes with the numbers of these answers.
        """
        for field in self._candidates(request):
            changed = self._changed(request, field, probe, whole)
            if not changed:
                continue
            # Many patches are tried one by one only where leaving out all of them matters.
            alone = []
            if isinstance(field.value, list):
                for number, entry in enumerate(field.value):
                    one = _Field(field.file, field.key, number, entry)
                    numbers = self._changed(request, one, probe, whole)
                    if numbers:
                        alone.append((one, numbers))
            yield from alone or [(field, changed)]

    def _changed(
        self, request: Request, field: _Field, probe: Probe, whole: Sequence[Hashable]
    ) -> list[int]:
        built = self.builds.without(request, field.file, field.key, field.index)
        # What does not build says nothing.
        if built is None:
            return []
        pairs = zip(whole, probe(built), strict=True)
        return [number for number, (before, after) in enumerate(pairs) if before != after]

    def _candidates(self, request: Request) -> Iterator[_Field]:
        changes = json.loads(request.changes)
        for file, wanted in self.builds.kustomizations(request).items():
            # What uses a Component decides what that changes.
            if wanted.get("kind") == "Component":
                continue
            known = is_rendered(self.builds.tree.read(file) or b"")
            for key, value in wanted.items():
                own = not known or (key in changes and dirname(file) == request.directory)
                if own and key not in _NEUTRAL and value:
                    yield _Field(file, key, None, value)

    def _layer(self, each: Kustomization, field: _Field) -> Layer:
        """Return where a field is written: in a kustomization, or in the Flux Kustomization."""
        content = self.builds.tree.read(field.file) or b""
        written = fields.read(content).get(field.key)
        path = field.key
        index = _index(written, field)
        if field.index is not None and index is not None:
            path = f"{field.key}[{index}]"
        if index is not None or each.own is None or field.key not in _FLUX_FIELD:
            return Layer(path, file=field.file, item=_document(content))
        name = _FLUX_FIELD[field.key]
        place = ""
        if field.index is not None:
            number = _index(each.own.get("spec", name), field)
            place = f"[{number or 0}]"
        return self._of_flux(each, name, place)

    def _of_flux(self, each: Kustomization, name: str, place: str = "") -> Layer:
        """Return where a field of a Flux Kustomization is written."""
        return self._above(each, f"spec.{name}") or Layer(f"spec.{name}{place}", each.own)

    def set_above(self, each: Kustomization) -> dict[str, Layer]:
        """Return the fields of a Flux Kustomization that its own file does not set, by path."""
        found: dict[str, Layer] = {}
        if each.own is None:
            return found
        spec = each.own.get("spec")
        paths = ["metadata.annotations"]
        if isinstance(spec, dict):
            paths += (f"spec.{name}" for name in spec)
        for path in paths:
            layer = self._above(each, path)
            if layer is not None:
                found[path] = layer
        return found

    def _above(self, each: Kustomization, path: str) -> Layer | None:
        """Return which layer above a Flux Kustomization sets a field of it; None if it does."""
        # The root may be applied by itself.
        return None if each.own is None else self.above(each.own, each.parent or each.key, path)

    def above(self, own: Object, applied_by: str, path: str) -> Layer | None:
        """Return which layer sets a field of an object other than in its file; None if none does.

        `applied_by` is the key of the Kustomization that applies it.
        """
        if own.made_by is not None:
            return self.by_instance(own, path)
        written = self.locator.locate(own).document
        if written is None or _answer(written, path) == _answer(own.item, path):
            return None
        above = self.state.found.get(applied_by)
        if above is None or above.key not in self.state.built:
            return None
        identity = own.identity

        def probe(built: Sequence[Object]) -> tuple[str, ...]:
            known = (item for item in built if item.identity == identity)
            return tuple(_answer(item.item, path) for item in known) or ("",)

        whole = probe(self.state.built[above.key].objects)
        for field, _ in self._causes(self.state.asked[above.key], probe, whole):
            return self._layer(above, field)
        return None

    def by_instance(self, item: Object, path: str) -> Layer | None:
        """Return which patch of the FluxInstance that syncs the cluster sets a field."""
        sync = self.state.sources.sync
        if sync is None or sync.item is not item.made_by:
            return None
        place = instances.patches_path(sync.item)
        for number in range(len(sync.item.entries(*place))):
            try:
                made = instances.synced(self.builds.builder, sync, lacking=number)
            except InputError:
                # What another patch needs says nothing.
                continue
            answers = {each.identity: _answer(each.item, path) for each in made}
            if answers.get(item.identity) != _answer(item.item, path):
                return Layer(f"{'.'.join(place)}[{number}]", sync.item)
        return None


def _answer(item: KubeObject, path: str) -> str:
    """Return a field in a form that can be compared; of annotations, those that Flux obeys."""
    value = item.get(*path.split("."))
    if path == "metadata.annotations" and isinstance(value, dict):
        value = {key: text for key, text in value.items() if key.startswith(KUSTOMIZE)}
    return json.dumps(None if value in ({}, []) else value, sort_keys=True, default=str)


def _index(written: Value, field: _Field) -> int | None:
    """Return which entry of a list as it is written a field is, 0 for one that is no list.

    None where it is not written there.
    """
    if field.index is None or not isinstance(written, list):
        return 0 if written == field.value or isinstance(written, list) else None
    return written.index(field.value) if field.value in written else None


def _document(content: bytes) -> KubeObject | None:
    return next(iter(objects.readable(content)), None)


def _outcomes(rendered: Iterable[Object], built: Sequence[Object]) -> Iterator[Outcome]:
    """Yield what became of each rendered object among those that were built."""
    wanted = list(rendered)
    found = {item.identity: item for item in built}
    # An object of the whole cluster is the same one with a namespace, which kustomize before 5.6
    # gives to admission policies.
    anywhere = {(item.group, item.kind, item.name): item for item in built}
    known = {item.identity for item in wanted}
    # Renamed and moved it is another object; no other of its kind can be taken for it.
    others = [
        item
        for identity, item in found.items()
        if identity not in known and item.item.mentions(POLICY)
    ]
    for item in wanted:
        now = found.get(item.identity)
        if now is None and not item.namespace:
            now = anywhere.get((item.group, item.kind, item.name))
            if now is not None:
                now = replace(now, namespace="")
        now = now or _nearest(item, others)
        if now is None:
            yield Outcome(item, None)
        else:
            yield Outcome(item, now.identity, tuple(_changes(item, now)))


def _identity(item: Object | None) -> ObjectIdentity | None:
    return item.identity if item else None


def _nearest(item: Object, others: Iterable[Object]) -> Object | None:
    """Return what an object was renamed to, the name nearest to its own; None if nothing is it."""
    alike = [
        each
        for each in others
        if (each.group, each.kind) == (item.group, item.kind) and item.name in each.name
    ]
    return min(alike, key=lambda each: len(each.name), default=None)


def _changes(item: Object, now: Object) -> Iterator[tuple[str, str]]:
    """Yield the fields in which an object differs from the rendered one, with what they are."""
    for key in sorted({key for key, _ in ABSTAINS | LEFT}):
        text = now.note(key) if now.item.mentions(key) else None
        if text and _is_obeyed(key, text):
            yield "metadata.annotations", f"{key}: {text}"
    # The same text needs no reading, and most have it.
    if item.item.span == now.item.span:
        return
    before, after = item.item.get(), now.item.get()
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after} - {"metadata", "status"}):
            yield from _differences(before.get(key), after.get(key), key)
    for key in ("labels", "annotations"):
        yield from _differences(
            item.get("metadata", key), now.get("metadata", key), f"metadata.{key}"
        )


def _differences(before: Value, after: Value, path: str) -> Iterator[tuple[str, str]]:
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
        yield path, json.dumps(after, sort_keys=True, default=str)


def _is_obeyed(key: str, text: Value) -> bool:
    """Whether Flux writes or prunes an object otherwise for a note; it ignores the case."""
    return (key, str(text).lower()) in {(key, text.lower()) for key, text in ABSTAINS | LEFT}


def _overridden(outcome: Outcome, kind: str, common: dict[str, Value]) -> Outcome | None:
    """Return what `commonMetadata` makes of an object, None where it only adds to it."""
    own = outcome.rendered.get("metadata", kind)
    found = []
    for key, text in sorted(common.items()):
        is_ours = isinstance(own, dict) and key in own and own[key] != text
        if is_ours or _is_obeyed(key, text):
            found.append((f"metadata.{kind}", f"{key}: {text}"))
    return outcome._replace(changes=tuple(found)) if found else None
