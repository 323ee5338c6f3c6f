"""Which versions of a policy a preview is about: one for a cluster, or one for each."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from krm_windows import inventory, rules
from krm_windows.checks import succession
from krm_windows.gate.timetable import Timetable
from krm_windows.inventory import about, file_of
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy, kinds
from krm_windows.policy.load import Loaded, load
from krm_windows.policy.model import WindowPolicy
from krm_windows.results import Result, fails

# A preview is about time: what hangs on the resources is the build's matter, but for how early to close.
_TIMELY = {rules.TIMEOUT_UNKNOWN.id}


@dataclass(frozen=True, slots=True)
class Version:
    """A policy as it holds for one cluster (or none in particular), and the timetable it compiles to."""

    policy: WindowPolicy
    timetable: Timetable


@dataclass(frozen=True, slots=True)
class Choice:
    """The cluster that a preview is for (None: the policy's `buildFor`), or with `every` all the policy names."""

    cluster: str | None = None
    every: bool = False

    def clusters(self, loaded: Loaded) -> list[str | None]:
        """Return the clusters chosen of a policy; one without `clusters` is shown as it stands."""
        if self.every and loaded.clusters:
            return list(loaded.clusters)
        return [loaded.build_for if self.cluster is None else self.cluster]


@dataclass(frozen=True, slots=True)
class Source:
    """A policy as it was written, and the resources that its targets may be among."""

    config: KubeObject
    items: list[KubeObject]

    def versions(self, choice: Choice) -> tuple[list[Version], list[Result]]:
        """Load and compile for the clusters chosen; there are no versions where an error stands among the results."""
        loaded = self.load()
        return self.compile([(name, *loaded.for_cluster(name)) for name in choice.clusters(loaded)])

    def load(self) -> Loaded:
        """Read the policy."""
        return load(self.config.node, file=file_of(self.config))

    def compile(
        self, chosen: Iterable[tuple[str | None, WindowPolicy | None, tuple[Result, ...]]]
    ) -> tuple[list[Version], list[Result]]:
        """Compile the policies of some clusters, unless there is an error among what was found in them."""
        every = list(chosen)
        results = _once(result for _, _, found in every for result in found)
        if fails(results):
            return [], results
        compiled = [self._version(name, policy) for name, policy, _ in every if policy]
        results += about(self.config, _once(result for _, found in compiled for result in found))
        return ([] if fails(results) else [version for version, _ in compiled]), results

    def _version(self, cluster: str | None, policy: WindowPolicy) -> tuple[Version, list[Result]]:
        plan, results = compile_policy(policy, cluster, inventory.take(self.items, kinds(policy)))
        return Version(policy, plan.timetable), [result for result in results if result.tags["rule"] in _TIMELY]


@dataclass(frozen=True, slots=True)
class Succession:
    """An older version of a policy for a cluster, and the newer one that takes its place."""

    old: Version
    new: Version


def successions(old: Source, new: Source, cluster: str | None) -> tuple[list[Succession], list[Result]]:
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
        return [], _once(results)
    pairs = [Succession(*pair) for pair in zip(before, after, strict=True)]
    forgotten = (result for pair in pairs for result in succession.check(pair.old.timetable, pair.new.timetable))
    return pairs, _once([*results, *about(new.config, list(forgotten))])


def _for(
    loaded: Loaded, cluster: str | None, named: Collection[str | None]
) -> tuple[WindowPolicy | None, tuple[Result, ...]]:
    """Return the policy for a cluster; for one that only the other policy names, as it stands."""
    return loaded.for_cluster(None if cluster in named and cluster not in loaded.clusters else cluster)


def _once(results: Iterable[Result]) -> list[Result]:
    return list({str(result): result for result in results}.values())
