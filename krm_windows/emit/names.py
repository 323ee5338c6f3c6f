"""The names of what is emitted: stable, unique across policies, within the limits of Kubernetes.

A CronJob's name is at most 52 characters, so that its Jobs' names fit 63 (k8s.io/api batch/v1); a
label's value is at most 63 characters.
"""

from krm_windows import gateable

# The digits of names of annotations are those of names of objects, too.
from krm_windows.gate.annotations import DIGITS as DIGITS  # noqa: PLC0414
from krm_windows.gate.annotations import digest as digest  # noqa: PLC0414
from krm_windows.gate.names import NAME_LIMIT as NAME_LIMIT  # noqa: PLC0414
from krm_windows.gate.names import cut, made
from krm_windows.gate.names import fit as fit  # noqa: PLC0414
from krm_windows.gate.timetable import FORMAT_VERSION
from krm_windows.plan.model import Plan
from krm_windows.plan.triggers import Trigger

CRON_JOB_LIMIT = 52
TIME_INTERVALS = "time-intervals.yaml"
MUTE_TIMINGS = "mute-timings.yaml"
"""The keys of the ConfigMap for Alertmanager and for Grafana."""
# What the gate adds to the name of a hook.
_OCCURRENCE = len("-202611200800-") + DIGITS


def beginning(plan: Plan) -> str:
    """Return what every name made of the policy's begins with, cut ones included."""
    return cut(plan.name, CRON_JOB_LIMIT)


def cron_job(plan: Plan, trigger: Trigger) -> str:
    """Return the name of a trigger's CronJob.

    The one the policy gives, or one made of policy and slug.
    """
    return trigger.given or made(plan.name, trigger.slug, CRON_JOB_LIMIT)


def gate(plan: Plan) -> str:
    """Return the name of the ServiceAccount, and of the Role beside it."""
    return made(plan.name, "gate")


def config_map(plan: Plan) -> str:
    """Return the name of the ConfigMap that the gate's Pods mount.

    Without a program it has the format of what it holds: a Pod of the release before an upgrade
    mounts the ConfigMap of that release, which its program can read
    (docs/decisions/0057-the-program-may-be-in-an-image.md).
    """
    return gate(plan) if plan.ships_program else made(plan.name, f"gate-{FORMAT_VERSION}")


def role(plan: Plan, namespace: str) -> str:
    """Return the name of a namespace's Role and RoleBinding, unique if all are moved into one."""
    if namespace == plan.namespace:
        return gate(plan)
    # A layer above may put all Roles into one namespace, where two of one name would be one.
    apart = digest(f"{plan.policy} {namespace}")
    return fit(f"{gate(plan)}-{namespace}-{apart}", NAME_LIMIT)


def apart(plan: Plan, folder: str) -> str:
    """Return the name of the Flux Kustomization of a directory, unique in whatever namespace."""
    # A label has it (`kustomize.toolkit.fluxcd.io/name`), so it is as short as one.
    return fit(f"{gate(plan)}-{folder}-{digest(f'{plan.policy} {folder}')}", NAME_LIMIT)


def admission(plan: Plan, fields: tuple[tuple[str, ...], ...]) -> str:
    """Return the name of the admission policy of what these fields turn.

    No other policy of the cluster has it.
    """
    name = f"{plan.namespace}.{gate(plan)}"
    # Nearly all policies have that one alone, and a name that can be read.
    if fields == (gateable.SUSPEND,):
        return name
    paths = [".".join(field) for field in fields]
    return f"{name}-{digest(' '.join(paths))}"


def state_metrics(plan: Plan) -> str:
    """Return the name of the ConfigMap for kube-state-metrics."""
    return made(plan.name, "state-metrics")


def time_intervals(plan: Plan) -> str:
    """Return the name of the ConfigMap for Alertmanager and Grafana."""
    return made(plan.name, "time-intervals")


def hook(plan: Plan, kind: str) -> str:
    """Return what the names of a hook's Jobs begin with.

    The gate adds the occurrence and a digest.
    """
    return made(plan.name, kind, NAME_LIMIT - _OCCURRENCE)


def apply_job(plan: Plan, content: str) -> str:
    """Return the name of the apply Job; `content` are digits of what it does."""
    return made(plan.name, f"apply-{content}")


def apply_job_prefix(plan: Plan) -> str:
    """Return what the names of all apply Jobs of a policy begin with; hexadecimal digits follow."""
    # Any digits will do: they are cut off again, as is no more of a long name.
    return apply_job(plan, "0" * DIGITS)[:-DIGITS]


def policy_label(plan: Plan) -> str:
    """Return the value of the label by which a policy knows its own objects."""
    return label(plan.policy)


def own_labels(plan: Plan) -> frozenset[str]:
    """Return the values of that label on what a policy emits and emitted under its former names."""
    return frozenset(map(label, plan.own_names))


def label(policy: str) -> str:
    """Return the value of that label for the policy `namespace/name`."""
    return fit(policy.replace("/", ".", 1), NAME_LIMIT)


def policy_of(label: str) -> str:
    """Return the policy `namespace/name` that such a label stands for, cut where the label is."""
    # A label takes no slash: `flux-system/week` is written `flux-system.week`, and a namespace has
    # no dot (RFC 1123).
    return label.replace(".", "/", 1)
