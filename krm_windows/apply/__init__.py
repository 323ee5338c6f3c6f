"""A plan onto the items of a stream: a small module for each thing that is done to them."""

from collections.abc import Iterable

from krm_windows import emit
from krm_windows.apply import objects, place, targets
from krm_windows.inventory import Inventory, Resource, resource_of
from krm_windows.krm import KubeObject
from krm_windows.plan.model import Plan
from krm_windows.results import Result


def check(plan: Plan, items: Iterable[KubeObject], inventory: Inventory) -> list[Result]:
    """Return what the stream says against this plan; nothing is changed."""
    found = objects.standing(plan, items)
    return [*targets.check(plan, inventory), *objects.check(plan, emit.objects(plan), found)]


def adopted(plan: Plan, items: Iterable[KubeObject]) -> tuple[Resource, ...]:
    """Return the CronJobs of others that the policy takes over by name."""
    return tuple(resource_of(item) for item in objects.claimed(plan, objects.standing(plan, items)))


def edit(plan: Plan, items: list[KubeObject], inventory: Inventory) -> None:
    """Put the plan into the stream: its order stays, new objects come at the end."""
    targets.edit(plan, inventory)
    targets.release(plan, items, inventory)
    kept = objects.edit(emit.objects(plan), objects.standing(plan, items), items)
    known = {id(item) for item in items}
    place.place(plan, [item for item in kept if id(item) not in known], items)
    items[:] = kept
