"""The admission policies: what RBAC cannot say of an account, a field, an annotation and a Job.

Three of them, each with its binding, and objects of the whole cluster:

- `target`, one for each field that turns targets: the gate's account changes that field and its
  own annotations alone;
- `annotations`: nobody else writes the closed-by annotation, so that it says who closed a target;
- `hooks`: the Jobs that the account creates are those of the policy.

They are part of what is emitted unless the policy says `admissionPolicy: Disabled`.
"""

from krm_windows.emit.admission import annotations, hooks, target
from krm_windows.emit.admission.restraint import KINDS
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan

__all__ = ["KINDS", "objects"]


def objects(plan: Plan) -> list[Manifest]:
    """Return the policies that hold a plan's account, each followed by its binding."""
    restraints = [*target.restraints(plan)]
    # The actuator `Kubectl` writes no annotations, so there is nothing to forge.
    if plan.runs_gate:
        restraints.append(annotations.restraint(plan))
    if plan.hooks:
        restraints.append(hooks.restraint(plan, plan.hooks))
    found: list[Manifest] = []
    for restraint in restraints:
        found += restraint.objects(plan)
    return found
