"""What keeps moving below a closed Kustomization.

Releases, sources and image automations with a mind of their own.
"""

import re
from collections.abc import Iterator

from krm_windows import rules
from krm_windows.checks.repository.finding import Finding
from krm_windows.checks.repository.gated import GatedCluster, described
from krm_windows.flux import Object
from krm_windows.flux.model import ObjectIdentity, reference
from krm_windows.gateable import HELM, IMAGE, SOURCE

# One version and no range of them (Masterminds/semver, which Flux reads them with).
_EXACT = re.compile(r"=?v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?\Z")
_MOVING = frozenset({(HELM, "HelmRelease"), (IMAGE, "ImageUpdateAutomation")})
_CHART = ("spec", "chart", "spec")


def check(gated: GatedCluster) -> Iterator[Finding]:
    """Yield what changes between the windows though its delivery waits for them."""
    for each in gated.windowed():
        when = f"{each} changes {described(gated.holds(each))}"
        for item in each.objects:
            # What is gated itself waits for its own window.
            if not _is_moving(item) or gated.gates(item):
                continue
            if item.group == HELM:
                yield from _release(gated, item, when)
                continue
            message = (
                f"keeps committing while {each}, which delivers it, is closed: all its changes "
                "are applied at once when that opens; gate it too"
            )
            yield Finding(rules.AUTOMATION_MOVES, message, item, "spec")


def _is_moving(item: Object) -> bool:
    """Whether an object changes the cluster by itself, and is not suspended."""
    if (item.group, item.kind) not in _MOVING:
        return False
    return item.get("spec", "suspend") is not True


def _release(
    gated: GatedCluster,
    item: Object,
    waits: str,
) -> Iterator[Finding]:
    # A chart as a source of its own (helm-controller v2), or one of a repository.
    path = "spec.chart.spec.sourceRef"
    if item.get("spec", "chartRef"):
        path = "spec.chartRef"
    source = reference(item, item.namespace, *path.split("."))
    # A closed source has no newer chart to take.
    if source is None or gated.gates(source):
        return
    if source.kind != "HelmRepository":
        yield from _source(gated, source, item)
        return
    version = item.get(*_CHART, "version")
    if not _is_fixed(version):
        current = None
        if version is not None:
            current = str(version)
        message = (
            f"installs every new chart that {version or '*'} allows, although {waits}; pin one "
            "version, or gate it"
        )
        field = "spec.chart.spec.version"
        yield Finding(rules.RELEASE_MOVES, message, item, field, current=current)


def _is_fixed(version: object) -> bool:
    """Whether a version names one chart; what Flux substitutes later may well do."""
    if not isinstance(version, str):
        return False
    return "${" in version or _EXACT.match(version) is not None


def _source(
    gated: GatedCluster,
    source: ObjectIdentity,
    user: Object,
) -> Iterator[Finding]:
    """Yield that a source moves.

    It is one fact, however many releases below closed Kustomizations use it.
    """
    found = gated.cluster.objects.get(source)
    if found is None:
        return
    _, item = found
    # What is in another repository has no object here to judge.
    if item.get("spec", "suspend") is True or not _moves(item):
        return
    message = (
        "keeps fetching new revisions for objects that should change only in windows; pin "
        "`spec.ref`, or gate it"
    )
    yield Finding(rules.SOURCE_MOVES, message, item, "spec.ref", fact=str(item), of=user.identity)


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
