"""What a first policy gates on a cluster, so that nothing changes there outside its windows.

Every Flux Kustomization but those that deliver the windows, the HelmReleases that the root applies
itself, and what would change by itself though its Kustomization is closed: a chart that is a range
of versions, a source that follows a tag.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from krm_windows import gateable, rules
from krm_windows.checks.repository import movement, order
from krm_windows.checks.repository.delivered import waits_for
from krm_windows.checks.repository.gated import GatedCluster, is_windows
from krm_windows.flux import Cluster, Gate, Kustomization, Object, objects, substitution
from krm_windows.flux.cluster_directories import is_instance_release
from krm_windows.flux.follow import ROOT
from krm_windows.flux.model import Identity, ObjectIdentity
from krm_windows.gate.timetable import Target
from krm_windows.gateable import SUSPEND
from krm_windows.krm import InputError
from krm_windows.system.checkout import Checkout


@dataclass(frozen=True, slots=True)
class FirstTargets:
    """What a policy in the directory of a cluster may gate.

    `targets` are group, kind, namespace and name of each, in order. `beyond` are those of them
    that no file of the cluster's own directory has. Another policy has those that are `gated`;
    others are `left_out`, each with the reason.
    """

    targets: tuple[Identity, ...]
    beyond: frozenset[Identity]
    gated: tuple[Identity, ...]
    left_out: Mapping[Identity, str]


def propose(cluster: Cluster, tree: Checkout) -> FirstTargets:
    """Return what a policy in the directory of a cluster should gate.

    The root Kustomization is never among it: it delivers the windows, and closed it would deliver
    no change of them.
    """
    existing = GatedCluster(cluster)
    remote = frozenset(_elsewhere(cluster))
    delivered = {each.identity: each for each in _delivered(cluster) if each.identity not in remote}
    every = delivered.keys() | set(_releases(cluster)) - remote
    # No target has two policies: it would be open only while both are.
    gated = set(filter(existing.gates, every))
    shared = set(_sharing(cluster, delivered)) - gated
    wanted = every - gated - shared
    # Of several releases that take one moving source each is found by itself.
    while moving := _moving(cluster, wanted) - remote:
        wanted |= moving
    unnamed = {each for each in wanted if _is_unnamed(each)}
    wanted -= unnamed
    # What `--resources` of the directory reads; the rest comes from other directories.
    own_files = frozenset(_written(tree, cluster.root))
    suspended = list(_suspended(cluster, wanted))
    wanted -= {item.identity for item in suspended}
    needed = _needed(cluster, wanted) | dict(_awaited(existing, wanted))
    wanted -= needed.keys()
    same = f"because {cluster.first} applies the same objects"
    return FirstTargets(
        targets=tuple(sorted(wanted)),
        beyond=frozenset(wanted - own_files),
        gated=tuple(sorted(gated)),
        left_out={
            **dict.fromkeys(sorted(unnamed), "whose name is known only in the cluster"),
            **{item.identity: _until_removed(item) for item in suspended},
            **dict.fromkeys(sorted(shared), same),
            **{
                each: f"because {needed[each]} waits for it and stays open"
                for each in sorted(needed)
            },
        },
    )


def _until_removed(item: Object) -> str:
    """Say what `suspend` of an object in Git does to the windows, and what to do."""
    does = "would undo every close"
    if item.get(*SUSPEND) is True:
        does = "keeps it closed for good, as a window opens only what it has closed"
    where = item.file or "what builds it"
    return f"until `suspend: {str(item.get(*SUSPEND)).lower()}` is removed from {where}: it {does}"


def _sharing(
    cluster: Cluster,
    delivered: Mapping[ObjectIdentity, Kustomization],
) -> Iterator[Identity]:
    """Yield the Kustomizations that apply what the root applies as well."""
    direct = {item.identity for item in cluster.first.objects}
    for own, each in delivered.items():
        # What goes to another cluster is no object of the root's, whatever it is called.
        if cluster.destination(each):
            continue
        if not direct.isdisjoint(item.identity for item in each.objects):
            yield own


def _elsewhere(cluster: Cluster) -> Iterator[Identity]:
    """Yield the objects of another cluster, which no Job of this one reaches."""
    here: set[Identity] = set()
    there: set[Identity] = set()
    for each in cluster.kustomizations.values():
        applied = {item.identity for item in each.objects}
        if cluster.destination(each):
            there |= applied
        else:
            here |= applied
    yield from there - here


def _written(tree: Checkout, directory: str) -> Iterator[Identity]:
    """Yield the objects of the files below a directory, as they are written there."""
    for path in tree.manifests():
        if directory != "." and not path.startswith(f"{directory}/"):
            continue
        try:
            for item in objects.written(tree.read(path) or b"", path):
                yield item.identity
        except InputError:
            # It is reported where it is built.
            continue


def _delivered(cluster: Cluster) -> Iterator[Kustomization]:
    """Yield the Kustomizations that are objects of a cluster, but for its root."""
    for each in cluster.kustomizations.values():
        # The build refuses the name, which is that of a root nearly everywhere.
        is_root = each is cluster.first or each.key == ROOT
        # One that only `flux create` made is no object of Git, and so not known here.
        if not is_root and each.identity in cluster.objects and not is_windows(each):
            yield each


def _releases(cluster: Cluster) -> Iterator[ObjectIdentity]:
    """Yield the HelmReleases that the root applies, but for the one that syncs the cluster."""
    for item in cluster.first.objects:
        is_release = (item.group, item.kind) == (gateable.HELM, "HelmRelease")
        if is_release and not is_instance_release(item):
            yield item.identity


def _is_unnamed(found: Identity) -> bool:
    """Whether only the cluster knows the whole name of an object."""
    return not found[2] or any(map(substitution.has_variable, found))


def _suspended(cluster: Cluster, wanted: Collection[Identity]) -> Iterator[Object]:
    """Yield the objects of `wanted` that have the field in Git that a window writes."""
    for each in sorted(wanted):
        _, item = cluster.objects[each]
        if item.get(*SUSPEND) is not None:
            yield item


def _closed(cluster: Cluster, wanted: Iterable[Identity]) -> GatedCluster:
    """Return a cluster with a policy of `wanted`."""
    # Any object will do: of a policy that is not written yet no finding names a place.
    _, manifest = next(iter(cluster.objects.values()))
    own = Gate(
        policy="init",
        targets=tuple(_target(each) for each in wanted),
        manifest=manifest,
        path="",
    )
    return GatedCluster(replace(cluster, gates=(*cluster.gates, own)))


def _needed(cluster: Cluster, wanted: Collection[Identity]) -> dict[Identity, str]:
    """Return all of `wanted` for which something waits that stays open, with the name of that."""
    needed: dict[Identity, str] = {}
    left = set(wanted)
    # What one of these waits for is found by itself.
    while found := _blocking(cluster, left):
        needed |= found
        left -= found.keys()
    return needed


def _awaited(gated: GatedCluster, wanted: Collection[Identity]) -> Iterator[tuple[Identity, str]]:
    """Yield all of `wanted` that the root waits for, which delivers the windows."""
    root = gated.cluster.first
    for key in root.depends_on:
        for each in waits_for(gated, key):
            if each.identity in wanted:
                yield each.identity, str(root)


def _blocking(cluster: Cluster, wanted: Collection[Identity]) -> dict[Identity, str]:
    """Return those of `wanted` that would block what stays open, each with the name of that.

    kustomize-controller lets it fail while what it waits for has an older revision.
    """
    found: dict[Identity, str] = {}
    if not wanted:
        return found
    for finding in order.inverted(_closed(cluster, wanted)):
        dependency = cluster.kustomizations.get(finding.current or "")
        if finding.rule is not rules.DEPENDS_BLOCKED or dependency is None:
            continue
        blocking = dependency.identity
        # Of another policy it is not for this one to say.
        if blocking in wanted:
            found[blocking] = str(finding.about)
    return found


def _moving(cluster: Cluster, wanted: Collection[Identity]) -> frozenset[ObjectIdentity]:
    """Return what would change by itself if only `wanted` were gated, as `check --repo` says."""
    if not wanted:
        return frozenset()
    closed = _closed(cluster, wanted)
    found = set()
    for finding in movement.moving(closed):
        moving = finding.about
        # A source that moves is harmless once the release is closed that takes what it has; the
        # source itself stays open, as others may need it.
        if finding.rule is rules.SOURCE_MOVES and finding.of is not None:
            _, moving = cluster.objects[finding.of]
        if moving is not None and _is_gateable(moving.identity):
            found.add(moving.identity)
    return frozenset(found.difference(wanted))


def _is_gateable(found: Identity) -> bool:
    group, kind, _, _ = found
    api_version = f"{group}/v1"
    return gateable.find(kind, api_version) is not None


def _target(found: Identity) -> Target:
    """Return what stands for a target where only its identity matters."""
    group, kind, namespace, name = found
    return Target(group, "", kind, namespace, name)
