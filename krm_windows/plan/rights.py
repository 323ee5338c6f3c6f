"""The rights that the gate takes.

`get` and `patch` on named objects, and to ask what an account may do where they are; and what hooks
and Events need there: with `onlyIf: Pending` hooks need `get` on the sources of the targets.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from krm_windows import gateable
from krm_windows.gate.names import made
from krm_windows.gate.revisions import RESOURCES, SOURCE, Source
from krm_windows.gate.timetable import Target
from krm_windows.plan.grouping import grouped
from krm_windows.plan.model import Grant, Rights
from krm_windows.policy.hooks import Hooks

# A Job's name has its occurrence in it, and an Event's what it says, so neither can be named
# beforehand.
JOBS = Grant("batch", "jobs", (), ("create", "get"))
EVENTS = Grant("", "events", (), ("create",))
# Whether another policy still gates what it has closed: a question, which changes nothing.
REVIEWS = Grant("authorization.k8s.io", "localsubjectaccessreviews", (), ("create",))
# The kinds that may be gated, as rules of a Role name them.
_ROWS = {(row.group, row.resource): row for row in gateable.TABLE}


def rights(
    targets: tuple[Target, ...],
    gate: str = "",
    hooks: Hooks | None = None,
    *,
    events: bool = False,
    sources: Collection[Source] = (),
) -> tuple[Rights, ...]:
    """Return the rights that turning these targets takes, a set for each namespace, all sorted.

    `gate` is the policy `namespace/name` whose gate turns them, and takes over what another has
    closed. `sources` are read; one without a name stands for all of its kind in its namespace.
    """
    # Verbs are granted for each namespace in a Role of its own; there is no ClusterRole.
    grants: dict[str, list[Grant]] = defaultdict(list)
    for namespace in {target.namespace for target in targets}:
        if events:
            grants[namespace].append(EVENTS)
        grants[namespace] += _grants(
            ((each.group, each.resource), each.name)
            for each in targets
            if each.namespace == namespace
        )
        if gate:
            grants[namespace].append(REVIEWS)
    for namespace in {source.namespace for source in sources}:
        of_namespace = (each for each in sources if each.namespace == namespace)
        read = _grants(((SOURCE, RESOURCES[each.kind]), each.name) for each in of_namespace)
        # Where one of them cannot be known, the right is on all.
        grants[namespace] += (
            grant._replace(names=() if "" in grant.names else grant.names, verbs=("get",))
            for grant in read
        )
    if hooks:
        grants[hooks.namespace].append(JOBS)
        home, _, name = gate.partition("/")
        grants[home].append(Grant("", "configmaps", (note(name),), ("get", "patch")))
    return tuple(Rights(name, tuple(found)) for name, found in sorted(grants.items()))


def note(policy: str) -> str:
    """Return the name of the ConfigMap in which the gate of a policy notes how far hooks are."""
    return made(policy, "hooks")


def _grants(objects: Iterable[tuple[tuple[str, str], str]]) -> Iterator[Grant]:
    """Yield a grant for each kind, by group and resource, with the names of all of its objects."""
    # Sorted, so that the order of targets in the policy changes no byte of the Role.
    for kind, names in sorted(grouped(objects).items()):
        yield Grant(*kind, tuple(sorted(names)))


def granted(found: object, namespace: str) -> Iterator[Target]:
    """Yield the objects that `rules` of a Role of ours let the gate turn, read back.

    They are what names the targets where nothing else that was emitted does, as with the actuator
    `Kubectl`. Kinds whose field is not known, and what is no such rule, are left out.
    """
    if not isinstance(found, list):
        return
    for rule in found:
        # Ours are about one kind each; what is only read (`sources`) is not turned.
        match rule:
            case {
                "apiGroups": [group, *_],
                "resources": [resource, *_],
                "resourceNames": [*names],
                "verbs": [*verbs],
            } if "patch" in verbs:
                row = _ROWS.get((str(group), str(resource)))
            case _:
                continue
        if row is None:
            continue
        for name in names:
            yield Target(
                group=row.group,
                resource=row.resource,
                kind=row.kind,
                namespace=namespace,
                name=str(name),
                field=row.field,
            )
