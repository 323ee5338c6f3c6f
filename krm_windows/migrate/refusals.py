"""What speaks against policies before they are written, by the code of `render` and of `check`.

The clusters are those without the old windows, as they will be when a policy is rendered.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from krm_windows import rules
from krm_windows.checks import repository
from krm_windows.flux import Cluster, Finding, Gate, Object
from krm_windows.flux.model import Identity
from krm_windows.flux.policies import TARGETS
from krm_windows.function import window_policy
from krm_windows.krm import KubeObject
from krm_windows.migrate.jobs import ClusterJobs
from krm_windows.migrate.policies import Policy
from krm_windows.results import Severity
from krm_windows.rules import RULES, Rule

_RULES = {rule.id: rule for rule in RULES}


def check(
    made: Collection[Policy], clusters: Iterable[ClusterJobs], removed: Collection[Identity]
) -> Iterator[Finding]:
    """Yield why policies would be refused on their clusters, which lose what is `removed`."""
    for each in clusters:
        after = _without(each.cluster, removed)
        jobs = {job.item.name: job.item for job in each.jobs}
        for policy in made:
            if each.name not in policy.clusters:
                continue
            about = jobs[policy.clusters[each.name].windows[0].jobs[1]]
            for rule, why in _refusals(policy.content, each.name, after):
                message = f"the policy {policy.name} would be refused: {why}"
                yield Finding(rule, message, about, "spec.schedule", cluster=after.name)


def _without(cluster: Cluster, removed: Collection[Identity]) -> Cluster:
    kustomizations = {}
    for key, each in cluster.kustomizations.items():
        objects = tuple(item for item in each.objects if item.identity not in removed)
        kustomizations[key] = replace(each, objects=objects)
    return replace(cluster, kustomizations=kustomizations)


def _refusals(
    content: Mapping[str, object], name: str | None, cluster: Cluster
) -> Iterator[tuple[Rule, str]]:
    """Yield the errors that a policy causes on a cluster."""
    config = KubeObject.from_value(content)
    compiled = window_policy.compile_onto(config, [o.item for o in cluster.first.objects], name)
    for result in compiled.results:
        if result.severity is Severity.ERROR:
            yield _RULES[result.rule], str(result)
    if compiled.application is None:
        return
    gate = Gate(
        policy=f"{config.namespace}/{config.name}",
        targets=compiled.application.plan.timetable.targets,
        manifest=Object.of(config),
        path=TARGETS,
        # It is rendered into the cluster's own directory.
        delivered_by=cluster.first.key,
    )
    # What is wrong with the repository anyway speaks against no policy; and the CronJobs have the
    # rights already that a policy in their namespace would have.
    before = set(repository.of_cluster(cluster, [config.namespace]))
    gated = replace(cluster, gates=(*cluster.gates, gate))
    for each in repository.of_cluster(gated, [config.namespace]):
        if each not in before and _counts(each, cluster):
            yield each.rule, f"{each.about} {each.path}: {each.message}"


def _counts(finding: Finding, cluster: Cluster) -> bool:
    """Whether an error speaks against a policy that is made of CronJobs."""
    # What a root applies that is not in Git is a guess.
    if finding.rule is rules.OBJECT_SHARED and cluster.first.own is None:
        return False
    # That nothing applies a target is a warning of its own, and the policy has `mustExist: false`.
    if finding.rule is rules.TARGET_MISSING or finding.rule.severity is not Severity.ERROR:
        return False
    # One of the steps is to remove it.
    return (finding.rule, finding.current) != (rules.TARGET_SUSPEND, "false")
