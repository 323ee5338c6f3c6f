"""Bonds: references from one class into another, of which each is refused, warned of, or acknowledged."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from krm_windows import rules
from krm_windows.classes import generated, references, selection
from krm_windows.classes.model import Spec
from krm_windows.classes.partition import Partition, Placement, title
from krm_windows.policy.trouble import Finding
from krm_windows.results import Result

# While kustomize builds, an object has its new name already and references to it have the old one. Which of several
# that had this name is meant is told by what was put around the names of both (`api/internal/accumulator`).
_AROUND = ("internal.config.kubernetes.io/prefixes", "internal.config.kubernetes.io/suffixes")


@dataclass(frozen=True, slots=True)
class Bond:
    """What refers, at which field, by which name, and to what: two resources of different classes."""

    referrer: Placement
    path: str
    name: str
    to: Placement

    @property
    def unsettled(self) -> bool:
        """Whether kustomize is still going to change the name in the reference, if it finds what it refers to."""
        return self.name != self.to.resource.name or generated.will_have_hash(self.to.resource)


def check(spec: Spec, partition: Partition) -> tuple[list[Result], list[Finding]]:
    """Return what is to be said of the references across classes, and of acknowledgements that are of none."""
    bonds = list(find(partition))
    used = [
        [i for i, known in enumerate(spec.acknowledge) if _is_of(known.referrer, known.to, bond)]
        for bond in bonds
    ]
    results = [
        _result(bond, lost=lost)
        for bond, known in zip(bonds, used, strict=True)
        if (lost := spec.keep is not None and bond.unsettled) or not known
    ]
    return results, list(_unused(spec, {i for known in used for i in known}, partition))


def find(partition: Partition) -> Iterator[Bond]:
    """Yield one bond for each two resources of different classes of which one refers to the other."""
    seen = set()
    for bond in (*_by_field(partition.placements), *_by_hash(partition.placements)):
        pair = (id(bond.referrer), id(bond.to))
        if bond.referrer.change_class != bond.to.change_class and pair not in seen:
            seen.add(pair)
            yield bond


def _by_field(placements: Iterable[Placement]) -> Iterator[Bond]:
    """Yield the bonds of fields that are known to hold references."""
    named: Mapping[tuple[str, str], list[Placement]] = defaultdict(list)
    for placement in placements:
        for name in {placement.resource.name, *placement.resource.previous_names}:
            named[placement.resource.kind, name].append(placement)
    for referrer in placements:
        for reference in references.of(referrer.resource.item, referrer.resource.namespace):
            meant = [
                to
                for to in named.get((reference.kind, reference.name), ())
                if reference.means(to.resource)
            ]
            alike = [to for to in meant if _around(to) == _around(referrer)]
            yield from (Bond(referrer, reference.path, reference.name, to) for to in alike or meant)


def _around(placement: Placement) -> list[str | None]:
    """Return what kustomize has put around a resource's name so far."""
    annotations = placement.resource.item.annotations
    return [annotations.get(key) for key in _AROUND]


def _by_hash(placements: Iterable[Placement]) -> Iterator[Bond]:
    """Yield the bonds to names that end in a hash: wherever such a name stands, it can only be meant."""
    hashed = [placement for placement in placements if generated.has_hash(placement.resource)]
    for referrer in placements:
        item = referrer.resource.item
        for to in hashed:
            if (
                to is not referrer
                and _share_namespace(referrer, to)
                and item.mentions(to.resource.name)
            ):
                for path in references.occurrences(item.node, to.resource.name):
                    yield Bond(referrer, path, to.resource.name, to)


def _share_namespace(one: Placement, other: Placement) -> bool:
    """Whether two resources are in one namespace; one that is not said yet may be any."""
    return (
        "" in (namespaces := {one.resource.namespace, other.resource.namespace})
        or len(namespaces) == 1
    )


def _is_of(referrer: str, to: str, bond: Bond) -> bool:
    return selection.is_at(referrer, bond.referrer.resource) and selection.is_at(
        to, bond.to.resource
    )


def _result(bond: Bond, *, lost: bool) -> Result:
    """Report a bond; it is `lost` where the build drops what it has yet to rename in the reference."""
    referrer, to = bond.referrer, bond.to
    between = f"refers from the class {referrer.change_class} to the {title(to.resource)} of {to.change_class}"
    if lost:
        rule = rules.REFERENCE_PARTED
        why = (
            "which kustomize renames (a prefix, a suffix, a hash), and in the reference too, but "
            "only after this "
            "function has dropped it here; leave its name as it is, or run `krm-windows split` on "
            "what is built"
        )
    elif generated.will_have_hash(to.resource) or generated.has_hash(to.resource):
        rule = rules.REFERENCE_PARTED
        why = (
            "which gets a new name with every change: until both classes have applied that, one "
            "refers to what is not "
            "there; put both into one class, or give it a name for good (disableNameSuffixHash) "
            "and acknowledge this"
        )
    elif referrer.rank < to.rank:
        rule, why = rules.REFERENCE_AHEAD, "which is applied later and may not be there yet"
    else:
        rule, why = rules.REFERENCE_BENEATH, "which changes beneath it"
    return referrer.resource.result(
        rule, f"{between}, {why}", path=bond.path, current=to.resource.name
    )


def _unused(spec: Spec, used: set[int], partition: Partition) -> Iterator[Finding]:
    """Yield the acknowledgements that are of no bond, but for those of objects that are in another base altogether."""
    resources = [placement.resource for placement in partition.placements]
    for i, known in enumerate(spec.acknowledge):
        here = any(
            selection.is_at(address, found)
            for address in (known.referrer, known.to)
            for found in resources
        )
        if here and i not in used:
            must = (
                f"is of no reference across classes: {known.referrer} to {known.to}; remove it, "
                "or correct the names"
            )
            yield Finding(rules.ACKNOWLEDGE_UNUSED, must, path=f"spec.acknowledge[{i}]")
