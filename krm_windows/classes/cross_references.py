"""References from one class into another.

Each is refused, warned of, or acknowledged.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from krm_windows import rules
from krm_windows.classes import generated, references, selection
from krm_windows.classes.model import Spec
from krm_windows.classes.partition import Partition, Placement, title
from krm_windows.inventory import Resource
from krm_windows.policy.findings import Finding
from krm_windows.results import Result

# While kustomize builds, an object has its new name already and references to it have the old one.
# Which of several that had this name is meant is known by what was put around the names of both
# (`api/internal/accumulator`).
_AROUND = ("internal.config.kubernetes.io/prefixes", "internal.config.kubernetes.io/suffixes")


@dataclass(frozen=True, slots=True)
class CrossReference:
    """What refers, at which field, by which name, and to what.

    Two resources of different classes.
    """

    referrer: Placement
    path: str
    name: str
    to: Placement

    @property
    def is_pending(self) -> bool:
        """Whether kustomize is still going to change the name in the reference.

        It does if it finds what the reference is to.
        """
        # It refers by a name of before, which kustomize replaces by the one of now.
        if self.name != self.to.resource.name:
            return True
        return generated.will_have_hash(self.to.resource)


def check(spec: Spec, partition: Partition) -> tuple[list[Result], list[Finding]]:
    """Return what is to be said of references across classes, and of acknowledgements of none."""
    results: list[Result] = []
    used: set[int] = set()
    for reference in find(partition):
        referrer, to = reference.referrer.resource, reference.to.resource
        acknowledged = {
            i
            for i, known in enumerate(spec.acknowledge)
            if selection.is_at(known.referrer, referrer) and selection.is_at(known.to, to)
        }
        used |= acknowledged
        # The other half is dropped before kustomize renames it, whoever has acknowledged that.
        is_lost = spec.keep is not None and reference.is_pending
        if is_lost or not acknowledged:
            results.append(_result(reference, lost=is_lost))
    return results, list(_unused(spec, used, partition))


def find(partition: Partition) -> Iterator[CrossReference]:
    """Yield one reference for each two resources of different classes."""
    found: dict[tuple[int, int], CrossReference] = {}
    for reference in chain(_by_field(partition.placements), _by_hash(partition.placements)):
        if reference.referrer.change_class != reference.to.change_class:
            # Two resources are said once, however many fields refer.
            found.setdefault((id(reference.referrer), id(reference.to)), reference)
    yield from found.values()


def _by_field(placements: Iterable[Placement]) -> Iterator[CrossReference]:
    """Yield the references in fields that are known to hold one."""
    named: dict[tuple[str, str], list[Placement]] = defaultdict(list)
    for placement in placements:
        resource = placement.resource
        # A reference may have the name of now or one of those before.
        for name in {resource.name, *resource.previous_names}:
            named[resource.kind, name].append(placement)
    for referrer in placements:
        resource = referrer.resource
        for reference in references.of(resource.item, resource.namespace):
            known = named.get((reference.kind, reference.name), ())
            for to in _meant(referrer, reference, known):
                yield CrossReference(referrer, reference.path, reference.name, to)


def _meant(
    referrer: Placement,
    reference: references.Reference,
    known: Iterable[Placement],
) -> list[Placement]:
    """Return what a reference means, of all that have its kind and name, or had it."""
    meant = [to for to in known if reference.means(to.resource)]
    # Of several that had this name, the one that kustomize renamed in the same way.
    alike = [to for to in meant if _around(to) == _around(referrer)]
    # Where none was renamed in that way, any may be meant: rather warn once too often.
    return alike or meant


def _around(placement: Placement) -> list[str | None]:
    """Return what kustomize has put around a resource's name so far."""
    annotations = placement.resource.item.annotations
    return [annotations.get(key) for key in _AROUND]


def _by_hash(placements: Iterable[Placement]) -> Iterator[CrossReference]:
    """Yield the references to names that end in a hash.

    Wherever such a name occurs, it can mean nothing else.
    """
    hashed = [placement for placement in placements if generated.has_hash(placement.resource)]
    for referrer in placements:
        for to in hashed:
            name = to.resource.name
            spaces = {referrer.resource.namespace, to.resource.namespace}
            # A namespace that is not said yet may be any. What does not mention it as a whole is
            # not read field by field.
            is_near = len(spaces) == 1 or "" in spaces
            if to is not referrer and is_near and referrer.resource.item.mentions(name):
                for path in references.occurrences(referrer.resource.item.node, name):
                    yield CrossReference(referrer, path, name, to)


def _result(reference: CrossReference, *, lost: bool) -> Result:
    """Report a reference; it is `lost` where the build drops what it has yet to rename in it."""
    referrer, to = reference.referrer, reference.to
    between = (
        f"refers from the class {referrer.change_class} "
        f"to the {title(to.resource)} of {to.change_class}"
    )
    if lost:
        rule = rules.REFERENCE_RENAMED
        why = (
            "which kustomize renames (prefix, suffix or hash) here and in the reference, but "
            "only after this function has removed it here; keep its name, or run `krm-windows "
            "split` on the built output"
        )
    elif generated.will_have_hash(to.resource) or generated.has_hash(to.resource):
        rule = rules.REFERENCE_RENAMED
        why = (
            "which gets a new name with every change: until both classes have applied it, one "
            "refers to an object that does not exist; put both in one class, or give it a fixed "
            "name (disableNameSuffixHash) and acknowledge this"
        )
    # A class relies on those before it; the other way round it may come too early.
    elif referrer.rank < to.rank:
        rule, why = rules.REFERENCE_TO_LATER_CLASS, "which is applied later and may not exist yet"
    else:
        rule, why = rules.REFERENCE_TO_EARLIER_CLASS, "which may change before it does"
    message = f"{between}, {why}"
    return referrer.resource.result(
        rule,
        message,
        path=reference.path,
        current=to.resource.name,
    )


def _unused(
    spec: Spec,
    used: set[int],
    partition: Partition,
) -> Iterator[Finding]:
    """Yield the acknowledgements of no reference.

    Those of objects that are in another base altogether are left alone.
    """
    resources = [placement.resource for placement in partition.placements]
    for i, known in enumerate(spec.acknowledge):
        # One function may see one base only: an object that is not here may be in the next.
        if i not in used and (_is_here(known.referrer, resources) or _is_here(known.to, resources)):
            must = (
                f"matches no reference between classes: {known.referrer} to {known.to}; remove "
                "it, or correct the names"
            )
            yield Finding(rules.ACKNOWLEDGE_UNUSED, must, path=f"spec.acknowledge[{i}]")


def _is_here(address: str, resources: Iterable[Resource]) -> bool:
    return any(selection.is_at(address, resource) for resource in resources)
