"""Which versions of a policy a preview is about: one for a cluster, or one for each."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from krm_windows import inventory
from krm_windows.inventory import Resources, about, file_of, no_resources
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_timetable, kinds
from krm_windows.policy.load import Loaded, load
from krm_windows.policy.model import WindowPolicy
from krm_windows.results import Result, fails
from krm_windows.schedule.timetable import Timetable


@dataclass(frozen=True, slots=True)
class Version:
    """A policy for one cluster or none in particular, with its timetable."""

    policy: WindowPolicy
    timetable: Timetable


@dataclass(frozen=True, slots=True)
class Choice:
    """The cluster that a preview is for, or with `every` all that the policy names.

    None is the policy's `buildFor`.
    """

    cluster: str | None = None
    every: bool = False

    def clusters(self, loaded: Loaded) -> list[str | None]:
        """Return the clusters chosen of a policy; one without `clusters` is shown as it is."""
        # One that names no clusters has one version, which all of them share.
        if self.every and loaded.clusters:
            return list(loaded.clusters)
        chosen = self.cluster
        # As a build does, which has no option for it.
        if chosen is None:
            chosen = loaded.build_for
        return [chosen]


@dataclass(frozen=True, slots=True)
class PolicySource:
    """A policy as it was written, and the resources that its targets may be among."""

    config: KubeObject
    resources: Resources = no_resources

    def versions(self, choice: Choice) -> tuple[list[Version], list[Result]]:
        """Load and compile for the clusters chosen.

        There are no versions where an error is among the results.
        """
        loaded = self.load()
        chosen = [(name, *loaded.for_cluster(name)) for name in choice.clusters(loaded)]
        return self.compile(chosen)

    def load(self) -> Loaded:
        """Read the policy."""
        return load(self.config.node, file=file_of(self.config))

    def compile(
        self,
        chosen: Iterable[tuple[str | None, WindowPolicy | None, tuple[Result, ...]]],
    ) -> tuple[list[Version], list[Result]]:
        """Compile the policies of some clusters, unless errors were found in them.

        A preview is about time: what hangs on the resources is the build's matter, but for how
        early to close.
        """
        every = list(chosen)
        loading = once(chain.from_iterable(found for _, _, found in every))
        # What is wrong in one cluster is reported before anything is compiled, of all at once.
        if fails(loading):
            return [], loading
        versions: list[Version] = []
        compiling: list[Result] = []
        for name, policy, _ in every:
            if policy is not None:
                # What the targets are matters only for `closesEarly: auto`.
                items = inventory.take(self.resources(name), kinds(policy))
                timetable, said = compile_timetable(policy, name, items)
                versions.append(Version(policy, timetable))
                compiling += said
        results = [*loading, *about(self.config, once(compiling))]
        return ([] if fails(results) else versions), results


def once(results: Iterable[Result]) -> list[Result]:
    """Return every result the first time it is reported."""
    return list(dict.fromkeys(results))
