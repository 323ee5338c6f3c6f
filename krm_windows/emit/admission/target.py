"""The targets: the gate's account may change their field and annotations, and nothing else."""

from collections.abc import Iterable, Iterator
from itertools import chain

from krm_windows.emit import names
from krm_windows.emit.admission import annotations, cel, manifests, owners
from krm_windows.emit.admission.manifests import ANNOTATIONS, METADATA, Path, Resource
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan

# Compared on its own, and what the API server writes.
_METADATA = ["annotations", "generation", "managedFields", "resourceVersion"]


def objects(plan: Plan) -> Iterator[Manifest]:
    """Yield a policy and its binding for all resources that are turned by the same field."""
    for fields, resources in sorted(_turned(plan).items()):
        yield from _pair(plan, fields, resources)


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


def _pair(
    plan: Plan,
    fields: tuple[Path, ...],
    resources: Iterable[Resource],
) -> Iterator[Manifest]:
    turned = " and ".join(".".join(field) for field in fields)
    steps = _steps(fields)
    message = f"the gate of {plan.policy} may change only {turned} and its own annotations here"
    owned = (
        f"the gate of {plan.policy} may not change who owns the fields here "
        "(metadata.managedFields)"
    )
    # The root has variables of its own: the object as a whole.
    paths = (METADATA, ANNOTATIONS, *(path for path in steps if path))
    ownership = owners.Ownership(plan, steps)
    restraint = manifests.Restraint(
        name=names.admission(plan, fields),
        rules=[manifests.rule(resource) for resource in resources],
        condition=manifests.by_account(plan),
        variables=[
            *manifests.wholes(),
            *chain.from_iterable(map(manifests.parts, paths)),
            *ownership.variables(),
        ],
        validations=[
            *((words, message) for words in _unchanged(plan, steps)),
            *((words, owned) for words in ownership.validations()),
        ],
    )
    return manifests.pair(plan, restraint)


def _steps(fields: Iterable[Path]) -> dict[Path, list[str]]:
    """Return each map above the fields, parents first, and its keys that lead to them."""
    steps: dict[Path, set[str]] = {}
    for field in fields:
        for depth, key in enumerate(field):
            steps.setdefault(field[:depth], set()).add(key)
    return {path: sorted(keys) for path, keys in sorted(steps.items())}


def _unchanged(plan: Plan, steps: dict[Path, list[str]]) -> Iterator[str]:
    """Yield for each map that its keys are as before, but for those compared apart or free."""
    # `generation` and `resourceVersion` count each write.
    known = f"key in {cel.texts(_METADATA)}"
    yield _same(METADATA, known, known)
    written = ""
    if plan.runs_gate:
        written = f"key in {cel.texts(annotations.own(plan))}"
    yield _same(ANNOTATIONS, " || ".join(annotations.removable(plan)), written)
    for path, keys in steps.items():
        free = keys
        # At the root `metadata` is free, too: it is compared above.
        if not path:
            free = ["metadata", *keys]
        may_change = f"key in {cel.texts(free)}"
        yield _same(path, may_change, may_change)


def _same(path: Path, may_go: str, may_change: str) -> str:
    """Return that a map is as before, but for keys that may go, come or change."""
    before = manifests.part("before", path)
    after = manifests.part("after", path)
    gone = filter(None, (may_go, f"key in {after}"))
    unchanged = f"(key in {before} && {before}[key] == {after}[key])"
    changed = filter(None, (may_change, unchanged))
    return f"{before}.all(key, {' || '.join(gone)}) && {after}.all(key, {' || '.join(changed)})"
