"""What a stream of items holds, as far as a policy needs to know it.

Only items of the kinds that are asked for are looked into; all others stay the bytes they are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from krm_windows.gateable import group_of
from krm_windows.krm import InputError, KubeObject
from krm_windows.results import File, ResourceRef, Result
from krm_windows.rules import Rule

Resources: TypeAlias = Callable[[str | None], list[KubeObject]]
"""Gives the resources of a cluster: one list to those that have the same."""
# Where an orchestrator read an item (kyaml, kio/kioutil), under the present and the older keys.
PATH = "internal.config.kubernetes.io/path"
INDEX = "internal.config.kubernetes.io/index"
_OLDER = ("config.kubernetes.io/path", "config.kubernetes.io/index")
# What kustomize notes of an item (api/internal/utils): its file, and the names it had.
ORIGIN = "config.kubernetes.io/origin"
PREVIOUS_NAMES = "internal.config.kubernetes.io/previousNames"
# An item with it is for functions alone, and is not applied (kyaml, kio/filters).
LOCAL_CONFIG = "config.kubernetes.io/local-config"
# The label of all that is emitted for a policy.
POLICY = "krm-windows.dev/policy"
CHANGE_CLASS = "krm-windows.dev/change-class"


def no_resources(_: str | None) -> list[KubeObject]:
    """Say that no cluster shows any."""
    return []


class Resource(NamedTuple):
    """An item of the stream with its identity read: the item itself is there to be edited."""

    item: KubeObject
    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return group_of(self.api_version)

    @property
    def ref(self) -> ResourceRef:
        """The object as a result names it."""
        return ref_of(self.item)

    @property
    def file(self) -> File | None:
        """The file that an orchestrator read the object from, if it says so."""
        return file_of(self.item)

    @property
    def previous_names(self) -> tuple[str, ...]:
        """The names that kustomize gave the object before its present one, oldest first."""
        names = self.item.annotations.get(PREVIOUS_NAMES, "")
        return tuple(name for name in names.split(",") if name)

    def result(
        self,
        rule: Rule,
        message: str,
        *,
        path: str,
        current: str | None = None,
        proposed: str | None = None,
    ) -> Result:
        """Report that a rule fired at a field of this object."""
        return rule.result(
            message, path=path, current=current, proposed=proposed, ref=self.ref, file=self.file
        )

    def text(self, *path: str) -> str:
        """Return a string field, empty where it is absent or no string."""
        value = self.item.get(*path)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class Inventory:
    """The items of a stream that matter; `visible` is false where there are none (a generator)."""

    resources: tuple[Resource, ...]
    visible: bool

    @cached_property
    def _named(self) -> dict[tuple[str, str, str], list[Resource]]:
        """The objects by group, kind and name, as thousands of targets may be looked up."""
        found: dict[tuple[str, str, str], list[Resource]] = {}
        for resource in self.resources:
            # Without the namespace: one that an item lacks may be put in after this function.
            key = (resource.group, resource.kind, resource.name)
            found.setdefault(key, []).append(resource)
        return found

    def of(
        self,
        group: str,
        kind: str,
        namespace: str,
    ) -> list[Resource]:
        """Return the objects of a kind in a namespace; without one yet they count as in any."""
        found = each(self, group, kind)
        return [resource for resource in found if resource.namespace in ("", namespace)]

    def find(
        self,
        group: str,
        kind: str,
        namespace: str,
        name: str,
    ) -> Resource | None:
        """Return one object, the one that names its namespace first."""
        named = self._named.get((group, kind, name), ())
        found = [resource for resource in named if resource.namespace in ("", namespace)]
        # The empty text is less than any name.
        return max(found, key=lambda resource: resource.namespace, default=None)


def ref_of(item: KubeObject) -> ResourceRef:
    """Return an item as a result names it."""
    return ResourceRef(
        api_version=item.api_version, kind=item.kind, name=item.name, namespace=item.namespace
    )


def file_of(item: KubeObject) -> File | None:
    """Return the file that an item's annotations name, and its index in it.

    As orchestrators note it (functions-spec), or as kustomize does where `buildMetadata` has
    `originAnnotations`.
    """
    annotations = item.annotations
    for path, index in ((PATH, INDEX), _OLDER):
        # A person who writes the older path alone wants to narrow what kustomize hands over.
        if annotations.get(path) and (path == PATH or index in annotations):
            return File(annotations[path], _number(annotations.get(index, "")))
    origin = origin_file(annotations.get(ORIGIN, ""))
    return File(path=origin) if origin else None


def _number(text: str) -> int:
    # An annotation is anybody's text. What is no index is that of the first document.
    return int(text) if text.isascii() and text.isdigit() else 0


def origin_file(note: str) -> str:
    """Return the file that kustomize names in the annotation `ORIGIN`.

    Empty for one of another repository, and for a note that cannot be read. The path is relative to
    the directory that was built.
    """
    try:
        fields = KubeObject.parse(note.encode()).get()
    except InputError:
        return ""
    if not isinstance(fields, dict) or "repo" in fields:
        return ""
    # What a generator made has the kustomization in which it is configured.
    path = fields.get("path") or fields.get("configuredIn")
    return path if isinstance(path, str) else ""


def about(config: KubeObject, results: Sequence[Result]) -> list[Result]:
    """Return results with the policy as the object they are about, unless they name another."""
    ref, file = ref_of(config), file_of(config)
    return [
        each if each.resource_ref else each._replace(resource_ref=ref, file=file)
        for each in results
    ]


def take(items: Iterable[KubeObject], kinds: Iterable[str]) -> Inventory:
    """Look into the items of some kinds."""
    wanted = frozenset(kinds)
    every = list(items)
    resources = tuple(resource_of(item) for item in every if item.kind in wanted)
    return Inventory(resources, visible=any(is_resource(item) for item in every))


def resource_of(item: KubeObject) -> Resource:
    """Read the identity of an item."""
    return Resource(item, item.api_version, item.kind, item.namespace, item.name)


def is_resource(item: KubeObject) -> bool:
    """Whether an item is more than configuration of the build itself."""
    # Policies, Kptfiles and kustomizations are among the items, and say nothing about a cluster.
    return group_of(item.api_version) not in (
        "krm-windows.dev",
        "kpt.dev",
        "kustomize.config.k8s.io",
    )


def each(
    inventory: Inventory,
    group: str,
    kind: str,
) -> Iterator[Resource]:
    """Yield the objects of a kind in every namespace."""
    return (
        resource
        for resource in inventory.resources
        if (resource.group, resource.kind) == (group, kind)
    )
