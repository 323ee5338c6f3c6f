"""What two policies gate in one cluster.

They are looked at together, or one was rendered around the others.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from krm_windows import inventory
from krm_windows.checks import overlap
from krm_windows.checks.overlap import Claim
from krm_windows.checks.report import Report
from krm_windows.inventory import about, file_of
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy, kinds
from krm_windows.policy.load import Loaded, load
from krm_windows.preview.versions import Choice
from krm_windows.results import Result, fails, sort


@dataclass(frozen=True, slots=True)
class Shared:
    """What a policy has in common with another in a cluster, None where neither names one."""

    policy: str
    cluster: str | None
    result: Result


@dataclass(frozen=True)
class _Given:
    config: KubeObject
    loaded: Loaded

    @property
    def name(self) -> str:
        return f"{self.config.namespace}/{self.config.name}"

    def claim(self, cluster: str | None, items: list[KubeObject]) -> Claim | None:
        """Return what it claims in a cluster; None where it does not reach that, or is wrong."""
        if self.loaded.clusters and cluster is not None and cluster not in self.loaded.clusters:
            return None
        # One that names no clusters reaches all, as it stands.
        policy, found = self.loaded.for_cluster(cluster if self.loaded.clusters else None)
        if policy is None or fails(found):
            return None
        plan, _ = compile_policy(policy, cluster, inventory.take(items, kinds(policy)))
        return replace(Claim.of(plan.timetable), cluster=cluster)


def found(
    configs: Sequence[KubeObject],
    items: list[KubeObject],
    choice: Choice,
    rendered: Collection[Claim],
) -> list[Shared]:
    """Return what the policies have in common with each other.

    And with what was rendered for a cluster they name. Where none is chosen, every cluster that one
    of them names is looked at.
    """
    given = [_Given(config, load(config.node, file=file_of(config))) for config in configs]
    every = sorted({name for each in given for name in each.loaded.clusters})
    clusters: list[str | None] = (
        [choice.cluster] if choice.cluster is not None else [*every] or [None]
    )
    shared: list[Shared] = []
    for cluster in clusters:
        claims = {each.name: claim for each in given if (claim := each.claim(cluster, items))}
        others = [claim for claim in rendered if cluster is not None and claim.cluster == cluster]
        shared += [
            Shared(own.policy, cluster, result)
            for own, result in overlap.among(list(claims.values()))
        ]
        for own in claims.values():
            around = [other for other in others if other.policy not in claims]
            shared += [Shared(own.policy, cluster, result) for result in overlap.check(own, around)]
    return shared


def added(report: Report, shared: Sequence[Shared]) -> Report:
    """Return a report with what its policy has in common with others in its clusters."""
    own = [each for each in shared if each.policy == report.policy]
    results = [
        each.result for each in own if not report.clusters or each.cluster in report.clusters
    ]
    return replace(report, results=tuple(sort([*report.results, *about(report.item, results)])))
