"""What two policies gate in one cluster.

They are read together, or one was rendered around the others.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from krm_windows.checks import overlap
from krm_windows.checks.overlap import Claim
from krm_windows.checks.report import Report
from krm_windows.inventory import about
from krm_windows.krm import KubeObject
from krm_windows.plan.given import Given
from krm_windows.preview.versions import Choice
from krm_windows.results import Result, sort


@dataclass(frozen=True, slots=True)
class Shared:
    """What a policy has in common with another in a cluster, None where neither names one."""

    policy: str
    cluster: str | None
    result: Result


def found(
    configs: Sequence[KubeObject],
    items: list[KubeObject],
    choice: Choice,
    rendered: Collection[Claim],
) -> list[Shared]:
    """Return what the policies have in common with each other, or with what was rendered.

    That was rendered for a cluster which one of them names. Where no cluster is chosen, every
    cluster that one of them names is read.
    """
    given = list(map(Given.of, configs))
    shared: list[Shared] = []
    for cluster in _clusters(given, choice):
        claims = {each.name: _claim(each, cluster, items) for each in given}
        own = [claim for claim in claims.values() if claim is not None]
        around = []
        for claim in rendered:
            if cluster is None or claim.cluster != cluster:
                continue
            # What is given takes the place of what was rendered from it before.
            if claims.get(claim.policy) is None:
                around.append(claim)
        shared += _shared(cluster, own, around)
    return shared


def _claim(given: Given, cluster: str | None, items: list[KubeObject]) -> Claim | None:
    timetable = given.timetable(cluster, items)
    return Claim.of(timetable)._replace(cluster=cluster) if timetable else None


def _clusters(given: Sequence[Given], choice: Choice) -> Sequence[str | None]:
    """Return the cluster chosen, or all that a policy names, or None where none does."""
    if choice.cluster is not None:
        return [choice.cluster]
    named: set[str] = set()
    for each in given:
        named.update(each.loaded.clusters)
    # Where no policy names a cluster, they all hold for the one that there is.
    return sorted(named) or [None]


def _shared(
    cluster: str | None,
    own: Sequence[Claim],
    around: Sequence[Claim],
) -> Iterator[Shared]:
    """Yield what claims have in common with each other, and then with those around."""
    # What was rendered was checked among itself when it was.
    for claim, result in overlap.among(list(own)):
        yield Shared(claim.policy, cluster, result)
    for claim in own:
        for result in overlap.conflicts(claim, around):
            yield Shared(claim.policy, cluster, result)


def added(report: Report, shared: Sequence[Shared]) -> Report:
    """Return a report with what its policy has in common with others in its clusters."""
    results: list[Result] = []
    for each in shared:
        if each.policy != report.policy:
            continue
        # A report without clusters is of a policy that names none, so of all.
        if not report.clusters or each.cluster in report.clusters:
            results.append(each.result)
    if report.item is not None:
        results = about(report.item, results)
    return replace(report, results=tuple(sort([*report.results, *results])))
