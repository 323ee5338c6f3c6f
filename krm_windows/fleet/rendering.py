"""A fleet: policies rendered for many clusters.

Each is rendered on its own, so that any may be left out or done elsewhere.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from krm_windows import emit, rules
from krm_windows.checks import delivery, overlap, readonly, succession, timetables, zone_release
from krm_windows.checks.overlap import Claim
from krm_windows.fleet.members import Document, Member
from krm_windows.function import window_policy
from krm_windows.inventory import about
from krm_windows.krm import InputError, KubeObject
from krm_windows.plan import uninstall
from krm_windows.render import fleet as places
from krm_windows.render import overlay, stamp
from krm_windows.render.delivery import Template
from krm_windows.render.fleet import Layout, Part
from krm_windows.results import Result, fails

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a policy yields for a cluster, None where an error stands among the results."""

    part: Part | None
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Rendered:
    """Files by path (None: there is an error), and all that is to be said of them."""

    files: Files | None
    results: tuple[Result, ...]


def _nothing(_: str) -> tuple[Claim, ...]:
    return ()


@dataclass(frozen=True)
class Fleet:
    """Policies and the clusters that they are rendered for.

    `resources` gives what a transformer would see in a cluster, and for None what it would see in
    any: nothing, if that is `apart` for each. Where it `sees` nothing at all, targets are taken on
    trust. `elsewhere` gives what was rendered for a cluster of a name, but not in this tree.
    """

    members: tuple[Member, ...]
    clusters: tuple[str, ...]
    layout: Layout
    resources: Callable[[str | None], list[KubeObject]]
    sees: bool = False
    apart: bool = False
    uninstalls: bool = False
    delivery: Template | None = None
    elsewhere: Callable[[str], tuple[Claim, ...]] = _nothing

    @cached_property
    def slugs(self) -> Mapping[str, str]:
        """The name of each policy's directory."""
        return places.slugs(member.name for member in self.members)

    @cached_property
    def bases(self) -> Mapping[str, Compiled]:
        """What the base is made of, by policy.

        A policy is taken as it is for no cluster, or for the first where that is an error.
        """
        return {member.name: self._base(member) for member in self.members}

    @cached_property
    def _said(self) -> frozenset[str]:
        return frozenset(str(result) for base in self.bases.values() for result in base.results)

    def base(self) -> Rendered:
        """Return the files that all clusters share, none in the layout `flat`."""
        results = tuple(result for base in self.bases.values() for result in base.results)
        parts = [base.part for base in self.bases.values() if base.part]
        if len(parts) < len(self.bases):
            return Rendered(None, results)
        if self.layout == "flat":
            return Rendered({}, results)
        return Rendered(
            {path: content for part in parts for path, content in places.base(part).items()},
            results,
        )

    def render(self, cluster: str, older: Files) -> Rendered:
        """Return the files of a cluster, which take the place of older ones.

        They bear a stamp where there is nothing to say of them that is not said of the base.
        """
        reaching = [member for member in self.members if member.reaches(cluster)]
        compiled = [self._compiled(member, member.at(cluster), cluster) for member in reaching]
        parts = [one.part for one in compiled if one.part]
        results = [result for one in compiled for result in one.results]
        if len(parts) < len(compiled):
            return Rendered(None, tuple(results))
        overlaps = self._overlaps(cluster, parts)
        if overlaps:
            return Rendered(None, (*results, *overlaps))
        files = self._files(cluster, parts)
        changed = (content for path, content in older.items() if files.get(path) != content)
        results += about(reaching[0].at(cluster).config, self._forgotten(changed, parts))
        configs = [member.at(cluster).config for member in reaching]
        results += _zones(older.values(), list(zip(configs, parts, strict=True)))
        if {str(result) for result in results} <= self._said:
            files = stamp.seal(files, places.kustomization(cluster), self._key(cluster))
        return Rendered(None if fails(results) else files, tuple(results))

    def _overlaps(self, cluster: str, parts: Sequence[Part]) -> list[Result]:
        """Return what two policies of a cluster gate both.

        To clean up after both is no such thing.
        """
        if self.uninstalls:
            return []
        own = [replace(Claim.of(part.plan.timetable), cluster=cluster) for part in parts]
        around = self.elsewhere(cluster)
        found = list(overlap.among(own))
        for claim in own:
            found += [(claim, result) for result in overlap.check(claim, around)]
        documents = {
            member.name: member.at(cluster).config
            for member in self.members
            if member.reaches(cluster)
        }
        return [
            result for claim, each in found for result in about(documents[claim.policy], [each])
        ]

    def is_fresh(self, cluster: str, files: Files) -> bool:
        """Whether files are what rendering a cluster would yield.

        They are not where there is something to say of this cluster alone.
        """
        place = places.kustomization(cluster)
        names = {member.name for member in self.members}
        if any(claim.policy not in names for claim in self.elsewhere(cluster)):
            return False  # whether they share a target is known only when the policies are compiled
        return place in files and stamp.is_fresh(files, place, self._key(cluster))

    def _files(self, cluster: str, parts: Sequence[Part]) -> dict[str, bytes]:
        if self.layout == "flat":
            files = places.complete(cluster, parts)
        else:
            files = places.overlays(cluster, parts, self._waiting)
        return {**files, **(self.delivery.files(cluster, parts) if self.delivery else {})}

    @cached_property
    def _waiting(self) -> Mapping[str, Sequence[emit.Manifest]]:
        """The objects of each base, by directory."""
        parts = [base.part for base in self.bases.values() if base.part]
        return {part.slug: overlay.base(part.plan, part.manifests) for part in parts}

    def _key(self, cluster: str) -> str:
        """Return the digest of all that the files of a cluster depend on."""
        members = [member for member in self.members if member.reaches(cluster)]
        items = self.resources(cluster) if self.apart else ()
        return stamp.key(
            self._shared_key,
            cluster.encode(),
            *(
                part
                for member in members
                for part in (self.slugs[member.name].encode(), member.content(cluster))
            ),
            *(item.span for item in items),
        )

    @cached_property
    def _shared_key(self) -> bytes:
        """The digest of what the files of every cluster depend on.

        That is the base where they are patches of it.
        """
        options = f"{self.layout} {self.uninstalls}".encode()
        template = self.delivery.item.span if self.delivery else b""
        base = self.base().files or {}
        seen = [item.span for item in self.resources(None)]
        return stamp.key(options, template, *(base[path] for path in sorted(base)), *seen).encode()

    def _base(self, member: Member) -> Compiled:
        document = member.document
        if document is not None:
            compiled = self._compiled(member, document, None)
            if compiled.part:
                return Compiled(compiled.part, tuple(filter(self._holds_for_all, compiled.results)))
        first = next((cluster for cluster in self.clusters if member.reaches(cluster)), None)
        if first is None:
            raise InputError(f"the policy {member.name} reaches none of the clusters")
        return self._compiled(member, member.at(first), first)

    def _holds_for_all(self, result: Result) -> bool:
        """Whether what was found without the resources of any cluster can be true of all."""
        return not self.apart or result.tags["rule"] != rules.TARGET_UNSEEN.id

    def _compiled(self, member: Member, document: Document, cluster: str | None) -> Compiled:
        """Compile a policy for a cluster, or for none, and check it."""
        items = self.resources(cluster)
        policy, found = document.source.version(cluster)
        found = (*found, *(member.dropped(cluster) if cluster else ()))
        compiled = window_policy.compile_loaded(
            document.config, items, cluster, policy, list(found)
        )
        results = readonly.check(compiled.results, compiled.adopted)
        if (
            self.uninstalls or not self.sees
        ):  # where nothing is shown, and for whoever cleans up, it is no news
            results = [
                result for result in results if result.tags.get("rule") != rules.TARGET_UNSEEN.id
            ]
        if compiled.application is None or fails(results):
            return Compiled(None, tuple(results))
        plan = compiled.application.plan
        if self.delivery:
            results += delivery.check(self.delivery.item, plan.timetable.targets, items)
        wanted = compiled.application.wanted
        if self.uninstalls:
            plan = uninstall(plan)
            wanted = emit.objects(plan)
        return Compiled(
            None if fails(results) else Part(self.slugs[member.name], plan, wanted), tuple(results)
        )

    @staticmethod
    def _forgotten(older: Iterable[bytes], parts: Sequence[Part]) -> list[Result]:
        """Return what the policies of a cluster leave shut of those that were rendered before."""
        manifests = (manifest for content in older for manifest in timetables.manifests(content))
        return succession.forgotten(manifests, [part.plan.timetable for part in parts])


def _zones(older: Iterable[bytes], parts: Iterable[tuple[KubeObject, Part]]) -> list[Result]:
    """Return what the zone data of this build has to do with that of what was rendered before."""
    manifests = [
        KubeObject.parse(manifest)
        for content in older
        for manifest in timetables.manifests(content)
    ]
    results: list[Result] = []
    for config, part in parts:
        found = zone_release.check(part.plan, zone_release.recorded(manifests, part.plan))
        results += about(config, list(found))
    return results
