"""Proof that taking the old windows out changes nothing else.

What every cluster has is compared, before and after. Only what reads a file that changes is built
again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from krm_windows import gateable, rules
from krm_windows.flux import Hints, Survey, survey
from krm_windows.flux.model import Cluster, Identity, Object
from krm_windows.gateable import KUSTOMIZE
from krm_windows.inventory import ORIGIN
from krm_windows.krm import Value
from krm_windows.krm.nodes import value
from krm_windows.migrate.cutover import Cutover
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.inputs import BuildInputs
from krm_windows.migrate.trees import Location
from krm_windows.results import Result
from krm_windows.system.checkout import Checkout

# What is compared of an object leaves these out: where kustomize says that it comes from, and the
# patches of a Flux Kustomization, which are applied when it is built.
_ANNOTATIONS = ("metadata", "annotations")
_SPEC = ("spec",)


@dataclass(frozen=True, slots=True)
class Edited(Checkout):
    """A directory as it would be with other files."""

    changed: Mapping[str, bytes | None] = field(default_factory=dict, compare=False)
    """Contents by path, None for files that are gone."""

    def read(self, path: str) -> bytes | None:
        """Return what a file holds."""
        # A link leads to a file that may be another one now.
        real = Checkout.real(self, path)
        if real is not None and real in self.changed:
            return self.changed[real]
        return Checkout.read(self, path)

    def names(self, path: str) -> list[str]:
        """Return what a directory holds."""
        prefix = ""
        above = Checkout.real(self, path)
        if above not in (None, "."):
            prefix = f"{above}/"
        found = Checkout.names(self, path)
        return [name for name in found if not self._is_gone(prefix + name)]

    def manifests(self) -> Iterator[str]:
        """Yield every YAML file."""
        for path in Checkout.manifests(self):
            if not self._is_gone(path):
                yield path

    def _is_gone(self, path: str) -> bool:
        return path in self.changed and self.changed[path] is None


def survey_after(
    before: Survey,
    inputs: BuildInputs,
    after: Cutover,
    hints: Hints | None,
) -> Survey:
    """Return what the clusters would have without the old windows."""
    changed: dict[str, bytes | None] = {**after.files, **dict.fromkeys(after.obsolete)}
    builds = inputs.builds
    tree = Edited(builds.tree.root, changed=changed)
    # What was built from files that stay is taken as it was.
    done = inputs.untouched(changed)
    again = replace(builds, tree=tree, done=done, read={}, plugins={}, artifacts={})
    roots = [cluster.root for cluster in before.clusters]
    return survey(tree, roots, again, hints)


def check(before: Survey, after: Survey, cutover: Cutover) -> Iterator[Result]:
    """Name what a cluster would have otherwise than before, apart from the old windows."""
    # The same roots, so the clusters are in the same order.
    for one, other in zip(before.clusters, after.clusters, strict=True):
        yield from _compared(one, other, cutover)


def _compared(
    before: Cluster,
    after: Cluster,
    cutover: Cutover,
) -> Iterator[Result]:
    one = _objects(before)
    other = _objects(after)
    for identity in sorted(one.keys() | other.keys()):
        was = one.get(identity)
        now = other.get(identity)
        wrong = _difference(was, now, removed=identity in cutover.removed)
        by_hand = identity in cutover.by_hand
        if wrong is _Difference.KEPT and by_hand:
            # It stays until somebody takes it out, but as it was.
            wrong = _difference(was, now, removed=False)
        if wrong is not None:
            yield _found(before, was or now, wrong)


class _Difference(Enum):
    """What a cluster would have otherwise, as the end of a sentence about an object."""

    ADDED = "would be applied, but is not applied now"
    LOST = "would no longer be applied"
    KEPT = "would still be applied"
    CHANGED = "would be changed"


def _difference(
    was: Object | None,
    now: Object | None,
    *,
    removed: bool,
) -> _Difference | None:
    """Return what is wrong with an object, before and after; `removed`: it is one that goes."""
    if was is None:
        return _Difference.ADDED
    if now is None and removed:
        return None
    if now is None:
        return _Difference.LOST
    if removed:
        return _Difference.KEPT
    if _said(was) != _said(now):
        return _Difference.CHANGED
    return None


def _found(
    cluster: Cluster,
    item: Object | None,
    wrong: _Difference,
) -> Result:
    location = Location(cluster.root, 1)
    if item is not None:
        # An object that was built has no file of its own, so that of its directory.
        location = Location(item.file or item.directory, item.lines_above + 1)
    message = (
        f"without the old windows, {item} {wrong.value} in {cluster.root}: remove them by hand"
    )
    return found_at(rules.MIGRATE_UNTRANSLATED, location, message)


def _objects(cluster: Cluster) -> dict[Identity, Object]:
    return {identity: item for identity, (_, item) in cluster.objects.items()}


def _said(item: Object) -> Value:
    """Return what an object says, as far as it is compared."""
    said = value(item.item.node)
    if not isinstance(said, dict):
        return said
    # Where an object comes from may change, what it says may not.
    said = _without(said, _ANNOTATIONS, ORIGIN)
    row = gateable.find(item.kind, item.api_version)
    # Absent and false are the same to its controller.
    if row is not None and item.get(*row.field) is False:
        said = _without(said, row.field[:-1], row.field[-1])
    if (item.group, item.kind) == (KUSTOMIZE, "Kustomization"):
        said = _without(said, _SPEC, "patches")
    return said


def _without(
    said: dict[str, Value],
    path: Sequence[str],
    key: str,
) -> dict[str, Value]:
    """Return a mapping without a key of the one at a path, and without that where it is empty."""
    first, *rest = path
    inner = said.get(first)
    if not isinstance(inner, dict):
        return said
    if rest:
        left = _without(inner, rest, key)
    else:
        left = {name: part for name, part in inner.items() if name != key}
    others = {name: part for name, part in said.items() if name != first}
    if not left:
        return others
    return {**others, first: left}
