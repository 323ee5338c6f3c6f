"""The targets: the gate's account may change their field and annotations, and nothing else.

`metadata.managedFields` is left free: the API server writes it, and CEL cannot tell whether a
client wrote it as well (docs/decisions/0019…).
"""

from collections.abc import Iterable, Iterator

from krm_windows.emit import names
from krm_windows.emit.admission import cel
from krm_windows.emit.admission.restraint import (
    ANNOTATIONS,
    METADATA,
    Path,
    Resource,
    Restraint,
    by_account,
    changes,
    rule,
    variable,
)
from krm_windows.gate.annotations import CLOSED_BY, annotation
from krm_windows.plan.model import Plan

# Compared on its own, and what the API server writes: `generation` and `resourceVersion` count each
# write.
_METADATA = ["annotations", "generation", "managedFields", "resourceVersion"]


def restraints(plan: Plan) -> Iterator[Restraint]:
    """Yield one for all resources that are turned by the same field."""
    for fields, resources in sorted(_turned(plan).items()):
        yield _restraint(plan, fields, resources)


def _turned(plan: Plan) -> dict[tuple[Path, ...], list[Resource]]:
    """Return the resources by the fields that turn them.

    One, unless a policy names two for one kind.
    """
    fields: dict[Resource, set[Path]] = {}
    for target in (*plan.timetable.targets, *plan.timetable.released):
        fields.setdefault((target.group, target.resource), set()).add(target.field)
    resources: dict[tuple[Path, ...], list[Resource]] = {}
    for resource, found in sorted(fields.items()):
        resources.setdefault(tuple(sorted(found)), []).append(resource)
    return resources


def _restraint(plan: Plan, fields: tuple[Path, ...], resources: Iterable[Resource]) -> Restraint:
    turned = " and ".join(".".join(field) for field in fields)
    free: dict[Path, set[str]] = {(): {"metadata"}, METADATA: set(_METADATA)}
    for field in fields:
        for depth, key in enumerate(field):
            free.setdefault(field[:depth], set()).add(key)
    maps = sorted(free)
    return Restraint(
        name=names.admission(plan, fields),
        rules=[rule(resource) for resource in resources],
        condition=by_account(plan),
        variables=changes(*maps, ANNOTATIONS),
        validations=[
            "request.operation == 'UPDATE'",
            *(
                f"{variable('changed', path)}.all(key, key in {cel.texts(sorted(free[path]))})"
                for path in maps
            ),
            _annotations(plan),
        ],
        message=f"the gate of {plan.policy} may change only {turned} and its own annotations here",
    )


def _annotations(plan: Plan) -> str:
    """Hold for the annotations: the gate writes its own, and removes what is stale.

    That may be the closed-by annotation of any policy, on a target that no policy keeps closed.
    """
    changed, after = variable("changed", ANNOTATIONS), variable("after", ANNOTATIONS)
    if not plan.runs_gate:
        return f"{changed}.size() == 0"
    own, stale = cel.text(annotation(plan.policy)), cel.text(CLOSED_BY)
    return f"{changed}.all(key, key == {own} || (!(key in {after}) && key.startsWith({stale})))"
