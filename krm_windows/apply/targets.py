"""The gated objects in the stream.

No `suspend` in Git that fights the window, and a note of who governs them.
"""

from collections.abc import Iterable, Iterator

from krm_windows import rules
from krm_windows.emit.labels import GOVERNED_BY
from krm_windows.gate.timetable import Target
from krm_windows.inventory import Inventory, Resource
from krm_windows.krm import KubeObject, mentioning
from krm_windows.plan.given import Given
from krm_windows.plan.model import Plan
from krm_windows.policy.model import KIND
from krm_windows.results import Result


def check(plan: Plan, inventory: Inventory, items: list[KubeObject]) -> Iterator[Result]:
    """Yield what gated objects say against this plan, and what will change in them.

    `items` are the whole stream: another policy may be there, and say that it gates them no more.
    """
    for target, resource in visible(plan.timetable.targets, inventory):
        yield from _suspension(plan, target, resource)
        yield from _gated_by_another(plan, target, resource, items)


def edit(plan: Plan, inventory: Inventory) -> None:
    """Remove `suspend: false` from the gated objects and write down which policy governs them."""
    for target, resource in visible(plan.timetable.targets, inventory):
        # Absent and false are equal to Flux, but false from Git is put back at every reconcile.
        if resource.item.get(*target.field) is False:
            resource.item.remove(*target.field)
        # An object that has the note already keeps every byte.
        if resource.item.annotations.get(GOVERNED_BY) != plan.policy:
            resource.item.set_annotation(GOVERNED_BY, plan.policy)


def release(
    plan: Plan,
    items: Iterable[KubeObject],
    inventory: Inventory,
) -> None:
    """Remove the note from objects that this policy does not gate any more."""
    # An annotation of ours on what is gated no longer was left by an older build.
    gated = {id(resource.item) for _, resource in visible(plan.timetable.targets, inventory)}
    # To search the text is cheaper than to parse every item.
    for item in mentioning(items, GOVERNED_BY):
        if id(item) in gated:
            continue
        # The note of another policy is that policy's to remove.
        if item.annotations.get(GOVERNED_BY) not in plan.own_names:
            continue
        # No empty mapping is left behind, as there was none before.
        if item.annotations.keys() == {GOVERNED_BY}:
            item.remove("metadata", "annotations")
        else:
            item.remove("metadata", "annotations", GOVERNED_BY)


def visible(targets: Iterable[Target], inventory: Inventory) -> Iterator[tuple[Target, Resource]]:
    """Yield each target that is in the stream, with its object."""
    for target in targets:
        resource = inventory.find(target.group, target.kind, target.namespace, target.name)
        if resource is not None:
            yield target, resource


def _suspension(
    plan: Plan,
    target: Target,
    resource: Resource,
) -> Iterator[Result]:
    path = ".".join(target.field)
    suspended = resource.item.get(*target.field)
    waits = plan.timetable.first_apply == "Wait"
    if suspended is False:
        message = f"removed: it would undo every close by {plan.policy} at the next reconcile"
        yield resource.result(rules.SUSPEND_FALSE, message, path=path, current="false")
    elif suspended is True and not waits:
        message = (
            f"is true in Git, so {plan.policy} could never open this target; remove the field, "
            "or set `firstApply: Wait` if it is meant only for the first apply"
        )
        yield resource.result(rules.SUSPEND_TRUE, message, path=path, current="true")
    if suspended is not True and waits:
        message = (
            "must be true in Git for `firstApply: Wait`; otherwise the first apply does not wait"
        )
        yield resource.result(rules.WAIT_NOT_SUSPENDED, message, path=path, proposed="true")


def _gated_by_another(
    plan: Plan, target: Target, resource: Resource, items: list[KubeObject]
) -> Iterator[Result]:
    """Refuse a target that another policy has annotated as its own, and still gates."""
    # An older name of this policy counts as its own.
    policy = resource.item.annotations.get(GOVERNED_BY)
    if policy in (None, *plan.own_names):
        return

    given = [Given.of(item) for item in mentioning(items, KIND) if item.kind == KIND]
    held = [
        each.timetable(plan.timetable.cluster, items) for each in given if policy in each.own_names
    ]
    # Where the other policy is in the stream, too, the note may be older than that.
    if not held or None in held or any(target in each.targets for each in held if each):
        message = (
            f"is already gated by the policy {policy}; two policies must not gate the same "
            f"target, so remove it from {policy} or from {plan.policy}"
        )
        yield resource.result(
            rules.TWO_POLICIES,
            message,
            path=f"metadata.annotations.{GOVERNED_BY}",
            current=policy,
        )
