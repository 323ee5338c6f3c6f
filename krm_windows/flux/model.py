"""What a repository comes to.

Clusters, their Kustomizations, what each applies, and the policies that gate them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from krm_windows.gate.timetable import Target, Timetable
from krm_windows.gateable import KUSTOMIZE, SOURCE, group_of
from krm_windows.krm import InputError, KubeObject, Value
from krm_windows.results import ResourceRef
from krm_windows.rules import Rule

Identity = tuple[str, str, str, str]
"""Group, kind, namespace, name: the version of an API makes no other object."""


class ObjectIdentity(NamedTuple):
    """An `Identity` whose parts have names.

    `group` is empty for the core group, `namespace` for an object of the whole cluster.
    """

    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of_target(cls, target: Target) -> "ObjectIdentity":
        """Return which object a target is."""
        return cls(target.group, target.kind, target.namespace, target.name)

    @property
    def path(self) -> str:
        """`namespace/name`, or the name alone."""
        if not self.namespace:
            return self.name
        return f"{self.namespace}/{self.name}"

    def __str__(self) -> str:
        """Name it as `Kustomization flux-system/apps`."""
        return f"{self.kind} {self.path}"


@dataclass(frozen=True)
class Object:
    """An object that is applied.

    `file` is where it is, empty where only the origin that kustomize notes says so. `lines_above`
    is how many lines of that file are above the object, `directory` the one that was built.
    `made_by` is the ResourceSet that has it made in the cluster.
    """

    item: KubeObject
    api_version: str
    kind: str
    namespace: str
    name: str
    file: str = ""
    lines_above: int = 0
    directory: str = ""
    made_by: "Object | None" = None

    @classmethod
    def of(
        cls,
        item: KubeObject,
        *,
        directory: str = "",
        made_by: "Object | None" = None,
    ) -> "Object":
        """Read an object's identity; raises InputError where it cannot be read."""
        return cls(
            item=item,
            api_version=item.api_version,
            kind=item.kind,
            namespace=item.namespace,
            name=item.name,
            directory=directory,
            made_by=made_by,
        )

    @classmethod
    def in_file(cls, item: KubeObject, file: str) -> "Object":
        """Read the identity of an object of a file; raises InputError where it cannot be read."""
        return replace(cls.of(item), file=file, lines_above=item.lines_above)

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return group_of(self.api_version)

    @property
    def identity(self) -> ObjectIdentity:
        """What makes it the same object in the cluster."""
        return ObjectIdentity(self.group, self.kind, self.namespace, self.name)

    @property
    def ref(self) -> ResourceRef:
        """The object as a result names it."""
        return ResourceRef(
            api_version=self.api_version,
            kind=self.kind,
            name=self.name,
            namespace=self.namespace,
        )

    def __str__(self) -> str:
        """Name it as `Kustomization flux-system/apps`."""
        return str(self.identity)

    def get(self, *path: str | int) -> Value:
        """Give the value of a field, None where there is none or the object cannot be read."""
        try:
            return self.item.get(*path)
        except InputError:
            return None

    def text(self, *path: str | int) -> str:
        """Give a text field, empty where it is absent or no text."""
        found = self.get(*path)
        if isinstance(found, str):
            return found
        return ""

    def entries(self, *path: str | int) -> Sequence[Value]:
        """Give a list, empty where it is absent or no list."""
        found = self.get(*path)
        if isinstance(found, list):
            return found
        return ()

    def parts(self, *path: str | int) -> Iterator[dict[str, Value]]:
        """Yield those entries of a list that are mappings."""
        for entry in self.entries(*path):
            if isinstance(entry, dict):
                yield entry

    def note(self, key: str) -> str | None:
        """Give an annotation, or else a label, of that key."""
        # Flux and the operator read either, for what switches something off.
        for place in ("annotations", "labels"):
            found = self.get("metadata", place, key)
            if isinstance(found, str):
                return found
        return None


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that fired at the field `path` of `about`, or something that was met while following.

    `file`, `line` and `column` say where if it is about no object; with `item`, a document of that
    file, it is at the field `path` of that. `cluster` is empty where it is about none in
    particular. What is found at many objects for one reason has the same `fact`, and each time
    another object, `of`: it is reported once.
    """

    rule: Rule
    message: str
    about: Object | None = None
    path: str = ""
    current: str | None = None
    file: str = ""
    line: int = 1
    column: int = 1
    cluster: str = ""
    fact: str = ""
    of: ObjectIdentity | None = None
    item: KubeObject | None = None

    @property
    def grouping_key(self) -> tuple[object, ...]:
        """What two clusters, or two objects of one fact, share where they have one finding."""
        # The message too: of one fact several things may be said.
        if self.fact:
            return (self.rule.id, self.fact, self.message)
        location: tuple[object, ...] = (self.file, self.line)
        if self.about:
            about = self.about
            location = (about.identity, about.file, about.lines_above, about.directory)
        return (self.rule.id, location, self.path, self.message)


@dataclass(frozen=True, slots=True)
class Cause:
    """A field by which objects may be changed on their way to the cluster.

    Of `about`, a Flux Kustomization, or of the kustomization `file`, whose document `item` is.
    """

    path: str
    about: Object | None = None
    file: str = ""
    item: KubeObject | None = None


@dataclass(frozen=True, slots=True)
class Alteration:
    """Rendered objects that are changed on their way to the cluster.

    `removed` are not applied under their names, `changed` with other values of some fields.
    """

    removed: tuple[Object, ...]
    changed: tuple[tuple[Object, tuple[str, ...]], ...]
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class Kustomization:
    """A Flux Kustomization in a cluster.

    `key` is `namespace/name`, `parent` that of the one that delivers it. `own` is the object
    itself, None for a root that is not in Git. `complete` says that all it applies is known,
    `elsewhere` that it is known to apply another repository, or another branch of this one.
    `files` are the paths in the tree that were read to know it. `alterations` are what becomes of
    what was rendered from policies.
    """

    key: str
    own: Object | None
    parent: str | None
    path: str
    objects: tuple[Object, ...] = ()
    complete: bool = True
    elsewhere: bool = False
    files: frozenset[str] = frozenset()
    alterations: tuple[Alteration, ...] = ()

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.identity.namespace

    @property
    def identity(self) -> ObjectIdentity:
        """Which object it is, even where no file has that."""
        namespace, _, name = self.key.partition("/")
        return ObjectIdentity(KUSTOMIZE, "Kustomization", namespace, name)

    @cached_property
    def source(self) -> ObjectIdentity | None:
        """The source it applies, None where that is not known."""
        if self.own is None:
            return None
        return reference(self.own, self.namespace, "spec", "sourceRef")

    @property
    def remote(self) -> str:
        """The other cluster that it applies to, by its secret `namespace/name`; empty for its own.

        A ConfigMap may say it as well (Kustomization API, spec.kubeConfig).
        """
        if self.own is None:
            return ""
        for kind in ("secretRef", "configMapRef"):
            name = self.own.text("spec", "kubeConfig", kind, "name")
            if name:
                return f"{self.namespace}/{name}"
        return ""

    @property
    def is_followed(self) -> bool:
        """Whether what it applies was looked at, even if not all of it is known."""
        return self.complete or bool(self.files)

    @property
    def prunes(self) -> bool:
        """Whether it deletes what it no longer applies (Kustomization API, spec.prune)."""
        return self.own is None or self.own.item.get("spec", "prune") is not False

    @property
    def leaves_nothing(self) -> bool:
        """Whether what it applied is deleted with it (Kustomization API, spec.deletionPolicy)."""
        policy = None
        if self.own is not None:
            policy = self.own.item.get("spec", "deletionPolicy")
        # The default is `MirrorPrune`: as `spec.prune` says.
        return policy in ("Delete", "WaitForTermination") or (policy != "Orphan" and self.prunes)

    @cached_property
    def depends_on(self) -> tuple[str, ...]:
        """The keys of those it waits for.

        Left out are those with an expression of their own that says whether they are ready.
        """
        if self.own is None:
            return ()
        found = []
        for entry in self.own.parts("spec", "dependsOn"):
            if entry.get("readyExpr"):
                continue
            # Without one, that of the Kustomization itself (Kustomization API, spec.dependsOn).
            namespace = entry.get("namespace") or self.namespace
            found.append(f"{namespace}/{entry.get('name')}")
        return tuple(found)

    @cached_property
    def awaits(self) -> tuple[str, ...]:
        """The keys of those that have to be ready for it to be (spec.wait, healthChecks)."""
        if self.own is None:
            return ()
        found = [
            f"{entry.get('namespace') or self.namespace}/{entry.get('name')}"
            for entry in self.own.parts("spec", "healthChecks")
            if entry.get("kind") == "Kustomization"
        ]
        if self.own.get("spec", "wait") is True:
            found += (
                item.identity.path
                for item in self.objects
                if (item.group, item.kind) == (KUSTOMIZE, "Kustomization")
            )
        return tuple(found)

    def __str__(self) -> str:
        """Name it as `Kustomization flux-system/apps`, or by its path where its name is unknown."""
        if not self.identity.name:
            return f"what applies {self.path}"
        return str(self.identity)


@dataclass(frozen=True)
class Gate:
    """A policy in a cluster.

    `policy` is `namespace/name`, `delivered_by` the key of the Kustomization that brings it.
    `delivered_by` is None where nothing in the repository does. `waits`: `firstApply` is `Wait`.
    `manifest` is the object that says so, the policy itself or what was rendered from it; `path` is
    its field that names the targets. `held` is what the policy says of admission policies, None
    where only what was rendered shows it. `timetable` compiles when it is open, and gives None
    where that is not known. `released` are the targets that it opens.
    """

    policy: str
    targets: tuple[Target, ...]
    manifest: Object
    path: str
    delivered_by: str | None = None
    waits: bool = False
    held: bool | None = None
    timetable: Callable[[], Timetable | None] = field(default=lambda: None, compare=False)
    released: tuple[Target, ...] = ()

    @property
    def namespace(self) -> str:
        """The policy's namespace."""
        return self.policy.partition("/")[0]

    @cached_property
    def identities(self) -> frozenset[Identity]:
        """What it gates."""
        return frozenset(map(ObjectIdentity.of_target, self.targets))


@dataclass(frozen=True)
class Cluster:
    """A cluster, its Kustomizations, and the policies in it.

    `root` is its directory; `kustomizations` are by key, the root first.
    """

    name: str
    root: str
    kustomizations: dict[str, Kustomization]
    gates: tuple[Gate, ...]

    @property
    def first(self) -> Kustomization:
        """The Kustomization that applies the cluster's own directory."""
        return next(iter(self.kustomizations.values()))

    @property
    def complete(self) -> bool:
        """Whether all that is applied to it is known."""
        return all(each.complete for each in self.kustomizations.values())

    def destination(self, applied: Kustomization) -> tuple[str, ...]:
        """Return the other cluster that a Kustomization's objects are on; empty for this one.

        What a Kustomization of another cluster applies is there too, or yet farther away.
        """
        found: list[str] = []
        each: Kustomization | None = applied
        while each is not None:
            if each.remote:
                found.append(each.remote)
            each = self.kustomizations.get(each.parent or "")
        return tuple(found)

    @cached_property
    def objects(self) -> dict[Identity, tuple[Kustomization, Object]]:
        """Every object, with the Kustomization that applies it (the first, if several do)."""
        found: dict[Identity, tuple[Kustomization, Object]] = {}
        for each in self.kustomizations.values():
            for item in each.objects:
                found.setdefault(item.identity, (each, item))
        return found


def reference(
    item: Object,
    namespace: str,
    *path: str | int,
) -> ObjectIdentity | None:
    """Read a reference to a source; `namespace` is the object's own, which it has unless given."""
    kind = item.text(*path, "kind")
    name = item.text(*path, "name")
    # The API server demands both, so without one it is a text that Flux fills in.
    if not kind or not name:
        return None
    where = item.text(*path, "namespace") or namespace
    return ObjectIdentity(SOURCE, kind, where, name)


def release_of(item: Object) -> tuple[str, str, str]:
    """Return the cluster, namespace and name under which Helm keeps a release (HelmRelease API)."""
    target = item.text("spec", "targetNamespace")
    name = item.text("spec", "releaseName") or "-".join(filter(None, (target, item.name)))
    namespace = item.text("spec", "storageNamespace") or item.namespace
    return item.text("spec", "kubeConfig", "secretRef", "name"), namespace, name
