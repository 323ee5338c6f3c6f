"""The closed-by annotations: they mark the gate's suspension as its own, so only it may write.

Whoever could write one would have the gate open what a person has suspended, or skip a hook.
Removing one is left to all who may change the object: then a suspension is taken for a person's and
stays, Flux puts objects back as they are in Git, and a person has an aborted hook tried again.
"""

from krm_windows.emit.admission import cel
from krm_windows.emit.admission.restraint import (
    ANNOTATIONS,
    Restraint,
    by_others,
    changes,
    name,
    rule,
    variable,
)
from krm_windows.gate.annotations import CLOSED_BY, HOOKS, annotation
from krm_windows.plan.model import Plan


def own(plan: Plan) -> list[str]:
    """Return the annotations that the gate of a plan writes."""
    if not plan.runs_gate:
        return []
    written = [annotation(plan.policy)]
    if plan.hooks:
        written.append(annotation(plan.policy, HOOKS))
    return written


def notes(plan: Plan) -> list[str]:
    """Return the notes of hooks of a plan, under its names of today and before."""
    return [annotation(name, HOOKS) for name in plan.own_names]


def restraint(plan: Plan) -> Restraint:
    """Let nobody but the gate write the annotations that it reads as its own."""
    targets = (*plan.timetable.targets, *plan.timetable.released)
    resources = sorted({(target.group, target.resource) for target in targets})
    believed = cel.texts([*(annotation(each, CLOSED_BY) for each in plan.own_names), *notes(plan)])
    changed, after = variable("changed", ANNOTATIONS), variable("after", ANNOTATIONS)
    return Restraint(
        name=name(plan, "annotations"),
        rules=[rule(resource, ("CREATE", "UPDATE")) for resource in resources],
        condition=by_others(plan),
        variables=changes(ANNOTATIONS),
        validations=[f"{changed}.all(key, !(key in {believed} && key in {after}))"],
        message=(
            f"only the gate of {plan.policy} may write its annotations (closed-by, hooks); others "
            "may only remove them"
        ),
    )
