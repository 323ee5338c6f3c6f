"""The function of the kind WindowPolicy: policy in, working windows out."""

from collections.abc import Sequence
from typing import NamedTuple

from krm_windows import inventory
from krm_windows.apply import Application
from krm_windows.checks import (
    actuation,
    capacity,
    stream,
    zone_changes,
    zone_release,
)
from krm_windows.function import configuration
from krm_windows.inventory import Resource, about, file_of
from krm_windows.krm import KubeObject, ResourceList
from krm_windows.plan import AUDITED, compile_policy, kinds
from krm_windows.policy.load import load
from krm_windows.policy.model import WindowPolicy
from krm_windows.results import Result, fails


class Compiled(NamedTuple):
    """A policy compiled against a stream.

    `application` is None where an error is among the results.
    """

    application: Application | None
    adopted: tuple[Resource, ...]
    results: tuple[Result, ...]


def transform(resources: ResourceList, config: KubeObject) -> None:
    """Put the windows of a policy into the stream; on an error nothing is changed."""
    compiled = compile_onto(config, resources.items)
    resources.results.extend(compiled.results)
    if compiled.application is not None:
        compiled.application.edit()


def validate(resources: ResourceList, config: KubeObject) -> None:
    """Prove that the windows of a policy are in the stream.

    kustomize wants a validator to print nothing.
    """
    resources.silent = True
    resources.results.extend(verify(config, resources.items))


def compile_onto(
    config: KubeObject,
    items: list[KubeObject],
    cluster: str | None = None,
) -> Compiled:
    """Load and compile a policy, and check it against the stream."""
    policy, name, found = load_policy(config, cluster)
    return compile_loaded(config, items, name, policy, found)


def compile_loaded(
    config: KubeObject,
    items: list[KubeObject],
    cluster: str | None,
    policy: WindowPolicy | None,
    found: list[Result],
) -> Compiled:
    """Compile a policy that was loaded for a cluster, and check it likewise.

    The policy is None where it could not be loaded.
    """
    # With an error a plan would be made of half a policy.
    if policy is None or fails(found):
        return Compiled(None, (), tuple(found))
    # The resources are read once, for all that ask below.
    seen = inventory.take(items, kinds(policy))
    plan, planned = compile_policy(policy, cluster, seen)
    built = zone_release.recorded(items, plan)
    planned += [*zone_release.differing(plan, built), *zone_changes.unsettled(plan)]
    # A build with a newer release of the same rules must not change every file.
    plan = zone_release.kept(plan, built)
    application = Application(plan, items, seen)
    if not fails(planned):
        # All of these look at what a plan without errors comes to.
        # The gate works out what should hold, whenever it runs; without it, there are edges that
        # the CronJob controller would not act at as intended.
        if not plan.runs_gate:
            planned += actuation.misfired(plan, *AUDITED)
        planned += capacity.too_large(plan, application.wanted)
    # Findings of the plan are about the policy; those of loading name it already.
    results = (*found, *about(config, [*planned, *application.check()]))
    if fails(results):
        # Without an application nothing is edited: an orchestrator drops the output of a failed
        # function.
        return Compiled(None, application.adopted, results)
    return Compiled(application, application.adopted, results)


def verify(
    config: KubeObject,
    items: Sequence[KubeObject],
    cluster: str | None = None,
) -> list[Result]:
    """Return what is wrong with a final stream that should hold the windows of a policy."""
    # Compiled as a build would do it now, so that both agree on what should be there.
    policy, name, found = load_policy(config, cluster)
    if policy is None:
        return found
    seen = inventory.take(items, kinds(policy))
    plan, planned = compile_policy(policy, name, seen)
    built = zone_release.recorded(items, plan)
    planned += zone_release.differing(plan, built)
    return [
        *found,
        *about(config, [*planned, *stream.verify(zone_release.kept(plan, built), items, seen)]),
    ]


def load_policy(
    config: KubeObject, cluster: str | None
) -> tuple[WindowPolicy | None, str | None, list[Result]]:
    """Return the policy for a cluster, that cluster's name, and all findings.

    The cluster is the given one, or the policy's own `buildFor`.
    """
    loaded = load(config.node, file=file_of(config))
    # `buildFor` in a policy's own file names its cluster, as a patch in an overlay sets it.
    name = loaded.build_for if cluster is None else cluster
    policy, found = loaded.for_cluster(name)
    results = [*found, *configuration.narrowed(config)]
    if fails(results):
        return None, name, results
    return policy, name, results
