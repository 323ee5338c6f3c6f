"""Proof that taking the old windows out changes nothing else: what every cluster has, before and after, is compared.

Only what reads a file that changes is built again.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from krm_windows import rules
from krm_windows.flux import Hints, Survey, survey
from krm_windows.flux.model import Cluster, Identity, Object
from krm_windows.flux.objects import ORIGIN
from krm_windows.gateable import KUSTOMIZE
from krm_windows.krm import Value
from krm_windows.krm.nodes import value
from krm_windows.migrate.applied import Applied
from krm_windows.migrate.cutover import Cutover
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.trees import Place
from krm_windows.results import Result
from krm_windows.system.checkout import Checkout


@dataclass(frozen=True, slots=True)
class Edited(Checkout):
    """A directory as it would be with other files: `changed` gives contents by path, None for those that are gone."""

    changed: Mapping[str, bytes | None] = field(default_factory=dict, compare=False)

    def read(self, path: str) -> bytes | None:
        """Return what a file holds."""
        real = Checkout.real(self, path)
        if real is not None and real in self.changed:
            return self.changed[real]
        return Checkout.read(self, path)

    def names(self, path: str) -> list[str]:
        """Return what a directory holds."""
        above = Checkout.real(self, path)
        prefix = "" if above in (None, ".") else f"{above}/"
        return [
            name
            for name in Checkout.names(self, path)
            if self.changed.get(prefix + name, b"") is not None
        ]

    def manifests(self) -> Iterator[str]:
        """Yield every YAML file."""
        return (
            path for path in Checkout.manifests(self) if self.changed.get(path, b"") is not None
        )


def check(
    before: Survey, applied: Applied, after: Cutover, hints: Hints | None
) -> Iterator[Result]:
    """Name what a cluster would have otherwise than before, apart from the old windows."""
    changed: dict[str, bytes | None] = {**after.files, **dict.fromkeys(after.obsolete)}
    builds = applied.builds
    tree = Edited(builds.tree.root, changed=changed)
    again = replace(builds, tree=tree, done=applied.untouched(changed), read={}, plugins={})
    roots = [cluster.root for cluster in before.clusters]
    seen = survey(tree, roots, again, hints)
    for one, other in zip(before.clusters, seen.clusters, strict=True):
        yield from _compared(one, other, after)


def _compared(before: Cluster, after: Cluster, cutover: Cutover) -> Iterator[Result]:
    one, other = _objects(before), _objects(after)
    for identity in sorted(one.keys() | other.keys()):
        was, now = one.get(identity), other.get(identity)
        goes = identity in cutover.going
        if was is None:
            yield _found(before, now, "would be applied, which it is not now")
        elif now is None and not goes:
            yield _found(before, was, "would be applied no more")
        elif now is not None and goes and identity not in cutover.by_hand:
            yield _found(before, was, "would still be applied")
        elif now is not None and _said(was) != _said(now):
            yield _found(before, was, "would be changed")


def _found(cluster: Cluster, item: Object | None, what: str) -> Result:
    file = (item.file or item.directory) if item is not None else cluster.root
    message = f"without the old windows, {item} {what} in {cluster.root}: take them out by hand"
    return found_at(
        rules.MIGRATE_UNTRANSLATED, Place(file, item.first + 1 if item is not None else 1), message
    )


def _objects(cluster: Cluster) -> dict[Identity, Object]:
    return {identity: item for identity, (_, item) in cluster.objects.items()}


def _said(item: Object) -> Value:
    """Return what an object says, but for where it comes from, and the patches of a Flux Kustomization."""
    said = value(item.item.node)
    if not isinstance(said, dict):
        return said
    said = _without(said, ("metadata", "annotations"), {ORIGIN})
    if (item.group, item.kind) == (KUSTOMIZE, "Kustomization"):
        said = _without(said, ("spec",), {"patches"})
    return said


def _without(
    said: dict[str, Value], path: Collection[str], keys: Collection[str]
) -> dict[str, Value]:
    """Return a mapping without some keys of the one at a path, and without that where it is empty then."""
    first, *rest = path
    inner = said.get(first)
    if not isinstance(inner, dict):
        return said
    left = (
        _without(inner, rest, keys)
        if rest
        else {key: part for key, part in inner.items() if key not in keys}
    )
    others = {key: part for key, part in said.items() if key != first}
    return {**others, first: left} if left else others
