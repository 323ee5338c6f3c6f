"""References between what changes at once and what waits.

Each pair named, since only a person knows if it is intended.
"""

from collections.abc import Iterator, Mapping

from krm_windows import rules
from krm_windows.checks.repository.gated import GatedCluster, Owned, described
from krm_windows.classes import references
from krm_windows.classes.references import Reference
from krm_windows.flux import Kustomization, Object
from krm_windows.flux.model import Finding, Identity
from krm_windows.krm import InputError

# The kinds that read others by name, and so meet an older or newer version of them.
_USERS = frozenset(
    {
        "CronJob",
        "DaemonSet",
        "Deployment",
        "HelmRelease",
        "Job",
        "Kustomization",
        "Pod",
        "ReplicaSet",
        "StatefulSet",
    }
)
# The kinds that they read, none of which is reported for a reader.
_CORE = frozenset({"ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"})
_DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")
# The groups of what Flux and this project define.
_FLUX = ("fluxcd.io", "fluxcd.controlplane.io", "krm-windows.dev")


def crossing(gated: GatedCluster) -> Iterator[Finding]:
    """Yield the references of a cluster whose ends change at different times."""
    if not gated.cluster.gates:
        return
    owners: dict[Identity, Owned] = {}
    # The names of what changes in windows, and of what changes at once.
    windowed: set[str] = set()
    live: set[str] = set()
    for key, found in gated.cluster.objects.items():
        _, kind, _, name = key
        if kind not in _CORE:
            continue
        owners[key] = found
        if gated.when(*found):
            windowed.add(name)
        else:
            live.add(name)
    for user in gated.applied():
        if user[1].kind not in _USERS:
            continue
        # Only what mentions a name of the other class is read: most of a cluster does not.
        others = windowed
        if gated.when(*user):
            others = live
        _, item = user
        if any(map(item.item.mentions, others)):
            yield from _referring(gated, user, owners)
    yield from _definitions(gated)


def _referring(
    gated: GatedCluster,
    user: Owned,
    owners: Mapping[Identity, Owned],
) -> Iterator[Finding]:
    each, item = user
    for reference in _references(item, item.namespace or each.namespace):
        key = (reference.group or "", reference.kind, reference.namespace, reference.name)
        if key in owners:
            yield from _pair(gated, user, owners[key], reference.path)


def _pair(
    gated: GatedCluster,
    user: Owned,
    used: Owned,
    path: str,
) -> Iterator[Finding]:
    """Judge a reference from one object to another by when each changes.

    What is suspended reads nothing anew.
    """
    one = gated.when(*user)
    two = gated.when(*used)
    message = (
        f"refers to {used[1]}, which {used[0]} changes {described(two)}, while this changes "
        f"{described(one)}"
    )
    # Both in windows, of whatever policies: that is another check's (`order`).
    if one and not two and not gated.gates(user[1]):
        fix = (
            "put both in one change class, or use a ConfigMap with a hash suffix, kept in "
            "the class of its user"
        )
        yield Finding(rules.REFERS_TO_LIVE, f"{message}; {fix}", user[1], path)
    elif two and not one:
        fix = "put both in one change class"
        yield Finding(rules.REFERS_TO_WINDOWED, f"{message}; {fix}", user[1], path)


def _references(item: Object, namespace: str) -> list[Reference]:
    try:
        return list(references.of(item.item, namespace))
    except InputError:
        # What cannot be read is reported where it is built.
        return []


def _definitions(gated: GatedCluster) -> Iterator[Finding]:
    """Yield each Kustomization with objects of a definition that changes at another time.

    Flux's own are left out: what turns the windows can never wait for one.
    """
    defined: dict[str, list[Owned]] = {}
    for each, item in gated.applied():
        # The name of a definition is `plural.group` (apiextensions.k8s.io).
        _, _, group = item.name.partition(".")
        if (item.group, item.kind) == _DEFINITION and not group.endswith(_FLUX):
            defined.setdefault(group, []).append((each, item))
    for each in gated.cluster.kustomizations.values():
        yield from _used(gated, each, defined)


def _used(
    gated: GatedCluster,
    each: Kustomization,
    defined: dict[str, list[Owned]],
) -> Iterator[Finding]:
    reported: set[Identity] = set()
    waits = bool(gated.holds(each))
    for item in each.objects:
        for owner, definition in defined.get(item.group, ()):
            # Once for each definition, however many objects of it there are.
            if definition.identity in reported or bool(gated.holds(owner)) == waits:
                continue
            if definition.get("spec", "names", "kind") == item.kind:
                reported.add(definition.identity)
                yield from _pair(gated, (each, item), (owner, definition), "kind")
