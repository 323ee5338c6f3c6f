"""An older version of a policy and the one that takes its place.

And what the change has forgotten.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from krm_windows.checks import policy_changes
from krm_windows.gate.timetable import Target
from krm_windows.inventory import about
from krm_windows.policy.load import Loaded
from krm_windows.policy.model import WindowPolicy
from krm_windows.preview.versions import PolicySource, Version, once
from krm_windows.results import Result, fails

Gated: TypeAlias = Callable[[str | None, Collection[str]], Iterable[Target]]
"""Gives what policies gate in a cluster, but for those of some names."""


def nothing_gated(_: str | None, __: Collection[str]) -> tuple[Target, ...]:
    """Say that no other policy gates anything."""
    return ()


@dataclass(frozen=True, slots=True)
class Succession:
    """An older version of a policy for a cluster, and the newer one that takes its place."""

    old: Version
    new: Version

    @property
    def changes(self) -> bool:
        """Whether anything of the policy is another than it was on this cluster."""
        return self.old.policy != self.new.policy


def successions(
    old: PolicySource,
    new: PolicySource,
    cluster: str | None,
    gated: Gated = nothing_gated,
) -> tuple[list[Succession], list[Result]]:
    """Pair the versions of two policies: for one cluster, else for each that either names.

    A cluster that only one of them names is compared with the other without a patch.
    The results are the errors of both, the warnings of the newer one, and what the change has
    forgotten, which is nothing that is `gated` by another policy.
    """
    # Loaded apart, as each may name clusters that the other does not.
    past, present = old.load(), new.load()
    # A dict keeps the order in which clusters are named.
    both: list[str | None] = list(dict.fromkeys((*past.clusters, *present.clusters)))
    names = both if cluster is None and both else [cluster]
    before, was = old.compile((name, *_for(past, name, both)) for name in names)
    after, found = new.compile((name, *_for(present, name, both)) for name in names)
    # What the older one was only warned of is over.
    results = [*(result for result in was if fails([result])), *found]
    # Two versions of which one is wrong cannot be compared.
    if fails(results):
        return [], once(results)
    # `strict`: both have exactly one version for each name, or a pair would be of two clusters.
    pairs = [Succession(*pair) for pair in zip(before, after, strict=True)]
    forgotten: list[Result] = []
    for pair in pairs:
        held = pair.new.timetable
        others = partial(gated, held.cluster)
        forgotten += policy_changes.left_closed(pair.old.timetable, held, others)
    return pairs, once([*results, *about(new.config, forgotten)])


def _for(
    loaded: Loaded,
    cluster: str | None,
    named: Collection[str | None],
) -> tuple[WindowPolicy | None, tuple[Result, ...]]:
    """Return the policy for a cluster; for one that only the other policy names, as it is."""
    if cluster in named and cluster not in loaded.clusters:
        return loaded.for_cluster(None)
    return loaded.for_cluster(cluster)
