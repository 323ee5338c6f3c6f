"""An older version of a policy and the newer one that takes its place, and what the change has forgotten."""

from collections.abc import Collection
from dataclasses import dataclass

from krm_windows.checks import succession
from krm_windows.inventory import about
from krm_windows.policy.load import Loaded
from krm_windows.policy.model import WindowPolicy
from krm_windows.preview.versions import Source, Version, once
from krm_windows.results import Result, fails


@dataclass(frozen=True, slots=True)
class Succession:
    """An older version of a policy for a cluster, and the newer one that takes its place."""

    old: Version
    new: Version


def successions(
    old: Source, new: Source, cluster: str | None
) -> tuple[list[Succession], list[Result]]:
    """Pair the versions of two policies: for one cluster, else for each that either names.

    A cluster that only one of them names is compared with the other as that stands without a patch. The results are the
    errors of both, the warnings of the newer one, and what the change has forgotten.
    """
    loaded = (old.load(), new.load())
    named: list[str | None] = list(dict.fromkeys((*loaded[0].clusters, *loaded[1].clusters)))
    names = named if cluster is None and named else [cluster]
    (before, past), (after, found) = (
        source.compile((name, *_for(one, name, named)) for name in names)
        for source, one in zip((old, new), loaded, strict=True)
    )
    results = [*(result for result in past if fails([result])), *found]
    if fails(results):
        return [], once(results)
    pairs = [Succession(*pair) for pair in zip(before, after, strict=True)]
    forgotten = (
        result
        for pair in pairs
        for result in succession.check(pair.old.timetable, pair.new.timetable)
    )
    return pairs, once([*results, *about(new.config, list(forgotten))])


def _for(
    loaded: Loaded, cluster: str | None, named: Collection[str | None]
) -> tuple[WindowPolicy | None, tuple[Result, ...]]:
    """Return the policy for a cluster; for one that only the other policy names, as it stands."""
    return loaded.for_cluster(
        None if cluster in named and cluster not in loaded.clusters else cluster
    )
