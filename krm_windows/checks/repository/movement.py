"""What keeps moving below a closed Kustomization.

Releases, sources and image automations with a mind of their own.
"""

import re
from collections.abc import Iterator, Sequence

from krm_windows import rules
from krm_windows.checks.repository.gated import GatedCluster, Owned, described
from krm_windows.flux import Kustomization, Object
from krm_windows.flux.model import Finding, ObjectIdentity, reference
from krm_windows.gateable import HELM, IMAGE, SOURCE

# One version and no range of them (Masterminds/semver, which Flux reads them with).
_EXACT = re.compile(r"=?v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?\Z")
_MOVING = frozenset({(HELM, "HelmRelease"), (IMAGE, "ImageUpdateAutomation")})
_CHART = ("spec", "chart", "spec")


def moving(gated: GatedCluster) -> Iterator[Finding]:
    """Yield what changes between the windows though its delivery waits for them."""
    # Who takes what a source has: it is one fact, however many they are.
    users: dict[ObjectIdentity, list[Owned]] = {}
    for each in gated.windowed():
        for item in each.objects:
            # What is gated itself waits for its own window.
            if not _is_moving(item) or gated.gates(item):
                continue
            if item.group == IMAGE:
                yield _automation(gated, each, item)
                continue
            source = _source(item)
            # A closed source has no newer chart to take.
            if source is None or gated.gates(source):
                continue
            if source.kind == "HelmRepository":
                yield from _release(gated, each, item)
            else:
                users.setdefault(source, []).append((each, item))
    for source, owned in users.items():
        yield from _of_source(gated, source, owned)


def _is_moving(item: Object) -> bool:
    """Whether an object changes the cluster by itself, and is not suspended."""
    if (item.group, item.kind) not in _MOVING:
        return False
    return item.get("spec", "suspend") is not True


def _automation(gated: GatedCluster, each: Kustomization, item: Object) -> Finding:
    advice = gated.how_to_gate("it too", [(each, item)], gated.holds(each))
    message = (
        f"keeps committing while {each}, which delivers it, is closed: all its changes are applied "
        f"at once when that opens; {advice}"
    )
    return Finding(rules.AUTOMATION_MOVES, message, item, "spec")


def _source(release: Object) -> ObjectIdentity | None:
    # A chart as a source of its own (helm-controller v2), or one of a repository.
    path = "spec.chart.spec.sourceRef"
    if release.get("spec", "chartRef"):
        path = "spec.chartRef"
    return reference(release, release.namespace, *path.split("."))


def _release(gated: GatedCluster, each: Kustomization, item: Object) -> Iterator[Finding]:
    version = item.get(*_CHART, "version")
    if _is_fixed(version):
        return
    current = None if version is None else str(version)
    held = gated.holds(each)
    message = (
        f"installs every new chart that {version or '*'} allows, although {each} changes "
        f"{described(held)}; pin one version, or {gated.how_to_gate('it', [(each, item)], held)}"
    )
    yield Finding(rules.RELEASE_MOVES, message, item, "spec.chart.spec.version", current=current)


def _is_fixed(version: object) -> bool:
    """Whether a version names one chart; what Flux substitutes later may well do."""
    if not isinstance(version, str):
        return False
    return "${" in version or _EXACT.match(version) is not None


def _of_source(
    gated: GatedCluster, source: ObjectIdentity, users: Sequence[Owned]
) -> Iterator[Finding]:
    """Yield that a source moves, once for each release that uses it."""
    found = gated.cluster.objects.get(source)
    if found is None:
        return
    _, item = found
    # What is in another repository has no object here to judge.
    if item.get("spec", "suspend") is True or not _moves(item):
        return
    what = str(users[0][1]) if len(users) == 1 else "the HelmReleases that use it"
    # The source itself may stay open then, as others need it.
    held = frozenset[str]().union(*(gated.holds(by) for by, _ in users))
    advice = gated.how_to_gate(what, users, held)
    # Pinned, it would hold back what a Kustomization applies from it; a Bucket has no such field.
    kustomizations = gated.cluster.kustomizations.values()
    if item.kind != "Bucket" and not any(each.source == source for each in kustomizations):
        advice = f"pin `spec.ref` to one version, or {advice}"
    message = (
        f"keeps fetching new revisions for objects that should change only in windows; {advice}"
    )
    for _, user in users:
        yield Finding(
            rules.SOURCE_MOVES, message, item, "spec.ref", fact=str(item), of=user.identity
        )


def _moves(source: Object) -> bool:
    """Whether what a source fetches changes without a commit to this repository."""
    if source.group != SOURCE:
        return False
    # A digest or a commit is always the same content.
    if source.get("spec", "ref", "digest") or source.get("spec", "ref", "commit"):
        return False
    # It has no `ref`: whatever is put into it is taken.
    if source.kind == "Bucket":
        return True
    if source.kind not in ("GitRepository", "OCIRepository"):
        return False
    # A range in `semver` takes precedence over a tag (source-controller).
    if source.get("spec", "ref", "semver"):
        return True
    return source.get("spec", "ref", "tag") in (None, "latest")
