"""What two policies gate in one cluster.

They are read together, or one was rendered around the others.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from krm_windows.checks import overlap
from krm_windows.checks.overlap import Claim
from krm_windows.checks.report import Report
from krm_windows.inventory import about
from krm_windows.krm import KubeObject
from krm_windows.plan.given import Given
from krm_windows.preview.versions import Choice
from krm_windows.results import Result, sort


class SharedTarget(NamedTuple):
    """What a policy has in common with another in a cluster, None where neither names one."""

    policy: str
    cluster: str | None
    result: Result


def found(
    configs: Sequence[KubeObject],
    items: list[KubeObject],
    choice: Choice,
    rendered: Collection[Claim],
) -> list[SharedTarget]:
    """Return what the policies have in common with each other, or with what was rendered.

    That was rendered for a cluster which one of them names. Where no cluster is chosen, every
    cluster that one of them names is read.
    """
    given = list(map(Given.of, configs))
    shared: list[SharedTarget] = []
    for cluster in _clusters(given, choice):
        own: dict[str, Claim] = {}
        for each in given:
            timetable = each.timetable(cluster, items)
            if timetable:
                own[each.name] = Claim.of(timetable)._replace(cluster=cluster)
        # What was rendered was checked among itself when it was.
        results = list(overlap.among(list(own.values())))
        for claim in own.values():
            # What is given takes the place of what was rendered from it before.
            around = (
                other
                for other in rendered
                if cluster is not None and other.cluster == cluster and other.policy not in own
            )
            results += ((claim, result) for result in overlap.conflicts(claim, around))
        shared += (SharedTarget(claim.policy, cluster, result) for claim, result in results)
    return shared


def _clusters(given: Sequence[Given], choice: Choice) -> Sequence[str | None]:
    """Return the cluster chosen, or all that a policy names, or None where none does."""
    if choice.cluster is not None:
        return [choice.cluster]
    # Where no policy names a cluster, they all hold for the one that there is.
    return sorted(set(chain.from_iterable(each.loaded.clusters for each in given))) or [None]


def added(report: Report, shared: Sequence[SharedTarget]) -> Report:
    """Return a report with what its policy has in common with others in its clusters."""
    results = [
        each.result
        for each in shared
        # A report without clusters is of a policy that names none, so of all.
        if each.policy == report.policy and (not report.clusters or each.cluster in report.clusters)
    ]
    if report.item is not None:
        results = about(report.item, results)
    return replace(report, results=tuple(sort([*report.results, *results])))
