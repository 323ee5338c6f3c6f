"""Who applies what.

An object has one Kustomization, and moves to another only with pruning in mind.
"""

from collections.abc import Collection, Iterator

from krm_windows import rules
from krm_windows.checks.repository.gated import GatedCluster, Owned, described
from krm_windows.emit import names
from krm_windows.flux import Kustomization, Object
from krm_windows.flux.layers import ABSTAINS, LEFT
from krm_windows.flux.model import Finding, Identity
from krm_windows.gateable import KUSTOMIZE
from krm_windows.inventory import CHANGE_CLASS, POLICY

# The cluster that an object is on, empty for the one that is checked, and its identity there.
Place = tuple[tuple[str, ...], Identity]


def conflicting(gated: GatedCluster) -> Iterator[Finding]:
    """Yield the objects that Kustomizations of different classes or policies apply.

    And the windows that several apply, whatever they are.
    """
    doubled: dict[str, Finding] = {}
    for first, *others in _owners(gated).values():
        owner, _ = first
        own_class = _class(gated, owner)
        for other in others:
            # Of one class and the same windows, both apply the same version.
            if _class(gated, other[0]) != own_class:
                yield _shared(gated, first, other)
            elif other[1].item.mentions(POLICY) and other[1].note(POLICY):
                doubled.setdefault(other[0].key, _doubled(owner, *other))
    yield from doubled.values()


def _owners(gated: GatedCluster) -> dict[Place, list[Owned]]:
    """Return who applies each object that several do."""
    several: dict[Place, list[Owned]] = {}
    for key, found in applied_by(gated).items():
        # Most have one owner, and are not read for it.
        if len(found) == 1:
            continue
        acting = _acting(found)
        # A name with a variable is one that only the cluster knows.
        _, identity = key
        is_known = not any("${" in part for part in identity)
        if len(acting) > 1 and is_known:
            several[key] = acting
    return several


def _acting(several: list[Owned]) -> list[Owned]:
    """Leave out those that do not write what is there already."""
    return [(each, item) for each, item in several if not says(item, ABSTAINS)]


def says(item: Object, notes: Collection[tuple[str, str]]) -> bool:
    """Whether an object has one of some annotations, with that value."""
    return any(item.note(key) == text for key, text in notes)


def _class(gated: GatedCluster, each: Kustomization) -> tuple[frozenset[str], str | None]:
    """Return what decides when a Kustomization changes: the policies, and the class it names."""
    named = None
    # The root may be applied by hand, and then no file has it.
    if each.own:
        named = each.own.note(CHANGE_CLASS)
    return gated.holds(each), named


def _shared(gated: GatedCluster, first: Owned, other: Owned) -> Finding:
    one, _ = first
    two, item = other
    message = (
        f"is applied by {_with_windows(gated, one)} and by {_with_windows(gated, two)}: an "
        "older version overwrites a newer one; remove it from all but one of them"
    )
    return Finding(rules.OBJECT_SHARED, message, item)


def _doubled(owner: Kustomization, each: Kustomization, item: Object) -> Finding:
    policy = names.policy_of(item.note(POLICY) or "")
    message = (
        f"must not lead to the windows of {policy}, which {owner} applies, too: each takes them "
        "from the other at every reconcile, and whichever is removed deletes them; apply them once"
    )
    path = "spec.path" if each.own else ""
    return Finding(rules.DELIVERY_FIELD, message, each.own or item, path, current=each.path)


def _with_windows(gated: GatedCluster, each: Kustomization) -> str:
    return f"{each} ({described(gated.holds(each))})"


def moved(before: GatedCluster, after: GatedCluster) -> Iterator[Finding]:
    """Yield the objects that one Kustomization gave up to another that opens later.

    Until then pruning has deleted them. What another owner's labels are on by then is not pruned
    (kustomize-controller), so a move the other way is fine.
    """
    old = applied_by(before)
    for key, found in applied_by(after).items():
        owner, item = found[0]
        keys = {each.key for each, _ in found}
        for giver, given in old.get(key, ()):
            # Whoever still applies it has given nothing up.
            if giver.key in keys:
                continue
            # Nothing is deleted by who never deletes, or where the object says that it stays.
            if not prunes(giver) or says(given, LEFT):
                continue
            yield from _given(before, after, giver, owner, item)


def _given(
    before: GatedCluster,
    after: GatedCluster,
    giver: Kustomization,
    owner: Kustomization,
    item: Object,
) -> Iterator[Finding]:
    # One that is gone prunes nothing if it was closed, and else its policies are open.
    held = after if giver.key in after.cluster.kustomizations else before
    later = after.holds(owner) - held.holds(giver)
    if later:
        message = (
            f"moved from {giver} to {owner}, which changes {described(later)}: until then "
            f"pruning deletes it; first annotate it with {KUSTOMIZE}/prune: disabled in its old "
            "place, wait until that is applied, then move it"
        )
        yield Finding(rules.OBJECT_MOVED, message, item)


def applied_by(gated: GatedCluster) -> dict[Place, list[Owned]]:
    """Return who applies each object."""
    found: dict[Place, list[Owned]] = {}
    for each, item in gated.applied():
        # Objects of two clusters may be called alike, such as the namespace of a tenant.
        place = gated.cluster.destination(each), item.identity
        found.setdefault(place, []).append((each, item))
    return found


def prunes(giver: Kustomization) -> bool:
    """Whether a Kustomization deletes what it applies no more.

    The root is taken to, as `flux bootstrap` makes it.
    """
    if giver.own is None:
        return True
    return giver.own.get("spec", "prune") is True
