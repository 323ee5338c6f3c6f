"""Proof on a repository: what its policies gate cannot conflict with what stays live.

Facts in, findings out.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime

from krm_windows import rules
from krm_windows.checks.repository import (
    arrival,
    delivered,
    gates,
    movement,
    order,
    ownership,
    references,
    removal,
    rights,
    unapplied,
)
from krm_windows.checks.repository.gated import GatedCluster, file_of
from krm_windows.flux import Cluster, Survey
from krm_windows.flux.model import Finding

_CHECKS = (
    gates.misgated,
    arrival.blocked,
    delivered.hindered,
    order.inverted,
    ownership.conflicting,
    references.crossing,
    movement.moving,
)

__all__ = ["Finding", "findings", "of_cluster"]


def findings(
    survey: Survey,
    before: Survey | None = None,
    trusted: Collection[str] = (),
    at: datetime | None = None,
) -> Iterator[Finding]:
    """Yield every finding on a repository, and on what changed since it was as `before`.

    The change is judged as if it were merged `at` a time, which without an offset is meant in the
    zone of each policy.

    Policies in the namespaces that are `trusted` may gate targets in others, though they are a
    tenant's.
    """
    # What was not understood while the repository was read.
    yield from survey.notices
    older: dict[str, GatedCluster] = {}
    # By name: between two commits a cluster is the one that is called the same.
    if before:
        older = {cluster.name: GatedCluster(cluster) for cluster in before.clusters}
    for cluster in survey.clusters:
        gated = GatedCluster(cluster)
        # A cluster that is new has nothing that could have moved.
        for finding in _of_cluster(gated, older.get(cluster.name), trusted):
            yield replace(finding, cluster=cluster.name)
    if before is not None and at is not None:
        yield from removal.left_closed(before, survey, at)
    yield from delivered.foreign(survey)
    yield from unapplied.without_effect(survey)
    yield from _ungated(survey)


def of_cluster(cluster: Cluster, trusted: Collection[str]) -> Iterator[Finding]:
    """Yield every finding on a cluster alone, as `findings` does."""
    yield from _of_cluster(GatedCluster(cluster), None, trusted)


def _of_cluster(
    gated: GatedCluster,
    older: GatedCluster | None,
    trusted: Collection[str],
) -> Iterator[Finding]:
    for check_ in _CHECKS:
        yield from check_(gated)
    yield from rights.doubtful(gated, trusted)
    if older is not None:
        yield from ownership.moved(older, gated)


def _ungated(survey: Survey) -> Iterator[Finding]:
    """Yield the clusters without a policy, where others have one."""
    ungated = [cluster for cluster in survey.clusters if not cluster.gates]
    # Where no cluster has a policy, nobody means to have one.
    if len(ungated) == len(survey.clusters):
        return
    for cluster in ungated:
        message = "has no policy: every commit is applied at once"
        file = file_of(cluster)
        yield Finding(rules.CLUSTER_UNGATED, message, file=file, cluster=cluster.name)
