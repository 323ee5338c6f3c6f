"""A policy that was read, and what it gates in a cluster."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from krm_windows import inventory
from krm_windows.gate.timetable import Target
from krm_windows.inventory import file_of
from krm_windows.krm import KubeObject
from krm_windows.plan.compile import compile_timetable, kinds
from krm_windows.policy.load import Loaded, load
from krm_windows.results import fails, named
from krm_windows.schedule.timetable import Timetable


class Given(NamedTuple):
    """A policy that was read, whatever is wrong with it."""

    config: KubeObject
    loaded: Loaded

    @classmethod
    def of(cls, config: KubeObject) -> "Given":
        """Read a policy."""
        return cls(config, load(config.node, file=file_of(config)))

    @property
    def name(self) -> str:
        """Its name, as `namespace/name`."""
        return named(self.config.namespace, self.config.name)

    @property
    def own_names(self) -> list[str]:
        """Its name, and those that it had before."""
        former = self.config.get("spec", "formerNames")
        return [self.name, *(map(str, former) if isinstance(former, list) else ())]

    def timetable(self, cluster: str | None, items: list[KubeObject]) -> Timetable | None:
        """Return what it is in a cluster.

        None where it does not reach that, or is wrong, or has labels of which nothing is seen.
        """
        clusters = self.loaded.clusters
        if clusters and cluster is not None and cluster not in clusters:
            return None
        # One that names no clusters reaches all, as it is.
        version = None
        if clusters:
            version = cluster
        policy, found = self.loaded.for_cluster(version)
        if policy is None or fails(found):
            return None
        # Names are known without objects; by labels a policy claims what is at hand.
        if not items and any(each.match_labels for each in policy.spec.targets):
            return None
        return compile_timetable(policy, cluster, inventory.take(items, kinds(policy)))[0]


def gated(
    policies: Iterable[Given], cluster: str | None, items: list[KubeObject], but: Collection[str]
) -> Iterator[Target]:
    """Yield what policies gate in a cluster, but for those of some names."""
    for each in policies:
        held = each.timetable(cluster, items)
        if held and each.name not in but:
            yield from held.targets
