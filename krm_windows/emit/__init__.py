"""Plan to objects: one literal for each kind, so that the source looks like the manifest."""

from itertools import chain

from krm_windows.emit import (
    admission,
    alerts,
    apply_job,
    hooks,
    network,
    state_metrics,
    time_intervals,
)
from krm_windows.emit.configmap import config_map
from krm_windows.emit.cronjob import cron_job
from krm_windows.emit.manifest import Identity, Manifest, identity
from krm_windows.emit.rbac import role, role_binding, service_account
from krm_windows.plan.model import Plan

__all__ = ["Identity", "Manifest", "beside", "identity", "objects"]


def objects(plan: Plan) -> list[Manifest]:
    """Return everything a cluster needs for one policy, in the order in which it can be applied."""
    cron_jobs = sorted((cron_job(plan, trigger) for trigger in plan.triggers), key=identity)
    # What holds the account comes before the account, and that before what runs as it.
    account = [
        *restraints(plan),
        service_account(plan),
        *(role(plan, rights) for rights in plan.rights),
        *(role_binding(plan, rights) for rights in plan.rights),
    ]
    if plan.runs_gate:
        config = config_map(plan)
        # The apply Job is the last, as it starts as soon as it is there.
        at_once = apply_job.run(plan, config)
        noted = [hooks.note(plan)] if plan.hooks else []
        return [*account, config, *noted, *cron_jobs, *extras(plan), at_once]
    if cron_jobs:
        return [*account, *cron_jobs, *extras(plan)]
    # Without CronJobs (`render --uninstall`) nothing else would lift what `Kubectl` has closed.
    return [*account, *extras(plan), apply_job.lift(plan)]


def beside(plan: Plan) -> list[Manifest]:
    """Return what no Job refers to, so that nothing would be missed if it were gone.

    Restraints and extras.
    """
    return [*restraints(plan), *extras(plan)]


def restraints(plan: Plan) -> list[Manifest]:
    """Return what holds the account: it exists before the account and its rights do."""
    return admission.objects(plan) if plan.admission else []


def extras(plan: Plan) -> list[Manifest]:
    """Return what the policy asks for besides."""
    emitters = {
        "AlertmanagerTimeIntervals": time_intervals.objects,
        "NetworkPolicy": network.objects,
        "PrometheusRule": alerts.objects,
        "StateMetrics": state_metrics.objects,
    }
    # In the order of this table, whatever order the policy lists them in.
    asked = [objects_of for name, objects_of in emitters.items() if name in plan.extras]
    return list(chain.from_iterable(objects_of(plan) for objects_of in asked))
