"""A policy audited: loaded and compiled for clusters, and looked at over the coming years."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache

from krm_windows import inventory, rules
from krm_windows.checks.audit import Scope, audit
from krm_windows.checks.report import Report
from krm_windows.inventory import about, file_of
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy, kinds
from krm_windows.plan.model import Plan
from krm_windows.policy.load import load
from krm_windows.policy.model import WindowPolicy
from krm_windows.preview.versions import Choice
from krm_windows.results import Result, fails, sort

# What hangs on the resources beside a policy is the build's matter, but for what decides when it is
# open.
_TIMELY = {
    rules.TIMEOUT_UNKNOWN.id,
    rules.KUBECTL_LIFTS.id,
    rules.KUBECTL_UNION.id,
    rules.KUBECTL_DEADLINE.id,
}


@dataclass(frozen=True, slots=True)
class _Version:
    """A policy as some clusters have it.

    `plan` is None where it is wrong; `results` are what was found.
    """

    plan: Plan | None
    interval: timedelta
    results: tuple[Result, ...]

    # Nothing can be said of times that are not known.
    def findings(self, scope: Scope) -> Iterable[Result]:
        if self.plan is None:
            return ()
        return _findings(_Audited(repr(self.plan), self.interval, scope, self.plan))


@dataclass(frozen=True, slots=True)
class _Audited:
    """What an audit says follows from: the plan by all it says, and the years."""

    text: str
    interval: timedelta
    scope: Scope
    plan: Plan = field(compare=False)


# A service audits a change when it is previewed and when it is made, and clusters that it leaves
# alone with every change.
@lru_cache(maxsize=512)
def _findings(audited: _Audited) -> tuple[Result, ...]:
    return tuple(audit(audited.plan, audited.interval, audited.scope))


def reports(
    config: KubeObject,
    items: list[KubeObject],
    choice: Choice,
    scope: Scope,
) -> list[Report]:
    """Return all that is to be said of a policy for the clusters chosen.

    There is one report for the clusters that have it alike. A policy that is wrong is not audited.
    """
    loaded = load(config.node, file=file_of(config))
    clusters: dict[str, tuple[_Version, list[str]]] = {}
    for name in choice.clusters(loaded):
        # Clusters that have it alike share a report; a plan is compared by all it says.
        version = _version(config, items, *loaded.for_cluster(name))
        _, names = clusters.setdefault(repr(version), (version, []))
        if name:
            names.append(name)
    return [_report(config, version, names, scope) for version, names in clusters.values()]


def _report(
    config: KubeObject,
    version: _Version,
    clusters: Iterable[str],
    scope: Scope,
) -> Report:
    audited = about(config, list(version.findings(scope)))
    return Report(
        policy=f"{config.namespace}/{config.name}",
        clusters=tuple(clusters),
        first=scope.first,
        last=scope.last,
        results=tuple(sort([*version.results, *audited])),
        item=config,
    )


def _version(
    config: KubeObject,
    items: list[KubeObject],
    policy: WindowPolicy | None,
    found: tuple[Result, ...],
) -> _Version:
    """Compile a policy as some clusters have it."""
    if policy is None or fails(found):
        return _Version(None, timedelta(), found)
    # No cluster: its name changes nothing of when the policy is open.
    plan, planned = compile_policy(policy, None, inventory.take(items, kinds(policy)))
    kept = [result for result in planned if result.tags["rule"] in _TIMELY]
    timely = about(config, kept)
    results = (*found, *timely)
    if fails(timely):
        return _Version(None, policy.spec.interval, results)
    return _Version(plan, policy.spec.interval, results)
