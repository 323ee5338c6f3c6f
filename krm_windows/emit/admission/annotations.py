"""The closed-by annotations: they mark the gate's suspension as its own, so only it may write.

Whoever could write one would have the gate open what a person has suspended. Removing one is left
to all who may change the object: then a suspension is taken for a person's and stays, and Flux puts
objects back as they are in Git.
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
from krm_windows.gate.annotations import annotation
from krm_windows.plan.model import Plan


def restraint(plan: Plan) -> Restraint:
    """Let nobody but the gate write the annotations that it reads as its own."""
    targets = (*plan.timetable.targets, *plan.timetable.released)
    resources = sorted({(target.group, target.resource) for target in targets})
    believed = cel.texts(map(annotation, plan.own_names))
    changed, after = variable("changed", ANNOTATIONS), variable("after", ANNOTATIONS)
    return Restraint(
        name=name(plan, "annotations"),
        rules=[rule(resource, ("CREATE", "UPDATE")) for resource in resources],
        condition=by_others(plan),
        variables=changes(ANNOTATIONS),
        validations=[f"{changed}.all(key, !(key in {believed} && key in {after}))"],
        message=(
            f"only the gate of {plan.policy} may write its closed-by annotation; others may only "
            "remove it"
        ),
    )
