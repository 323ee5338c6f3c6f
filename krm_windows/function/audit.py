"""A policy audited: loaded and compiled for a cluster, and looked at over the coming years."""

from krm_windows import inventory, rules
from krm_windows.checks.audit import Scope, audit
from krm_windows.function.window_policy import about, load_policy
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy, kinds
from krm_windows.results import Result, fails, sort

# What hangs on the resources beside a policy is the build's matter, but for what decides when it is open.
_TIMELY = {
    rules.TIMEOUT_UNKNOWN.id,
    rules.KUBECTL_LIFTS.id,
    rules.KUBECTL_UNION.id,
    rules.KUBECTL_DEADLINE.id,
}


def findings(config: KubeObject, items: list[KubeObject], cluster: str | None, scope: Scope) -> list[Result]:
    """Return all that is to be said of a policy, sorted; one that is wrong is not audited."""
    policy, name, found = load_policy(config, cluster)
    if policy is None:
        return sort(found)
    plan, planned = compile_policy(policy, name, inventory.take(items, kinds(policy)))
    timely = [result for result in planned if result.tags["rule"] in _TIMELY]
    audited = [] if fails(timely) else list(audit(plan, policy.spec.interval, scope))
    return sort([*found, *about(config, [*timely, *audited])])
