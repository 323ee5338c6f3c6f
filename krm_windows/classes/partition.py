"""The partition: every resource is put into exactly one class, and it is said why.

The annotation on a resource decides, else the first rule that matches, else the default. A
Namespace and a CRD go with the earliest class that needs them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from krm_windows import rules
from krm_windows.classes import selection
from krm_windows.classes.model import Spec, undeclared
from krm_windows.inventory import CHANGE_CLASS, LOCAL_CONFIG, Resource, is_resource, resource_of
from krm_windows.krm import KubeObject
from krm_windows.krm import Sequence as ListNode
from krm_windows.results import Result

_ANNOTATION = f"metadata.annotations.{CHANGE_CLASS}"


class Reason(StrEnum):
    """What put a resource into its class."""

    ANNOTATION = "annotation"
    RULE = "rule"
    DEFAULT = "default"
    NEEDED = "needed"


@dataclass(frozen=True, slots=True)
class Placement:
    """A resource, its class, the place of that class in their order, and what decided.

    `rule` is the index of the rule that matched, also where something else decided. `needed_by` is
    what needs a Namespace or a CRD.
    """

    resource: Resource
    change_class: str
    rank: int
    reason: Reason
    rule: int | None = None
    needed_by: Resource | None = None


@dataclass(frozen=True, slots=True)
class Partition:
    """The resources in their order, each in one class, and what speaks against it."""

    placements: tuple[Placement, ...]
    results: tuple[Result, ...] = ()

    def of(self, change_class: str) -> list[Placement]:
        """Return what is in a class, in order."""
        return [each for each in self.placements if each.change_class == change_class]


def divide(spec: Spec, items: Iterable[KubeObject]) -> Partition:
    """Put every resource among the items into a class.

    What only configures the build is in none.
    """
    resources = [resource_of(item) for item in items if _is_applied(item)]
    first = [_place(spec, resource) for resource in resources]
    # A Namespace goes with the first that is put into it, a CRD with its first object.
    needs = _earliest(first)
    placed = [_adjusted(placement, needs) for placement in first]
    results = [
        *_unknown(spec, resources),
        *_lists(resources),
        *_doubled(resources),
        *_too_late(placed),
    ]
    return Partition(tuple(placed), tuple(results))


def _is_applied(item: KubeObject) -> bool:
    """Whether an item is applied to a cluster, so that it has a class."""
    if not is_resource(item):
        return False
    # Local configuration never is: kustomize and kpt take any value but `false` for yes.
    return item.annotations.get(LOCAL_CONFIG, "false") == "false"


def _place(spec: Spec, resource: Resource) -> Placement:
    """Put a resource where annotation, rules and default say.

    An unknown annotation is reported elsewhere.
    """
    names = [declared.name for declared in spec.classes]
    annotated = resource.item.annotations.get(CHANGE_CLASS)
    matched = _first_match(spec, resource)
    # The annotation is on the object itself, so it is meant for it alone.
    if annotated in names:
        name, reason = annotated, Reason.ANNOTATION
    elif matched is not None:
        name, reason = spec.rules[matched].change_class, Reason.RULE
    else:
        name, reason = spec.default, Reason.DEFAULT
    return Placement(resource, name, names.index(name), reason, matched)


def _first_match(spec: Spec, resource: Resource) -> int | None:
    """Return the index of the first rule that matches a resource."""
    for i, rule in enumerate(spec.rules):
        if selection.matches(rule, resource):
            return i
    return None


Key = tuple[str, ...]


def _earliest(placements: Sequence[Placement]) -> dict[Key, Placement]:
    """Return what needs each namespace and each kind, the first of its earliest class."""
    found: dict[Key, Placement] = {}
    for placement in placements:
        resource = placement.resource
        # What a Namespace provides, and what a CRD does.
        for key in ((resource.namespace,), (resource.group, resource.kind)):
            # Of one class the first stays, so that the message names the same one each time.
            if key not in found or placement.rank < found[key].rank:
                found[key] = placement
    return found


def _provides(resource: Resource) -> Key | None:
    """Return what others need of a Namespace or a CRD: a namespace, or a group and a kind."""
    kind = (resource.group, resource.kind)
    if kind == ("", "Namespace"):
        return (resource.name,)
    if kind == ("apiextensions.k8s.io", "CustomResourceDefinition"):
        return resource.text("spec", "group"), resource.text("spec", "names", "kind")
    return None


def _adjusted(placement: Placement, needs: dict[Key, Placement]) -> Placement:
    """Return a placement no later than what needs it, and with that where nothing else was said."""
    key = _provides(placement.resource)
    if key is None:
        return placement
    user = needs.get(key)
    # Nothing needs it, or all is well.
    if user is None or user.rank == placement.rank:
        return placement
    # What a rule put early may stay there; only what nothing was said about comes later.
    if user.rank > placement.rank and placement.reason is not Reason.DEFAULT:
        return placement
    # An annotation outranks, and is reported where it is too late.
    reason = Reason.NEEDED
    if placement.reason is Reason.ANNOTATION:
        reason = Reason.ANNOTATION
    return replace(
        placement,
        change_class=user.change_class,
        rank=user.rank,
        reason=reason,
        needed_by=user.resource,
    )


def _unknown(spec: Spec, resources: Iterable[Resource]) -> Iterator[Result]:
    names = [declared.name for declared in spec.classes]
    for resource in resources:
        annotated = resource.item.annotations.get(CHANGE_CLASS)
        if annotated is not None and annotated not in names:
            finding = undeclared(annotated, names, _ANNOTATION)
            yield finding.result(finding.path, resource.ref, resource.file)


def _lists(resources: Iterable[Resource]) -> Iterator[Result]:
    """Yield every `…List`, whose objects nobody can put into classes of their own."""
    message = (
        "must be written as one document per object, because the objects may be in "
        "different classes"
    )
    for resource in resources:
        if not resource.kind.endswith("List"):
            continue
        # A custom resource may be called `AllowList`: only the field `items` makes it one.
        if isinstance(resource.item.node_at("items"), ListNode):
            yield resource.result(rules.OBJECT_LIST, message, path="items")


def _doubled(resources: Iterable[Resource]) -> Iterator[Result]:
    """Yield every object that is there again, in whichever version of its API."""
    message = (
        "must occur only once among the resources: otherwise two classes would manage it, or "
        "one the wrong version"
    )
    seen = set()
    for resource in resources:
        name = resource.name
        # Without the version: the API server stores v1 and v1beta1 of an object as one.
        key = (resource.group, resource.kind, resource.namespace, name)
        # An object with `generateName` has no name yet.
        if key in seen and name:
            yield resource.result(
                rules.OBJECT_DUPLICATE,
                message,
                path="metadata.name",
                current=name,
            )
        seen.add(key)


def _too_late(placements: Iterable[Placement]) -> Iterator[Result]:
    """Yield every Namespace and CRD that its annotation puts behind what needs it."""
    for placement in placements:
        user = placement.needed_by
        if placement.reason is not Reason.ANNOTATION or user is None:
            continue
        resource, change_class = placement.resource, placement.change_class
        message = (
            f"must be {change_class}, the class of {title(user)}, which cannot exist without it"
        )
        yield resource.result(
            rules.CLASS_TOO_LATE,
            message,
            path=_ANNOTATION,
            current=resource.item.annotations[CHANGE_CLASS],
            proposed=change_class,
        )


def title(resource: Resource) -> str:
    """Return a resource in words: kind, namespace and name."""
    # Where no namespace is said yet, the name is all there is.
    parts = (resource.namespace, resource.name)
    path = "/".join(part for part in parts if part)
    return f"{resource.kind} {path}"
