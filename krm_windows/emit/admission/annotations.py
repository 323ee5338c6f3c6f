"""The closed-by annotations: they mark the gate's suspension as its own, so only it may write.

Whoever could write one would have the gate open what a person has suspended, or skip a hook.
Removing one is left to all who may change the object: then a suspension is taken for a person's and
stays, Flux puts objects back as they are in Git, and a person has an aborted hook tried again.
"""

from collections.abc import Iterator

from krm_windows.emit.admission import cel, manifests
from krm_windows.emit.admission.manifests import ANNOTATIONS, METADATA, Resource
from krm_windows.emit.manifest import Manifest
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


def believed(plan: Plan) -> list[str]:
    """Return the annotations that it reads as its own, under its names of today and before."""
    closed_by = [annotation(name, CLOSED_BY) for name in plan.own_names]
    notes = [annotation(name, HOOKS) for name in plan.own_names]
    return closed_by + notes


def removable(plan: Plan, before: str = "") -> list[str]:
    """Return the conditions under which the gate may remove an annotation; CEL has it as `key`.

    `before` is put before the names. It may remove closed-by annotations of any policy, as those on
    a target that no policy keeps closed are stale, but only its own notes of hooks.
    """
    if not plan.runs_gate:
        return []
    notes = [before + annotation(name, HOOKS) for name in plan.own_names]
    is_closed_by = f"key.startsWith({cel.text(before + CLOSED_BY)})"
    return [is_closed_by, f"key in {cel.texts(notes)}"]


def objects(plan: Plan) -> Iterator[Manifest]:
    """Yield the policy and the binding that let nobody but the gate write its annotations."""
    targets = (*plan.timetable.targets, *plan.timetable.released)
    resources: set[Resource] = {(target.group, target.resource) for target in targets}
    before = manifests.part("before", ANNOTATIONS)
    after = manifests.part("after", ANNOTATIONS)
    # As before, or gone: an object may be changed by anybody who leaves them alone.
    unchanged = f"key in {before} && {before}[key] == {after}[key]"
    expression = f"{cel.texts(believed(plan))}.all(key, !(key in {after}) || ({unchanged}))"
    message = (
        f"only the gate of {plan.policy} may write its annotations (closed-by, hooks); others "
        "may only remove them"
    )
    restraint = manifests.Restraint(
        name=manifests.name(plan, "annotations"),
        rules=[manifests.rule(resource, ("CREATE", "UPDATE")) for resource in sorted(resources)],
        condition=manifests.by_others(plan),
        variables=[*manifests.wholes(), *manifests.parts(METADATA), *manifests.parts(ANNOTATIONS)],
        validations=[(expression, message)],
    )
    return manifests.pair(plan, restraint)
