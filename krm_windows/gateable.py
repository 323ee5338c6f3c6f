"""What a window may gate: one table, and the kinds that are refused with a reason.

The group, the plural and the field are facts of each project's API; `applied` names the `status`
fields by which a controller says that it has applied an object at least once.
"""

from typing import NamedTuple

SUSPEND = ("spec", "suspend")
PAUSED = ("spec", "paused")

GROUP = "krm-windows.dev"
"""The API group of WindowPolicy and ChangeClasses."""
KUSTOMIZE = "kustomize.toolkit.fluxcd.io"
HELM = "helm.toolkit.fluxcd.io"
SOURCE = "source.toolkit.fluxcd.io"
IMAGE = "image.toolkit.fluxcd.io"
FLEET = "fleet.cattle.io"


class Gateable(NamedTuple):
    """A kind whose reconciliation one boolean field stops."""

    kind: str
    group: str
    resource: str
    field: tuple[str, ...] = SUSPEND
    applied: tuple[str, ...] = ()

    @property
    def is_source(self) -> bool:
        """Whether gating it holds new revisions back while drift is still corrected."""
        return self.group == SOURCE


TABLE: tuple[Gateable, ...] = (
    Gateable("Kustomization", KUSTOMIZE, "kustomizations", applied=("lastAppliedRevision",)),
    Gateable("HelmRelease", HELM, "helmreleases", applied=("history",)),
    Gateable("GitRepository", SOURCE, "gitrepositories", applied=("artifact",)),
    Gateable("OCIRepository", SOURCE, "ocirepositories", applied=("artifact",)),
    Gateable("Bucket", SOURCE, "buckets", applied=("artifact",)),
    Gateable("HelmRepository", SOURCE, "helmrepositories", applied=("artifact",)),
    Gateable("HelmChart", SOURCE, "helmcharts", applied=("artifact",)),
    Gateable("ImageRepository", IMAGE, "imagerepositories"),
    Gateable("ImagePolicy", IMAGE, "imagepolicies"),
    Gateable("ImageUpdateAutomation", IMAGE, "imageupdateautomations"),
    Gateable("GitRepo", FLEET, "gitrepos", PAUSED),
    Gateable("Bundle", FLEET, "bundles", PAUSED),
    Gateable("Cluster", "cluster.x-k8s.io", "clusters", PAUSED),
    Gateable("SveltosCluster", "lib.projectsveltos.io", "sveltosclusters", PAUSED),
    Gateable("CronJob", "batch", "cronjobs"),
)

# The short names that kubectl takes: those of a CustomResourceDefinition (`spec.names.shortNames`),
# those of older releases included, and that of `cronjobs`.
_SHORT = {
    "ks": "Kustomization",
    "hr": "HelmRelease",
    "gitrepo": "GitRepository",
    "ocirepo": "OCIRepository",
    "helmrepo": "HelmRepository",
    "hc": "HelmChart",
    "imgrepo": "ImageRepository",
    "imagerepo": "ImageRepository",
    "imgpol": "ImagePolicy",
    "imagepol": "ImagePolicy",
    "iua": "ImageUpdateAutomation",
    "imgupd": "ImageUpdateAutomation",
    "imgauto": "ImageUpdateAutomation",
    "cj": "CronJob",
}

_NO_FIELD = "it has no field that stops its reconciliation"
_EVENTS = "its events would be dropped, not queued"

REFUSED: dict[tuple[str, str], str] = {
    ("ExternalArtifact", SOURCE): _NO_FIELD,
    ("ArtifactGenerator", "source.extensions.fluxcd.io"): _NO_FIELD,
    ("FluxInstance", "fluxcd.controlplane.io"): _NO_FIELD,
    ("FluxReport", "fluxcd.controlplane.io"): _NO_FIELD,
    ("ResourceSet", "fluxcd.controlplane.io"): _NO_FIELD,
    ("ResourceSetInputProvider", "fluxcd.controlplane.io"): _NO_FIELD,
    ("Alert", "notification.toolkit.fluxcd.io"): _EVENTS,
    ("Provider", "notification.toolkit.fluxcd.io"): _EVENTS,
    ("Receiver", "notification.toolkit.fluxcd.io"): _EVENTS,
}


def group_of(api_version: str) -> str:
    """Return the group of an `apiVersion`, empty for the core group."""
    group, slash, _ = api_version.partition("/")
    # `v1` alone is the core group (k8s.io/apimachinery, schema.ParseGroupVersion).
    if not slash:
        return ""
    return group


def find(kind: str, api_version: str | None = None) -> Gateable | None:
    """Return the table's row for a kind, of the group of `api_version` where one is given."""
    for row in TABLE:
        if row.kind == kind and _is_of(row.group, api_version):
            return row
    return None


def named(word: str) -> Gateable | None:
    """Return the kind that kubectl means by a word, such as `ks`, or `kustomizations.v1.GROUP`."""
    resource, _, group = word.lower().partition(".")
    # `kustomizations.v1.kustomize.toolkit.fluxcd.io`: the version says nothing of the kind.
    if group.startswith(("v1", "v2")):
        group = group.partition(".")[2]
    for row in TABLE:
        if group not in ("", row.group):
            continue
        if resource in (row.resource, row.kind.lower()) or _SHORT.get(resource) == row.kind:
            return row
    return None


def refusal(kind: str, api_version: str | None = None) -> str | None:
    """Return why a kind can never be gated, or None where nothing speaks against it."""
    for (refused, group), why in REFUSED.items():
        if refused == kind and _is_of(group, api_version):
            return why
    return None


def _is_of(group: str, api_version: str | None) -> bool:
    """Whether an `apiVersion` is of a group; without one, the kind alone decides."""
    return api_version is None or group_of(api_version) == group
