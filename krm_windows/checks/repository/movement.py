"""What keeps moving below a closed Kustomization: releases, sources and image automations with a mind of their own."""

import re
from collections.abc import Iterator

from krm_windows import rules
from krm_windows.checks.repository.finding import Finding
from krm_windows.checks.repository.holding import Holding, described
from krm_windows.flux import Object
from krm_windows.flux.model import Identity, reference
from krm_windows.gateable import HELM, IMAGE, SOURCE

# One version and no range of them (Masterminds/semver, which Flux reads them with).
_EXACT = re.compile(r"=?v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?\Z")
_MOVING = frozenset({(HELM, "HelmRelease"), (IMAGE, "ImageUpdateAutomation")})
_CHART = ("spec", "chart", "spec")


def check(holding: Holding) -> Iterator[Finding]:
    """Yield what changes the cluster between the windows, though what delivers it waits for them."""
    for each in holding.windowed():
        when = f"{each} changes {described(holding.holds(each))}"
        moving = (
            item
            for item in each.objects
            if (item.group, item.kind) in _MOVING and not holding.gates(item)
        )
        for item in moving:
            if item.get("spec", "suspend") is True:
                continue
            if item.group == HELM:
                yield from _release(holding, item, when)
            else:
                message = (
                    f"goes on committing while {each}, which delivers it, waits: what it changed is applied all at "
                    "once when it opens; gate it too"
                )
                yield Finding(rules.AUTOMATION_MOVES, message, item, "spec")


def _release(holding: Holding, item: Object, waits: str) -> Iterator[Finding]:
    path = "spec.chartRef" if item.get("spec", "chartRef") else "spec.chart.spec.sourceRef"
    source = reference(item, item.namespace, *path.split("."))
    version = item.get(*_CHART, "version")
    if source is not None and source[1] == "HelmRepository" and not holding.gates(source):
        if not isinstance(version, str) or not (_EXACT.match(version) or "${" in version):
            message = f"takes every new chart that {version or '*'} allows, though {waits}; name one version, or gate it"
            current = str(version) if version is not None else None
            yield Finding(
                rules.RELEASE_MOVES, message, item, "spec.chart.spec.version", current=current
            )
    elif source is not None and not holding.gates(source):
        yield from _source(holding, source, item)


def _source(holding: Holding, source: Identity, user: Object) -> Iterator[Finding]:
    """Yield that a source moves: one fact, however many releases below closed Kustomizations use it."""
    found = holding.cluster.objects.get(source)
    if found is None or found[1].get("spec", "suspend") is True or not _moves(found[1]):
        return
    message = "goes on taking new revisions for what changes in windows only; pin what `spec.ref` names, or gate it"
    yield Finding(
        rules.SOURCE_MOVES, message, found[1], "spec.ref", fact=str(found[1]), of=str(user)
    )


def _moves(source: Object) -> bool:
    """Whether what a source fetches changes without a commit to this repository."""
    if (
        source.group != SOURCE
        or source.get("spec", "ref", "digest")
        or source.get("spec", "ref", "commit")
    ):
        return False
    if source.kind == "Bucket":
        return True
    tag = source.get("spec", "ref", "tag")
    fixed = tag not in (None, "latest") and not source.get("spec", "ref", "semver")
    return source.kind in ("GitRepository", "OCIRepository") and not fixed
