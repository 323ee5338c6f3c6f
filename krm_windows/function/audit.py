"""A policy audited: loaded and compiled for a cluster, and looked at over the coming years."""

from krm_windows import inventory, rules
from krm_windows.checks.audit import Scope, audit
from krm_windows.checks.report import Report
from krm_windows.function.window_policy import about, load_policy
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy, kinds
from krm_windows.policy.model import WindowPolicy
from krm_windows.results import Result, fails, sort

# What hangs on the resources beside a policy is the build's matter, but for what decides when it is open.
_TIMELY = {
    rules.TIMEOUT_UNKNOWN.id,
    rules.KUBECTL_LIFTS.id,
    rules.KUBECTL_UNION.id,
    rules.KUBECTL_DEADLINE.id,
}


def report(config: KubeObject, items: list[KubeObject], cluster: str | None, scope: Scope) -> Report:
    """Return all that is to be said of a policy, sorted; one that is wrong is not audited."""
    policy, name, found = load_policy(config, cluster)
    results = found if policy is None else [*found, *about(config, _audited(policy, name, items, scope))]
    return Report(
        policy=f"{config.namespace}/{config.name}",
        cluster=name,
        first=scope.first,
        last=scope.last,
        results=tuple(sort(results)),
        item=config,
    )


def _audited(policy: WindowPolicy, cluster: str | None, items: list[KubeObject], scope: Scope) -> list[Result]:
    plan, planned = compile_policy(policy, cluster, inventory.take(items, kinds(policy)))
    timely = [result for result in planned if result.tags["rule"] in _TIMELY]
    return timely if fails(timely) else [*timely, *audit(plan, policy.spec.interval, scope)]
