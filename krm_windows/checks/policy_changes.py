"""What a change of a policy must not forget.

What the older version may have closed, and nobody would open again.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from krm_windows import rules
from krm_windows.emit import timetables
from krm_windows.gate.timetable import Target
from krm_windows.krm import KubeObject
from krm_windows.plan.targets import address
from krm_windows.policy.model import API_VERSION, KIND
from krm_windows.results import ResourceRef, Result
from krm_windows.schedule.timeline import Followed
from krm_windows.schedule.timetable import Timetable

Gated: TypeAlias = Callable[[Collection[str]], Iterable[Target]]
"""Gives what the policies around gate, but for those of some names: they take over what moves."""


def _nothing(_: Collection[str]) -> tuple[Target, ...]:
    return ()


def forgotten(
    rendered: Iterable[bytes],
    new: Sequence[Timetable],
    gated: Gated = _nothing,
) -> list[Result]:
    """Return what newer timetables leave closed of those among rendered manifests.

    `gated` is only asked if that matters.
    """
    read = (timetables.read(KubeObject.parse(manifest)) for manifest in rendered)
    before = [old for old in read if old is not None]
    own = list(chain.from_iterable(each.targets for each in new))
    # Of a policy that was there, and is not among the newer ones, only the file may be left.
    names = {each.policy for each in before}

    def around(but: Collection[str]) -> Iterable[Target]:
        return chain(own, gated({*but, *names}))

    found: list[Result] = []
    for old in before:
        successor = _successor(old, new, names)
        if successor is None:
            # Policies that were there before have taken its targets over, or it is renamed.
            if not _dropped(old, (), around, ()):
                continue
            successor = new[0]
        found.extend(left_closed(old, successor, around))
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


def _successor(old: Followed, new: Sequence[Timetable], before: Container[str]) -> Timetable | None:
    """Return the timetable that takes the place of another, None if none does.

    `before` are the policies that were there with the older one.
    """
    # A policy that was renamed is the same one, if it says so. If it does not, it gates what the
    # older one gated, and was not there before.
    theirs = set(map(address, old.targets))
    renamed = (each for each in new if old.policy in each.own_names)
    alike = (
        each
        for each in new
        if each.policy not in before and not theirs.isdisjoint(map(address, each.targets))
    )
    return next(chain(renamed, alike), None)


def left_closed(
    old: Followed,
    new: Timetable,
    gated: Gated = _nothing,
) -> Iterator[Result]:
    """Yield what a newer timetable leaves closed of an older one, and no other policy gates."""
    # Held open, it has closed nothing.
    if old.state == "Open":
        return
    if old.policy not in new.own_names:
        message = (
            f'must list "{old.policy}", the policy\'s former name; otherwise targets closed '
            "under that name stay closed"
        )
        yield rules.FORMER_NAME.result(message, path="spec.formerNames", proposed=old.policy)
    # What is in `released` is opened once and for all.
    for target in _dropped(old, (*new.targets, *new.released), gated, new.own_names):
        message = (
            f"must list {target}, which is no longer gated; if it is closed now, it would "
            "stay closed, and if it is also removed from Git, what it applied would stay in "
            "the cluster (docs/how-to/remove-an-application.md)"
        )
        yield rules.TARGET_DROPPED.result(message, path="spec.released", proposed=target.name)


def _dropped(
    old: Followed, kept: Iterable[Target], gated: Gated, names: Iterable[str]
) -> list[Target]:
    """Return the targets that are not among others, and that no policy but these gates."""
    there = {address(target) for target in kept}
    dropped = [target for target in old.targets if address(target) not in there]
    if dropped:  # to look for other policies takes a while
        there = {address(target) for target in gated({old.policy, *names})}
    return [target for target in dropped if address(target) not in there]
