"""The names of what is emitted: stable, unique across policies, within the limits of Kubernetes.

A CronJob's name is at most 52 characters, so that its Jobs' names fit 63 (k8s.io/api batch/v1); a
label's value is at most 63 characters.
"""

import re

from krm_windows import gateable

# The digits of names of annotations are those of names of objects, too.
from krm_windows.gate.annotations import DIGITS as DIGITS  # noqa: PLC0414
from krm_windows.gate.annotations import digest as digest  # noqa: PLC0414
from krm_windows.plan.model import Plan
from krm_windows.plan.triggers import Trigger

CRON_JOB_LIMIT = 52
NAME_LIMIT = 63
TIME_INTERVALS = "time-intervals.yaml"
MUTE_TIMINGS = "mute-timings.yaml"
"""The keys of the ConfigMap for Alertmanager and for Grafana."""
# What the gate adds to the name of a hook.
_OCCURRENCE = len("-202611200800-") + DIGITS

# A policy whose own name looks like that of something emitted could collide with a shorter one: `a`
# with a window `b-open-c`, `a-open-b` with a window `c`. Its names carry a hash.
_AMBIGUOUS = re.compile(r"-(open|close|edge|resync|apply|gate)(-|$)")


def fit(name: str, limit: int) -> str:
    """Return a name within a limit: a longer one is cut and ends in a hash of the whole."""
    if len(name) <= limit:
        return name
    return f"{_cut(name, limit)}-{digest(name)}"


def _cut(name: str, limit: int) -> str:
    """Return what is kept of a name within a limit, before the hyphen of its digest."""
    # Neither a hyphen nor a dot may be before that hyphen (RFC 1123).
    return name[: limit - DIGITS - 1].rstrip("-.")


def beginning(plan: Plan) -> str:
    """Return what every name made of the policy's begins with, cut ones included."""
    return _cut(plan.name, CRON_JOB_LIMIT)


def cron_job(plan: Plan, trigger: Trigger) -> str:
    """Return the name of a trigger's CronJob.

    The one the policy gives, or one made of policy and slug.
    """
    return trigger.given or _made(plan, trigger.slug, CRON_JOB_LIMIT)


def gate(plan: Plan) -> str:
    """Return the name of the ConfigMap and the ServiceAccount, and of the Role beside them."""
    return _made(plan, "gate", NAME_LIMIT)


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
    return _made(plan, "state-metrics", NAME_LIMIT)


def time_intervals(plan: Plan) -> str:
    """Return the name of the ConfigMap for Alertmanager and Grafana."""
    return _made(plan, "time-intervals", NAME_LIMIT)


def hook(plan: Plan, kind: str) -> str:
    """Return what the names of a hook's Jobs begin with.

    The gate adds the occurrence and a digest.
    """
    return _made(plan, kind, NAME_LIMIT - _OCCURRENCE)


def apply_job(plan: Plan, content: str) -> str:
    """Return the name of the apply Job; `content` are digits of what it does."""
    return _made(plan, f"apply-{content}", NAME_LIMIT)


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


def _made(plan: Plan, slug: str, limit: int) -> str:
    name = plan.name
    if _AMBIGUOUS.search(name):
        name = f"{name}-{digest(name)}"
    return fit(f"{name}-{slug}", limit)
