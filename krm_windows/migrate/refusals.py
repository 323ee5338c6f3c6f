"""What speaks against policies before they are written, by the code of `render` and of `check`.

The clusters are those without the old windows, as they will be when a policy is rendered.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from krm_windows import rules
from krm_windows.checks import repository
from krm_windows.flux import Cluster, Gate, Object
from krm_windows.flux.model import ObjectIdentity
from krm_windows.flux.policies import TARGETS
from krm_windows.function import window_policy
from krm_windows.krm import KubeObject
from krm_windows.migrate import policies
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.gating import Gating
from krm_windows.migrate.policies import Policy, Windows
from krm_windows.policy.model import KIND
from krm_windows.results import Result, Severity, fails
from krm_windows.rules import RULES, Rule

Refusal = tuple[Rule, str]
_RULES = {rule.id: rule for rule in RULES}
# Closed, these would let no change of the windows arrive, so no policy can have them. What is
# refused for another reason is for the author to decide.
_LOCKS = (rules.SELF_LOCK, rules.SOURCE_SHARED)


def without_locks(
    gatings: Iterable[Gating], made: Iterable[Policy], after: Mapping[str, Cluster]
) -> tuple[list[Gating], list[Result]]:
    """Leave out the targets that deliver the windows, and name each."""
    locked: dict[str, set[ObjectIdentity]] = {}
    results: list[Result] = []
    for policy, name, windows in _each(made):
        cluster = after[windows.root]
        # Mostly there is none, and no target has to be looked at alone.
        if any(rule in _LOCKS for rule, _ in _refusals(policy.content, name, cluster)):
            found = dict(_locks(policy, windows, cluster))
            locked.setdefault(windows.root, set()).update(found)
            results += _left_out(windows, found)
    return [_without(each, locked.get(each.root, set())) for each in gatings], results


def check(made: Iterable[Policy], after: Mapping[str, Cluster]) -> Iterator[Result]:
    """Yield why policies would be refused on their clusters, as errors."""
    for policy, name, windows in _each(made):
        location = windows.pairs[0].closes.location
        for rule, why in _refusals(policy.content, name, after[windows.root]):
            yield found_at(rule, location, f"the policy {policy.name} would be refused: {why}")


def _each(made: Iterable[Policy]) -> Iterator[tuple[Policy, str | None, Windows]]:
    for policy in made:
        for name, windows in policy.draft.clusters.items():
            yield policy, name, windows


def _without(gating: Gating, locked: set[ObjectIdentity]) -> Gating:
    groups = {}
    for key, group in gating.groups.items():
        targets = tuple(each for each in group.targets if each not in locked)
        if targets:
            groups[key] = replace(group, targets=targets)
    return replace(gating, groups=groups)


def _locks(
    policy: Policy, windows: Windows, cluster: Cluster
) -> Iterator[tuple[ObjectIdentity, str]]:
    """Yield the targets that a policy of them alone would be refused for, with the reason."""
    for target in windows.targets:
        for rule, why in _refusals(policies.with_target(policy, target), None, cluster):
            if rule in _LOCKS:
                yield target, why


def _left_out(windows: Windows, found: Mapping[ObjectIdentity, str]) -> Iterator[Result]:
    edge = windows.pairs[0].closes
    for target, why in found.items():
        message = f"{target}, which {edge.job} suspends, is left out of the policy: {why}"
        yield found_at(rules.MIGRATE_SELF_LOCK, edge.location, message)
    if len(found) == len(windows.targets):
        message = f"{edge.job} suspends nothing else that a policy could gate"
        yield found_at(rules.MIGRATE_UNTRANSLATED, edge.location, message)


def _refusals(content: Mapping[str, object], name: str | None, cluster: Cluster) -> list[Refusal]:
    """Return the errors that a policy causes on a cluster."""
    config = KubeObject.from_value(content)
    compiled = window_policy.compile_onto(config, [o.item for o in cluster.first.objects], name)
    if compiled.application is None or fails(compiled.results):
        return [(_RULES[each.rule], _said(each)) for each in compiled.results if fails([each])]
    gate = Gate(
        policy=f"{config.namespace}/{config.name}",
        targets=compiled.application.plan.timetable.targets,
        manifest=Object.of(config),
        path=TARGETS,
        # It is rendered into the cluster's own directory.
        delivered_by=cluster.first.key,
    )
    caused = _errors(replace(cluster, gates=(*cluster.gates, gate)), gate.namespace)
    # What is wrong with the repository anyway speaks against no policy.
    return [each for each in caused if each not in _errors(cluster, gate.namespace)]


def _said(result: Result) -> str:
    about = result.resource_ref
    # What is about the policy names the target itself.
    if about is None or about.kind == KIND:
        return result.message
    return f"{about.kind} {about.namespace}/{about.name}: {result.path} {result.message}"


def _errors(cluster: Cluster, trusted: str) -> list[Refusal]:
    # That nothing applies a target is a warning of its own, and the policy has `mustExist: false`.
    ignored = [rules.TARGET_MISSING]
    # What a root applies that is not in Git is a guess.
    if cluster.first.own is None:
        ignored.append(rules.OBJECT_SHARED)
    # The CronJobs have the rights already that a policy in their namespace would have.
    return [
        (each.rule, ("" if each.path == TARGETS else f"{each.about} {each.path}: ") + each.message)
        for each in repository.of_cluster(cluster, [trusted])
        if each.rule.severity is Severity.ERROR
        and each.rule not in ignored
        # One of the steps is to remove it.
        and (each.rule, each.current) != (rules.TARGET_SUSPEND, "false")
    ]
