"""A fleet: policies rendered for many clusters.

Each is rendered on its own, so that any may be left out or done elsewhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from posixpath import normpath

from krm_windows import emit, rules
from krm_windows.checks import overlap, policy_changes, readonly, zone_release
from krm_windows.checks.overlap import Claim
from krm_windows.emit import timetables
from krm_windows.fleet.existing import ExistingOutput
from krm_windows.function import window_policy
from krm_windows.inventory import Resources, about, file_of
from krm_windows.krm import KubeObject
from krm_windows.plan import uninstall
from krm_windows.plan.model import Plan
from krm_windows.policy import load
from krm_windows.render import apart, overlay
from krm_windows.render import layout as paths
from krm_windows.render.apart import Delivery
from krm_windows.render.command import RenderCommand, signed
from krm_windows.render.layout import PolicyOutput
from krm_windows.results import Result, fails

Files = Mapping[str, bytes]
_Compiled = tuple[PolicyOutput | None, list[Result]]
# What a policy yields for a cluster, None where there is an error among the results.


@dataclass(frozen=True, slots=True)
class FleetPolicy:
    """A policy of a fleet: `config` is where findings point to, `source` what was read of it."""

    config: KubeObject
    source: load.PolicyDocument

    @classmethod
    def of(cls, config: KubeObject) -> "FleetPolicy":
        """Read a policy."""
        return cls(config, load.read(config.node, file=file_of(config)))

    @property
    def name(self) -> str:
        """The policy as `namespace/name`."""
        return f"{self.config.namespace}/{self.config.name}"

    def reaches(self, cluster: str) -> bool:
        """Whether a cluster has this policy: one that names no clusters reaches all."""
        return not self.source.patches or cluster in self.source.patches


@dataclass(frozen=True)
class Fleet:
    """Policies and the clusters that they are rendered for.

    `resources` gives what a transformer would see in a cluster, and for None what it would see in
    any: nothing, if that is `apart` for each. Where it `sees` nothing at all, targets are taken on
    trust. `place` is the tree's directory in its repository, None where no Kustomization of the
    resources is looked for that delivers it. `existing` is what was rendered around, but not in
    this tree. The `command` is what every kustomization says that it was rendered by.
    """

    policies: tuple[FleetPolicy, ...]
    clusters: tuple[str, ...]
    resources: Resources
    sees: bool = False
    apart: bool = False
    uninstalls: bool = False
    place: str | None = None
    existing: ExistingOutput | None = None
    command: RenderCommand | None = None

    @cached_property
    def slugs(self) -> Mapping[str, str]:
        """The name of each policy's directory."""
        return paths.slugs(policy.name for policy in self.policies)

    @cached_property
    def _bases(self) -> Mapping[str, _Compiled]:
        """What the base is made of, by policy.

        A policy is taken as it is for no cluster, or for the first where that is an error.
        """
        return {policy.name: self._base(policy) for policy in self.policies}

    def base(self) -> tuple[Files | None, list[Result]]:
        """Return the files that all clusters share, and all that is to be said of them.

        There are none where there is an error.
        """
        files: dict[str, bytes] = {}
        results: list[Result] = []
        for output, found in self._bases.values():
            results += found
            if output is not None:
                files |= paths.base(output)
        # Without one base the patches of all clusters would have nothing to patch.
        is_whole = all(output for output, _ in self._bases.values())
        return signed(files, self.command) if is_whole else None, results

    def render(self, cluster: str, older: Files) -> tuple[Files | None, list[Result]]:
        """Return the files of a cluster, which take the place of older ones; None for an error."""
        outputs: list[PolicyOutput] = []
        plans: list[tuple[KubeObject, Plan]] = []
        results: list[Result] = []
        reaching = [policy for policy in self.policies if policy.reaches(cluster)]
        for policy in reaching:
            output, found = self._compiled(policy, cluster)
            results += found
            if output:
                outputs.append(output)
                plans.append((policy.config, output.plan))
        # An error in one policy: files of the others alone would take windows away.
        if len(outputs) < len(reaching):
            return None, results
        overlaps = self._overlaps(cluster, plans)
        results += overlaps
        if fails(overlaps):
            return None, results
        # What one policy gives up another may have taken over.
        gated = partial(self.existing.gated, cluster) if self.existing else lambda _: ()
        results += after(older.values(), plans, gated)
        return None if fails(results) else self._files(cluster, outputs), results

    def dropped(self, cluster: str, older: Files) -> list[Result]:
        """Return what is to be said where the older files of a cluster are all removed."""
        return list(policy_changes.abandoned(_manifests(older.values()), cluster))

    def _overlaps(self, cluster: str, plans: Sequence[tuple[KubeObject, Plan]]) -> list[Result]:
        """Return what two policies of a cluster gate both.

        To clean up after both is no such thing.
        """
        if self.uninstalls:
            return []
        own = [Claim.of(plan.timetable)._replace(cluster=cluster) for _, plan in plans]
        results: list[Result] = []
        for index, (config, _) in enumerate(plans):
            # With those of the fleet before it, so that each pair is reported once, and with what
            # others have rendered.
            found = list(overlap.conflicts(own[index], own[:index]))
            if self.existing is not None:
                found += self.existing.check(own[index])
            results += about(config, found)
        return results

    def _files(
        self,
        cluster: str,
        outputs: Sequence[PolicyOutput],
    ) -> dict[str, bytes]:
        files = paths.overlays(cluster, outputs, self._waiting)
        return signed(files, self.command)

    @cached_property
    def _waiting(self) -> Mapping[str, Sequence[emit.Manifest]]:
        """The objects of each base, by directory."""
        outputs = (output for output, _ in self._bases.values())
        return {each.slug: overlay.base(each.plan, each.manifests) for each in outputs if each}

    def _base(self, policy: FleetPolicy) -> _Compiled:
        base = self._compiled(policy, None)
        # What is wrong with a single cluster is said of that cluster.
        if base[0]:
            return base
        # It is wrong without a cluster.
        return self._compiled(policy, next(filter(policy.reaches, self.clusters)))

    def _compiled(self, policy: FleetPolicy, cluster: str | None) -> _Compiled:
        """Compile a policy for a cluster, or for none, and check it."""
        items = self.resources(cluster)
        version, found = policy.source.version(cluster)
        compiled = window_policy.compile_loaded(policy.config, items, cluster, version, list(found))
        # Without the resources of any cluster, nothing that is found of these is true of all.
        is_blind = not self.sees or (self.apart and cluster is None)
        made, results = planned(compiled, uninstalls=self.uninstalls, is_blind=is_blind)
        if made is None:
            return None, results
        plan, manifests = made
        slug = self.slugs[policy.name]
        output = PolicyOutput(slug, plan, manifests)
        delivered = self._delivered(slug, cluster, items)
        # What a base leaves out, its clusters have.
        if cluster or not self.sees:
            results += about(policy.config, apart.check(plan, manifests, delivered))
        if delivered or (self.sees and not cluster):
            output = self._split(output, delivered)
        return output, results

    def _delivered(
        self, slug: str, cluster: str | None, items: list[KubeObject]
    ) -> Delivery | None:
        """Return how the directory of a policy is delivered, of the base as of no cluster."""
        if not cluster or self.place is None:
            return None
        directory = normpath(f"{self.place}/{paths.directory(cluster)}/{slug}")
        return apart.find(items, directory)

    def _split(self, output: PolicyOutput, found: Delivery | None) -> PolicyOutput:
        """Return a policy's output with what is delivered by itself; a base has none of that."""
        together, folders = apart.split(output.plan, output.manifests)
        if found:
            together += found.kustomizations(output.plan, folders)
        return PolicyOutput(output.slug, output.plan, together, folders)


def planned(
    compiled: window_policy.Compiled, *, uninstalls: bool, is_blind: bool
) -> tuple[tuple[Plan, Sequence[emit.Manifest]] | None, list[Result]]:
    """Return a plan for files with its objects, None for an error, and all that is to be said.

    Where it `is_blind`, resources are not shown, and so not missed; nor are they where a policy is
    uninstalled: whoever cleans up names the targets, seen or not.
    """
    # Files are written, and nothing in the stream is changed.
    results = list(readonly.refused(compiled.results, compiled.adopted))
    if is_blind or uninstalls:
        results = [result for result in results if result.rule != rules.TARGET_UNSEEN.id]
    application = compiled.application
    if application is None or fails(results):
        return None, results
    if not uninstalls:
        return (application.plan, application.wanted), results
    # What stays only opens what is gated, and then can be deleted.
    plan = uninstall(application.plan)
    return (plan, emit.objects(plan)), results


def after(
    older: Iterable[bytes], plans: Sequence[tuple[KubeObject, Plan]], gated: policy_changes.Gated
) -> list[Result]:
    """Return what plans, each with its policy, have to do with what was rendered before them.

    That says by which zone data it was built, and which targets it held: one that is dropped while
    it is shut would stay suspended, as nobody is left to resume it.
    """
    before = list(_manifests(older))
    timetables_of = [plan.timetable for _, plan in plans]
    results = about(plans[0][0], policy_changes.forgotten(before, timetables_of, gated))
    manifests = list(map(KubeObject.parse, before))
    for config, plan in plans:
        recorded = zone_release.recorded(manifests, plan)
        results += about(config, list(zone_release.differing(plan, recorded)))
    return results


def _manifests(files: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the objects with timetables among some files."""
    for content in files:
        yield from timetables.manifests(content)
