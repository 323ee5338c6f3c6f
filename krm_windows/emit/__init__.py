"""Plan to objects: one literal for each kind, so that the source looks like the manifest."""

from krm_windows.emit import admission, alerts, apply_job, network, state_metrics
from krm_windows.emit.configmap import config_map
from krm_windows.emit.cronjob import cron_job
from krm_windows.emit.manifest import Identity, Manifest, identity
from krm_windows.emit.rbac import role, role_binding, service_account
from krm_windows.plan.model import Plan

__all__ = ["Identity", "Manifest", "beside", "identity", "objects"]


def objects(plan: Plan) -> list[Manifest]:
    """Return everything a cluster needs for one policy, in the order in which it can be applied."""
    config = config_map(plan) if plan.runs_gate else None
    cron_jobs = sorted((cron_job(plan, trigger) for trigger in plan.triggers), key=identity)
    return [
        *restraints(plan),
        service_account(plan),
        *(role(plan, rights) for rights in plan.rights),
        *(role_binding(plan, rights) for rights in plan.rights),
        *([config] if config else []),
        *cron_jobs,
        *extras(plan),
        *([apply_job.run(plan, config)] if config else []),
        *([apply_job.lift(plan)] if not plan.runs_gate and not cron_jobs else []),
    ]


def beside(plan: Plan) -> list[Manifest]:
    """Return what no Job refers to, so that nothing would be missed if it were gone: restraints and extras."""
    return [*restraints(plan), *extras(plan)]


def restraints(plan: Plan) -> list[Manifest]:
    """Return what holds the account: it stands before the account and its rights do."""
    return admission.objects(plan) if plan.admission else []


def extras(plan: Plan) -> list[Manifest]:
    """Return what the policy asks for besides."""
    emitters = {
        "NetworkPolicy": network.objects,
        "PrometheusRule": alerts.objects,
        "StateMetrics": state_metrics.objects,
    }
    return [
        manifest
        for name, objects_of in emitters.items()
        if name in plan.extras
        for manifest in objects_of(plan)
    ]
