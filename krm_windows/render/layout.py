"""Many clusters below one directory: a base, and patches of it for each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from krm_windows.emit import Manifest
from krm_windows.plan.model import Plan
from krm_windows.render import flat, overlay
from krm_windows.render.apart import Folders
from krm_windows.render.flat import KUSTOMIZATION
from krm_windows.render.patch import Object

WINDOW = "reconciliation-window"
CLUSTERS = "clusters"

# From a cluster's directory up to the tree, and down to the base.
_TO_BASE = f"../../../{WINDOW}"


@dataclass(frozen=True, slots=True)
class PolicyOutput:
    """A policy as a cluster has it (or the base, from some version of it).

    `slug` is the name of its directory, `manifests` are what it yields. What must not hold them up
    is in `apart`, by directory.
    """

    slug: str
    plan: Plan
    manifests: Sequence[Manifest]
    apart: Folders = field(default_factory=dict)


def slugs(policies: Iterable[str]) -> dict[str, str]:
    """Return the name of each policy's directory.

    It is the policy's name, with the namespace where that would not distinguish them.
    """
    every = list(policies)
    plain = {policy: policy.partition("/")[2] for policy in every}
    if len(set(plain.values())) == len(every):
        return plain
    # All of them, not only the two: else a new policy would move the directory of another.
    return {policy: policy.replace("/", ".", 1) for policy in every}


def directory(cluster: str) -> str:
    """Return the directory of a cluster's windows, which is what Flux is pointed at."""
    return f"{CLUSTERS}/{cluster}/{WINDOW}"


def reference(slug: str) -> str:
    """Return how the kustomization of a cluster refers to the base of a policy."""
    return f"{_TO_BASE}/{slug}"


def base(part: PolicyOutput) -> dict[str, bytes]:
    """Return the files of a policy's base, by path."""
    # In a directory of its own, beside those of the clusters, which refer to it.
    files = flat.files(part.plan.policy, overlay.base(part.plan, part.manifests))
    return flat.below(f"{WINDOW}/{part.slug}", files)


def overlays(
    cluster: str,
    parts: Sequence[PolicyOutput],
    bases: Mapping[str, Sequence[Manifest]],
) -> dict[str, bytes]:
    """Return the files of a cluster as patches of the bases, which are named by slug, by path."""
    resources: list[str] = []
    patches: list[Object] = []
    files: dict[str, bytes] = {}
    for part in parts:
        # Objects that the base lacks are files of the cluster, beside the patches.
        based = bases[part.slug]
        added, changes = overlay.cluster(based, part.manifests)
        patches += changes
        contents = flat.objects(part.plan.policy, added)
        own = {_in(part, file): content for file, content in contents.items()}
        resources += [reference(part.slug), *own]
        files |= own
    whole = {**flat.kustomization(resources), "patches": patches}
    files[KUSTOMIZATION] = flat.content(names(parts), whole)
    for part in parts:
        files |= flat.below(part.slug, flat.apart_files(part.plan.policy, part.apart))
    return flat.below(directory(cluster), files)


def _in(part: PolicyOutput, name: str) -> str:
    """Return the name of an object's file among those of all policies of a cluster."""
    if part.slug == part.plan.name:
        return name
    # Two policies have one name, in different namespaces.
    return f"{part.slug}_{name}"


def names(parts: Sequence[PolicyOutput]) -> str:
    """Return the policies as a file that all of them yield names them."""
    return ", ".join(part.plan.policy for part in parts)
