"""What objects of Flux have applied, and what their sources offer, as their status says it.

Read in kustomize-controller 1.9, helm-controller 1.6 and source-controller 1.9.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from krm_windows.gate.annotations import GENERATION, UNREADABLE
from krm_windows.gate.objects import dig
from krm_windows.gate.timetable import Target

SOURCE = "source.toolkit.fluxcd.io"
# What a Kustomization, a HelmRelease or a HelmChart can name as its source, with its plural.
RESOURCES = {
    "GitRepository": "gitrepositories",
    "OCIRepository": "ocirepositories",
    "Bucket": "buckets",
    "HelmRepository": "helmrepositories",
    "HelmChart": "helmcharts",
    "ExternalArtifact": "externalartifacts",
}
_KUSTOMIZATION = ("kustomize.toolkit.fluxcd.io", "Kustomization")
_RELEASE = ("helm.toolkit.fluxcd.io", "HelmRelease")
KINDS = (_KUSTOMIZATION, _RELEASE)
"""Group and kind of what notes the revision that it has applied."""
_OF_A_RELEASE = ("version", "chartVersion", "ociDigest", "configDigest")
ELSEWHERE = (("postBuild", "substituteFrom"), ("valuesFrom",))
"""The fields of their specs that name ConfigMaps and Secrets to take values from."""

# What becomes a part of a path to the API server: names of objects (RFC 1123).
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


class Source(NamedTuple):
    """Where a revision comes from."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """Name it as `GitRepository flux-system/fleet`."""
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def target(self) -> Target | None:
        """It as the client of the API server takes it; None for what is no source of Flux."""
        names = (self.namespace, self.name)
        if self.kind not in RESOURCES or not all(map(_NAME.fullmatch, names)):
            return None
        return Target(SOURCE, RESOURCES[self.kind], self.kind, self.namespace, self.name)


def text(value: object, *path: str) -> str:
    """Return a text at a path, empty where there is none."""
    found = dig(value, *path)
    return found if isinstance(found, str) else ""


def is_same(applied: str, offered: str) -> bool:
    """Say whether two revisions name the same content.

    A tag can be moved, and `latest@sha256:1...` and `v2@sha256:1...` are one artifact. Of Git the
    branch counts (`main@sha1:...`): another one may have another commit the next moment.
    """
    digest = _digest(applied)
    if digest.startswith("sha256:") and _digest(offered):
        return digest == _digest(offered)
    return applied == offered


def _digest(revision: str) -> str:
    """Return the digest of `6.6.2@sha256:...`, empty where there is none."""
    return revision.rpartition("@")[2] if "@" in revision else ""


def source(live: object, namespace: str, *path: str) -> Source:
    """Return what a reference at a path names, for an object of a namespace."""
    # Of the object's own namespace unless it names another one (CrossNamespaceSourceReference).
    home = text(live, *path, "namespace") or namespace
    return Source(text(live, *path, "kind"), home, text(live, *path, "name"))


def chart(live: object, namespace: str) -> Source | None:
    """Return where a HelmRelease has its chart from; None before helm-controller has seen to it."""
    if text(live, "spec", "chartRef", "kind"):
        return source(live, namespace, "spec", "chartRef")
    # `namespace/name` of the HelmChart that helm-controller made.
    home, slash, name = text(live, "status", "helmChart").partition("/")
    return Source("HelmChart", home, name) if slash else None


def _history(live: object) -> list[object]:
    """Return the releases of a HelmRelease, the newest first."""
    history = dig(live, "status", "history")
    return history if isinstance(history, list) else []


def deployed(live: object) -> tuple[str, str]:
    """Return the version of the chart that a HelmRelease has installed, and its digest from OCI."""
    # An upgrade that failed stands before the release that is still installed.
    # Its own statuses are those of Helm: deployed, superseded, failed, uninstalled.
    for snapshot in _history(live):
        if text(snapshot, "status") == "deployed":
            return text(snapshot, "chartVersion"), text(snapshot, "ociDigest")
    return "", ""


def reconciled(live: object) -> str:
    """Return what a Kustomization or a HelmRelease has applied last, in one text.

    Of a release that is the chart, its values and how often Helm has released it: they may be
    rolled back.
    """
    applied = text(live, "status", "lastAppliedRevision")
    history = _history(live)
    if applied or not history:
        return applied
    return " ".join(str(dig(history[0], key)) for key in _OF_A_RELEASE)


def is_installed(version: str, digest: str, offered: str) -> bool:
    """Say whether the chart of a revision is the one that is installed.

    helm-controller installs `6.6.2@sha256:...` of an OCIRepository as `6.6.2+<digest>`, and notes
    `sha256:...` as the digest; of `latest@sha256:...` all of it.
    """
    if digest:
        return digest == _digest(offered) or is_same(digest, offered)
    return version == offered


def by_closing(live: object) -> int | None:
    """Return the generation that an open object has once it is closed, if its spec was reconciled.

    `status.observedGeneration` is that of the spec with which a reconcile began. Controllers raise
    it while the object is suspended, too, so it tells what was reconciled only as long as that is
    open. What conditions note tells it never: they are written for the newest generation, whichever
    was reconciled (fluxcd/pkg, runtime/patch).
    """
    generation = dig(live, "metadata", "generation")
    is_reconciled = dig(live, "status", "observedGeneration") == generation
    return generation + 1 if isinstance(generation, int) and is_reconciled else None


def noted(closed_by: str) -> int | None:
    """Return the generation that a closed-by annotation notes, if it does."""
    try:
        found = dig(json.loads(closed_by), GENERATION)
    except UNREADABLE:
        return None
    return found if isinstance(found, int) else None


def taken_from_elsewhere(live: object) -> Iterator[str]:
    """Yield each field by which an object takes values from ConfigMaps and Secrets."""
    for field in ELSEWHERE:
        if dig(live, "spec", *field):
            yield ".".join(field)
