"""Who applies what.

An object has one Kustomization, and moves to another only with pruning in mind.
"""

from collections.abc import Collection, Iterator

from krm_windows import rules
from krm_windows.checks.repository.gated import GatedCluster, Owned, described
from krm_windows.flux import Kustomization, Object
from krm_windows.flux.layers import ABSTAINS, LEFT
from krm_windows.flux.model import Finding, Identity
from krm_windows.gateable import KUSTOMIZE
from krm_windows.inventory import CHANGE_CLASS

# The cluster that an object is on, empty for the one that is checked, and its identity there.
Place = tuple[tuple[str, ...], Identity]


def conflicting(gated: GatedCluster) -> Iterator[Finding]:
    """Yield the objects that Kustomizations of different classes or policies apply."""
    for (_, identity), found in applied_by(gated).items():
        # Most have one owner, and are not read for it; a name with a variable is one that only the
        # cluster knows.
        if len(found) == 1 or any("${" in part for part in identity):
            continue
        # Some do not write what is there already.
        acting = [(each, item) for each, item in found if not says(item, ABSTAINS)]
        for other, item in acting[1:]:
            owner, _ = acting[0]
            # Of one class and the same windows, both apply the same version.
            if _class(gated, other) != _class(gated, owner):
                message = (
                    f"is applied by {owner} ({described(gated.holds(owner))}) and by {other} "
                    f"({described(gated.holds(other))}): an older version overwrites a newer one; "
                    "remove it from all but one of them"
                )
                yield Finding(rules.OBJECT_SHARED, message, item)


def says(item: Object, notes: Collection[tuple[str, str]]) -> bool:
    """Whether an object has one of some annotations, with that value."""
    return any(item.note(key) == text for key, text in notes)


def _class(gated: GatedCluster, each: Kustomization) -> tuple[frozenset[str], str | None]:
    """Return what decides when a Kustomization changes: the policies, and the class it names."""
    # The root may be applied by hand, and then no file has it.
    return gated.holds(each), each.own.note(CHANGE_CLASS) if each.own else None


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
            # Whoever still applies it has given nothing up; nothing is deleted by who never
            # deletes, or where the object says that it stays.
            if giver.key in keys or not prunes(giver) or says(given, LEFT):
                continue
            # One that is gone prunes nothing if it was closed, and else its policies are open.
            held = after if giver.key in after.cluster.kustomizations else before
            later = after.holds(owner) - held.holds(giver)
            if later:
                message = (
                    f"moved from {giver} to {owner}, which changes {described(later)}: until then "
                    f"pruning deletes it; first annotate it with {KUSTOMIZE}/prune: disabled in "
                    "its old place, wait until that is applied, then move it"
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
    return giver.own is None or giver.own.get("spec", "prune") is True
