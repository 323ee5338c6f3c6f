"""A plan onto the items of a stream: a small module for each thing that is done to them."""

from dataclasses import dataclass
from functools import cached_property

from krm_windows import emit
from krm_windows.apply import annotations, objects, paths, targets
from krm_windows.apply.objects import Existing
from krm_windows.emit import Manifest
from krm_windows.inventory import Inventory, Resource, resource_of
from krm_windows.krm import KubeObject
from krm_windows.plan.model import Plan
from krm_windows.results import Result


@dataclass(frozen=True)
class Application:
    """A plan and the stream that it is to be put onto.

    First asked what prevents it, then made so.
    """

    plan: Plan
    items: list[KubeObject]
    inventory: Inventory

    @cached_property
    def wanted(self) -> list[Manifest]:
        """The objects that the plan yields."""
        return emit.objects(self.plan)

    @cached_property
    def _found(self) -> Existing:
        return objects.existing(self.plan, self.items)

    @property
    def adopted(self) -> tuple[Resource, ...]:
        """The CronJobs of others that the policy takes over by name."""
        return tuple(map(resource_of, objects.claimed(self.plan, self._found)))

    def check(self) -> list[Result]:
        """Return what the stream says against the plan; nothing is changed."""
        return [
            *targets.check(self.plan, self.inventory, self.items),
            *annotations.check(self.items),
            *objects.check(self.plan, self.wanted, self._found),
        ]

    def edit(self) -> None:
        """Put the plan into the stream: its order stays, new objects come at the end."""
        targets.edit(self.plan, self.inventory)
        targets.release(self.plan, self.items, self.inventory)
        directory = paths.directory(self.plan, self.items)
        # In place: the caller's list is the stream itself.
        self.items[:] = objects.edit(self.wanted, self._found, self.items, directory)
