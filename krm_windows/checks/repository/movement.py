"""What keeps moving below a closed Kustomization.

Releases, sources and image automations with a mind of their own.
"""

import re
from collections.abc import Iterator, Sequence

from krm_windows import rules
from krm_windows.checks.repository.gated import HOW_TO_GATE, GatedCluster, described
from krm_windows.flux import Kustomization, Object
from krm_windows.flux.model import Finding, ObjectIdentity, reference
from krm_windows.gateable import HELM, IMAGE, SOURCE

# One version and no range of them (Masterminds/semver, which Flux reads them with).
_EXACT = re.compile(r"=?v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?\Z")
_MOVING = frozenset({(HELM, "HelmRelease"), (IMAGE, "ImageUpdateAutomation")})
_CHART_SOURCE = ("spec", "chart", "spec", "sourceRef")


def moving(gated: GatedCluster) -> Iterator[Finding]:
    """Yield what changes between the windows though its delivery waits for them."""
    # Who takes what a source has: it is one fact, however many they are.
    users: dict[ObjectIdentity, list[Object]] = {}
    for each in filter(gated.holds, gated.cluster.kustomizations.values()):
        for item in each.objects:
            # What is gated itself waits for its own window, what is suspended for a person.
            is_moving = (item.group, item.kind) in _MOVING
            if not is_moving or item.get("spec", "suspend") is True or gated.gates(item.identity):
                continue
            if item.group == IMAGE:
                message = (
                    f"keeps committing while {each}, which delivers it, is closed: all its changes "
                    f"are applied at once when that opens; gate it too {HOW_TO_GATE}"
                )
                yield Finding(rules.AUTOMATION_MOVES, message, item, "spec")
                continue
            # A chart as a source of its own (helm-controller v2), or one of a repository.
            path = ("spec", "chartRef") if item.get("spec", "chartRef") else _CHART_SOURCE
            source = reference(item, item.namespace, *path)
            # A closed source has no newer chart to take.
            if source is None or gated.gates(source):
                continue
            if source.kind == "HelmRepository":
                yield from _release(gated, each, item)
            else:
                users.setdefault(source, []).append(item)
    for source, releases in users.items():
        yield from _of_source(gated, source, releases)


def _release(gated: GatedCluster, each: Kustomization, item: Object) -> Iterator[Finding]:
    version = item.get("spec", "chart", "spec", "version")
    # What Flux substitutes later may well name one chart.
    if isinstance(version, str) and ("${" in version or _EXACT.match(version)):
        return
    current = None if version is None else str(version)
    message = (
        f"installs every new chart that {version or '*'} allows, although {each} changes "
        f"{described(gated.holds(each))}; pin one version, or gate it {HOW_TO_GATE}"
    )
    yield Finding(rules.RELEASE_MOVES, message, item, "spec.chart.spec.version", current=current)


def _of_source(
    gated: GatedCluster, source: ObjectIdentity, releases: Sequence[Object]
) -> Iterator[Finding]:
    """Yield that a source moves, once for each release that uses it."""
    # What is in another repository has no object here to judge.
    _, item = gated.cluster.objects.get(source, (None, None))
    if item is None or item.get("spec", "suspend") is True or not _moves(item):
        return
    advice = f"gate the HelmReleases that use it {HOW_TO_GATE}"
    # Pinned, it would hold back what a Kustomization applies from it; a Bucket has no such field.
    kustomizations = gated.cluster.kustomizations.values()
    if item.kind != "Bucket" and not any(each.source == source for each in kustomizations):
        advice = f"pin `spec.ref` to one version, or {advice}"
    message = (
        f"keeps fetching new revisions for objects that should change only in windows; {advice}"
    )
    for user in releases:
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
