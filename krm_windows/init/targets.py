"""What a first policy gates on a cluster.

Every Flux Kustomization but those that deliver the windows, and the HelmReleases that the root
applies itself. What changes although these are closed, and what must not be closed, is for
`check --repo` to say.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from krm_windows import gateable
from krm_windows.checks.repository.gated import GatedCluster, is_windows
from krm_windows.flux import Cluster, objects, substitution
from krm_windows.flux.cluster_directories import is_instance_release
from krm_windows.flux.follow import ROOT
from krm_windows.flux.model import ObjectIdentity
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

    targets: tuple[ObjectIdentity, ...]
    beyond: frozenset[ObjectIdentity]
    gated: tuple[ObjectIdentity, ...]
    left_out: Mapping[ObjectIdentity, str]


def propose(cluster: Cluster, tree: Checkout) -> FirstTargets:
    """Return what a policy in the directory of a cluster should gate.

    The root Kustomization is never among it: it delivers the windows, and closed it would deliver
    no change of them.
    """
    every = {*_delivered(cluster), *_releases(cluster)}.intersection(_here(cluster))
    # No target has two policies: it would be open only while both are.
    gated = set(filter(GatedCluster(cluster).gates, every))
    left_out: dict[ObjectIdentity, str] = {}
    for each in sorted(every - gated):
        _, item = cluster.objects[each]
        if not each.namespace or any(map(substitution.has_variable, each)):
            left_out[each] = "whose name is known only in the cluster"
        elif item.get(*SUSPEND) is not None:
            left_out[each] = (
                f"until `suspend` is removed from {item.file or 'what builds it'}: what Git says "
                "of it wins over the windows"
            )
    targets = tuple(sorted(every - gated - left_out.keys()))
    # What `--resources` of the directory reads; the rest comes from other directories.
    beyond = frozenset(targets).difference(_written(tree, cluster.root))
    return FirstTargets(targets, beyond, tuple(gated), left_out)


def _here(cluster: Cluster) -> Iterator[ObjectIdentity]:
    """Yield the objects of this cluster; those of another one no Job of this one reaches."""
    for each in cluster.kustomizations.values():
        if not cluster.destination(each):
            for item in each.objects:
                yield item.identity


def _written(tree: Checkout, directory: str) -> Iterator[ObjectIdentity]:
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


def _delivered(cluster: Cluster) -> Iterator[ObjectIdentity]:
    """Yield the Kustomizations that are objects of a cluster, but for its root."""
    for each in cluster.kustomizations.values():
        # The build refuses the name, which is that of a root nearly everywhere.
        is_root = each is cluster.first or each.key == ROOT
        # One that only `flux create` made is no object of Git, and so not known here.
        if not is_root and each.identity in cluster.objects and not is_windows(each):
            yield each.identity


def _releases(cluster: Cluster) -> Iterator[ObjectIdentity]:
    """Yield the HelmReleases that the root applies, but for the one that syncs the cluster."""
    for item in cluster.first.objects:
        is_release = (item.group, item.kind) == (gateable.HELM, "HelmRelease")
        if is_release and not is_instance_release(item):
            yield item.identity
