"""What a window may gate: one table, and the kinds that are refused with a reason.

The group, the plural, the field and the scope are facts of each project's API; `applied` names the
`status` fields by which a controller says that it has applied an object at least once.
"""

from typing import Literal, NamedTuple

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
    """A kind whose reconciliation one boolean field stops; `field` is empty where none is known."""

    kind: str
    group: str
    resource: str
    field: tuple[str, ...] = SUSPEND
    applied: tuple[str, ...] = ()
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"

    @property
    def is_source(self) -> bool:
        """Whether gating it holds new revisions back while drift is still corrected."""
        return self.group == SOURCE


KINDS: tuple[Gateable, ...] = (
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
    Gateable(
        "MachineConfigPool",
        "machineconfiguration.openshift.io",
        "machineconfigpools",
        PAUSED,
        scope="Cluster",
    ),
    Gateable("CronOperation", "ops.crossplane.io", "cronoperations", scope="Cluster"),
    Gateable("NodePool", "karpenter.sh", "nodepools", (), scope="Cluster"),
    Gateable("NodeClaim", "karpenter.sh", "nodeclaims", (), scope="Cluster"),
    Gateable("EC2NodeClass", "karpenter.k8s.aws", "ec2nodeclasses", (), scope="Cluster"),
    Gateable("AKSNodeClass", "karpenter.azure.com", "aksnodeclasses", (), scope="Cluster"),
    Gateable("Configuration", "pkg.crossplane.io", "configurations", (), scope="Cluster"),
    Gateable("Composition", "apiextensions.crossplane.io", "compositions", (), scope="Cluster"),
    Gateable(
        "SidecarSet",
        "apps.kruise.io",
        "sidecarsets",
        ("spec", "updateStrategy", "paused"),
        scope="Cluster",
    ),
    Gateable(
        "ClusterPropagationPolicy",
        "policy.karmada.io",
        "clusterpropagationpolicies",
        ("spec", "suspension", "dispatching"),
        scope="Cluster",
    ),
)
TABLE = tuple(row for row in KINDS if row.scope == "Namespaced")
"""The kinds that can be gated."""

CLUSTER_GROUPS = (
    *("karpenter.sh", "karpenter.k8s.aws", "karpenter.azure.com"),
    *("machineconfiguration.openshift.io", "config.openshift.io"),
    *("apiextensions.crossplane.io", "pkg.crossplane.io", "ops.crossplane.io"),
    # Crossplane's providers; the namespaced kinds of version 2 have another group
    # (`s3.aws.m.upbound.io`).
    *("aws.upbound.io", "azure.upbound.io", "azuread.upbound.io", "gcp.upbound.io"),
    *("tf.upbound.io", "kubernetes.crossplane.io", "helm.crossplane.io"),
    *("aws.crossplane.io", "azure.crossplane.io", "gcp.crossplane.io"),
)
"""Groups whose kinds are all cluster-scoped, and so those of the groups below them."""

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

_RIGHTS = "grants rights"
_ADMISSION = "decides what the API server accepts"


class Privileged(NamedTuple):
    """An API group, and those below it, that no policy may give the gate an account's rights on.

    `kinds` are those that are recognized without an `apiVersion`.
    """

    group: str
    why: str
    kinds: tuple[str, ...] = ()


PRIVILEGED: tuple[Privileged, ...] = (
    Privileged(
        "",
        "has Secrets, the accounts of workloads and the workloads themselves",
        (
            *("ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node"),
            *("PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate"),
            *("ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount"),
        ),
    ),
    # No API server has it as a group; messages of Kubernetes call `v1` so.
    Privileged("core", "is written `v1` and has Secrets and the workloads themselves"),
    Privileged(
        "rbac.authorization.k8s.io",
        _RIGHTS,
        ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    ),
    Privileged("authorization.k8s.io", _RIGHTS),
    Privileged("authentication.k8s.io", "gives out and checks tokens of accounts"),
    Privileged(
        "certificates.k8s.io", "gives out certificates of accounts", ("CertificateSigningRequest",)
    ),
    Privileged(
        "admissionregistration.k8s.io",
        _ADMISSION,
        (
            *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
            *("MutatingWebhookConfiguration", "ValidatingAdmissionPolicy"),
            *("ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"),
        ),
    ),
    Privileged(
        "apiextensions.k8s.io", "defines what the API server accepts", ("CustomResourceDefinition",)
    ),
    Privileged("apiregistration.k8s.io", "says which servers answer for an API", ("APIService",)),
    Privileged("flowcontrol.apiserver.k8s.io", "decides which requests the API server answers"),
    Privileged("kyverno.io", _ADMISSION),
    Privileged("gatekeeper.sh", _ADMISSION),
    Privileged("kubewarden.io", _ADMISSION),
    Privileged(
        "security.openshift.io",
        "decides what workloads may do",
        ("SecurityContextConstraints",),
    ),
    Privileged("authorization.openshift.io", _RIGHTS),
    Privileged("oauth.openshift.io", "gives out and checks tokens of accounts"),
    Privileged("user.openshift.io", _RIGHTS),
)
"""The groups that hold secrets, grant rights or decide admission."""


def group_of(api_version: str) -> str:
    """Return the group of an `apiVersion`, empty for the core group."""
    group, slash, _ = api_version.partition("/")
    # `v1` alone is the core group (k8s.io/apimachinery, schema.ParseGroupVersion).
    return group if slash else ""


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


def privileged(kind: str, api_version: str | None = None) -> Privileged | None:
    """Return the row of a group that holds secrets, grants rights or decides admission."""
    # What is no version of the core group is not written as one; the field itself says so.
    if api_version and "/" not in api_version and not api_version.startswith("v"):
        return None
    for row in PRIVILEGED:
        if _is_within(group_of(api_version), row.group) if api_version else kind in row.kinds:
            return row
    return None


def is_cluster_scoped(kind: str, api_version: str | None, resource: str | None) -> bool:
    """Whether a kind, or the plural that is its resource, is known to be cluster-scoped."""
    if api_version is None:
        return find(kind) is None and any(row.kind == kind for row in KINDS)
    group = group_of(api_version)
    if any(_is_within(group, each) for each in CLUSTER_GROUPS):
        return True
    cluster = (row for row in KINDS if row.scope == "Cluster" and row.group == group)
    return any(row.kind == kind or row.resource == resource for row in cluster)


def _is_within(group: str, above: str) -> bool:
    """Whether a group is another one, or below it; below the core group is none."""
    return group == above or (above != "" and group.endswith(f".{above}"))


def _is_of(group: str, api_version: str | None) -> bool:
    """Whether an `apiVersion` is of a group; without one, the kind alone decides."""
    return api_version is None or group_of(api_version) == group
