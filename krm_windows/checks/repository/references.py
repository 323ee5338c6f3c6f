"""References between what changes at once and what waits.

Each pair named, since only a person knows if it is intended.
"""

from collections.abc import Iterator
from contextlib import suppress

from krm_windows import rules
from krm_windows.checks.repository.gated import GatedCluster, Owned, described
from krm_windows.classes import references
from krm_windows.flux.model import Finding
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


def crossing(gated: GatedCluster) -> Iterator[Finding]:
    """Yield the references of a cluster whose ends change at different times."""
    if not gated.cluster.gates:
        return
    owners = {key: found for key, found in gated.cluster.objects.items() if key[1] in _CORE}
    # The names of what changes in windows, and of what changes at once.
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for key, found in owners.items():
        names[bool(gated.when(*found))].add(key[3])
    for user in gated.applied():
        by, item = user
        # Only what mentions a name of the other class is read: most of a cluster does not.
        if item.kind not in _USERS or not any(
            map(item.item.mentions, names[not gated.when(*user)])
        ):
            continue
        # What cannot be read is reported where it is built.
        with suppress(InputError):
            for each in references.of(item.item, item.namespace or by.namespace):
                key = (each.group or "", each.kind, each.namespace, each.name)
                if key in owners:
                    yield from _pair(gated, user, owners[key], each.path)


def _pair(gated: GatedCluster, user: Owned, used: Owned, path: str) -> Iterator[Finding]:
    """Judge a reference from one object to another by when each changes."""
    one, two = gated.when(*user), gated.when(*used)
    message = (
        f"refers to {used[1]}, which {used[0]} changes {described(two)}, while this changes "
        f"{described(one)}; put both in one change class"
    )
    # Both in windows, of whatever policies: that is another check's (`order`). What is suspended
    # reads nothing anew.
    if one and not two and not gated.gates(user[1].identity):
        message += ", or use a ConfigMap with a hash suffix, kept in the class of its user"
        yield Finding(rules.REFERS_TO_LIVE, message, user[1], path)
    elif two and not one:
        yield Finding(rules.REFERS_TO_WINDOWED, message, user[1], path)
