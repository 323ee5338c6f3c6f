"""What a change of a policy must not forget.

What the older version may have closed, and nobody would open again.
"""

from collections.abc import Iterable, Iterator, Sequence

from krm_windows import rules
from krm_windows.emit import timetables
from krm_windows.gate.timetable import Timetable
from krm_windows.krm import KubeObject
from krm_windows.plan.targets import address
from krm_windows.policy.model import API_VERSION, KIND
from krm_windows.results import ResourceRef, Result


def forgotten(rendered: Iterable[bytes], new: Sequence[Timetable]) -> list[Result]:
    """Return what newer timetables leave closed of those among rendered manifests."""
    found: list[Result] = []
    for manifest in rendered:
        old = timetables.read(KubeObject.parse(manifest))
        if old is not None:
            found.extend(check(old, _successor(old, new)))
    return found


def abandoned(rendered: Iterable[bytes], cluster: str) -> list[Result]:
    """Return what stays closed where a cluster's windows are removed, of rendered manifests."""
    found: list[Result] = []
    for manifest in rendered:
        old = timetables.read(KubeObject.parse(manifest))
        # Held open, it has closed nothing.
        if old is None or old.state == "Open":
            continue
        namespace, _, name = old.policy.partition("/")
        policy = ResourceRef(api_version=API_VERSION, kind=KIND, name=name, namespace=namespace)
        message = (
            f"no longer names {cluster}, so its windows there are removed: targets that are "
            "closed stay closed, and nothing closes or opens them again; if the cluster still "
            "exists, add it again, and open it first (`state: Open`)"
        )
        found.append(rules.CLUSTER_DROPPED.result(message, path="spec.clusters", ref=policy))
    return found


def _successor(old: Timetable, new: Sequence[Timetable]) -> Timetable:
    """Return the timetable that takes the place of another.

    One that nothing takes the place of, the first could.
    """
    # A policy that was renamed is the same one, if it says so.
    for successor in new:
        if old.policy in (successor.policy, *successor.former_names):
            return successor
    return new[0]


def check(old: Timetable, new: Timetable) -> Iterator[Result]:
    """Yield what a newer timetable leaves closed of an older one.

    Where that was held open, nothing is.
    """
    # Held open, it has closed nothing.
    if old.state == "Open":
        return
    if old.policy not in (new.policy, *new.former_names):
        message = (
            f'must list "{old.policy}", the policy\'s former name; otherwise targets closed '
            "under that name stay closed"
        )
        yield rules.FORMER_NAME.result(message, path="spec.formerNames", proposed=old.policy)
    # What is in `released` is opened once and for all.
    kept = {address(target) for target in (*new.targets, *new.released)}
    for target in old.targets:
        if address(target) not in kept:
            message = (
                f"must list {target}, which is no longer gated; if it is closed now, it would "
                "stay closed, and if it is also removed from Git, what it applied would stay in "
                "the cluster (docs/how-to/remove-an-application.md)"
            )
            yield rules.TARGET_DROPPED.result(message, path="spec.released", proposed=target.name)
