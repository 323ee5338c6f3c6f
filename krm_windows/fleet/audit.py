"""A policy audited: loaded and compiled for clusters, and looked at over the coming years."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from krm_windows import inventory, rules
from krm_windows.checks.audit import Scope, audit
from krm_windows.checks.report import Report, on_policy
from krm_windows.inventory import Resources, about, file_of
from krm_windows.krm import KubeObject
from krm_windows.plan import clocks, compile_policy, kinds
from krm_windows.plan.model import Plan
from krm_windows.policy.load import load
from krm_windows.policy.model import WindowPolicy
from krm_windows.preview.versions import Choice
from krm_windows.results import Result, fails, named, sort

# What hangs on the resources beside a policy is the build's matter, but for what decides when it is
# open.
_TIMELY = {
    rules.TIMEOUT_UNKNOWN.id,
    rules.KUBECTL_RESUMES_ALL.id,
    rules.KUBECTL_UNION.id,
    rules.KUBECTL_DEADLINE.id,
    rules.TOO_LARGE.id,
}


class _Version(NamedTuple):
    """A policy as some clusters have it.

    `plan` is None where it is wrong; `results` are what was found.
    """

    plan: Plan | None
    interval: timedelta
    results: tuple[Result, ...]


@lru_cache(maxsize=256)
def _audited(plan: Plan, interval: timedelta, scope: Scope) -> tuple[Result, ...]:
    """Audit a plan; a policy is audited when a change is previewed, and when it is made."""
    return tuple(audit(plan, interval, scope))


def reports(
    config: KubeObject,
    resources: Resources,
    choice: Choice,
    scope: Scope,
    without: Collection[str | None] = (),
) -> list[Report]:
    """Return all that is to be said of a policy for the clusters chosen, `without` some of them.

    There is one report for the clusters that have it alike. A policy that is wrong is not audited.
    """
    loaded = load(config.node, file=file_of(config))
    clusters: dict[_Version, list[str]] = {}
    versions: dict[object, _Version] = {}
    seen = {name: resources(name) for name in choice.clusters(loaded) if name not in without}
    for name, items in seen.items():
        policy, found = loaded.for_cluster(name)
        # Clusters that have the same patch, and see the same, are compiled once.
        key = (_hours(policy), found, id(items) if items else None)
        if key not in versions:
            versions[key] = _version(config, items, policy, found)
        # Those that have it alike share a report.
        names = clusters.setdefault(versions[key], [])
        if name:
            names.append(name)
    return [_report(config, version, names, scope) for version, names in clusters.items()]


def _hours(policy: WindowPolicy | None) -> WindowPolicy | None:
    """Return a policy without what names clusters, which changes nothing of when it is open."""
    if policy is None:
        return None
    spec = policy.spec.model_copy(update={"build_for": None, "clusters": {}})
    return policy.model_copy(update={"spec": spec})


def _report(config: KubeObject, version: _Version, clusters: Iterable[str], scope: Scope) -> Report:
    plan, interval, results = version
    # Of what is wrong, the text may still say where it is.
    days = scope.days(plan.timetable.zone if plan else clocks.zone(config))
    # Nothing can be said of times that are not known.
    if plan:
        # Today is a date here, so that what was found is found again until midnight.
        found = _audited(plan, interval, replace(scope, first=days[0]))
        results = (*results, *about(config, list(found)))
    policy = named(config.namespace, config.name)
    return on_policy(policy, tuple(clusters), days, tuple(sort(results)))


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
    timely = about(config, [result for result in planned if result.rule in _TIMELY])
    return _Version(None if fails(timely) else plan, policy.spec.interval, (*found, *timely))
