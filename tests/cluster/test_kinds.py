"""Every kind that may be gated, closed and opened at its object's field.

The emitted rights and the gate do it. Where no Go module carries the kind's CRD, a minimal one of
our own with the one field replaces it.
"""

from dataclasses import dataclass
from http import HTTPStatus

from environment import Environment, eventually
from lab.api import ApiError, Object
from when import Spec

from krm_windows.gate.objects import dig
from krm_windows.gateable import TABLE

SOURCE, HELM, IMAGE = (f"{name}.toolkit.fluxcd.io" for name in ("source", "helm", "image"))


@dataclass(frozen=True)
class Kind:
    """A spec that its CRD takes, the field that stops it, a status of one that was applied."""

    name: str
    plural: str
    group: str
    version: str
    spec: Spec | None = None
    stops: str = "suspend"
    own: bool = False
    status: Spec | None = None

    @property
    def where(self) -> str:
        return f"{self.group}/{self.version}/{self.plural}"


CHART = {"chart": "podinfo", "sourceRef": {"kind": "HelmRepository", "name": "podinfo"}}
POD = {"containers": [{"name": "idle", "image": "idle"}], "restartPolicy": "Never"}
JOB = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": POD}}}}
URL = {"interval": "1h", "url": "https://example.com/it"}
BUCKET = {"interval": "1h", "bucketName": "it", "endpoint": "example.com"}
SVELTOS = "lib.projectsveltos.io"
LONG_AGO = "2026-01-01T00:00:00Z"
ARTIFACT = {"digest": "sha256:0", "path": "it", "revision": "1", "url": URL["url"]}
FETCHED: Spec = {"artifact": {**ARTIFACT, "lastUpdateTime": LONG_AGO}}
RELEASE = {"name": "it", "namespace": "it", "version": 1, "status": "deployed"}
DIGESTS = {"digest": "sha256:0", "configDigest": "sha256:0"}
OF_CHART = {"chartName": "podinfo", "chartVersion": "1"}
TIMES = {"firstDeployed": LONG_AGO, "lastDeployed": LONG_AGO}
RELEASED: Spec = {"history": [{**RELEASE, **DIGESTS, **OF_CHART, **TIMES}]}
OF_HELM: Spec = {"interval": "1h", "chart": {"spec": CHART}}
OCI: Spec = {**URL, "url": "oci://example.com/it"}
KINDS = [
    Kind("HelmRelease", "helmreleases", HELM, "v2", OF_HELM, status=RELEASED),
    Kind("GitRepository", "gitrepositories", SOURCE, "v1", URL, status=FETCHED),
    Kind("OCIRepository", "ocirepositories", SOURCE, "v1", OCI, status=FETCHED),
    Kind("Bucket", "buckets", SOURCE, "v1", BUCKET, status=FETCHED),
    Kind("HelmRepository", "helmrepositories", SOURCE, "v1", URL, status=FETCHED),
    Kind("HelmChart", "helmcharts", SOURCE, "v1", {"interval": "1h", **CHART}, status=FETCHED),
    Kind("ImageRepository", "imagerepositories", IMAGE, "v1", own=True),
    Kind("ImagePolicy", "imagepolicies", IMAGE, "v1", own=True),
    Kind("ImageUpdateAutomation", "imageupdateautomations", IMAGE, "v1", own=True),
    Kind("GitRepo", "gitrepos", "fleet.cattle.io", "v1alpha1", stops="paused", own=True),
    Kind("Bundle", "bundles", "fleet.cattle.io", "v1alpha1", stops="paused", own=True),
    Kind("Cluster", "clusters", "cluster.x-k8s.io", "v1beta2", {"paused": False}, stops="paused"),
    Kind("SveltosCluster", "sveltosclusters", SVELTOS, "v1beta1", stops="paused", own=True),
    Kind("CronJob", "cronjobs", "batch", "v1", JOB),
]


def definition(kind: Kind) -> Object:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {**anything, "properties": {kind.stops: {"type": "boolean"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": anything}}
    served = {"served": True, "storage": True, "subresources": {"status": {}}}
    version = {"name": kind.version, "schema": {"openAPIV3Schema": schema}, **served}
    names = {"kind": kind.name, "plural": kind.plural, "singular": kind.name.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {"group": kind.group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def test_every_kind_is_closed_and_opened(env: Environment) -> None:
    """By one policy, held to their fields by the API server."""
    for kind in KINDS:
        create(env, kind)
    targets = [
        {"kind": kind.name, "names": ["it"], "apiVersion": f"{kind.group}/{kind.version}"}
        for kind in KINDS
    ]
    windows = {"always": {"opens": "daily 00:00", "closes": "24:00"}}
    always = {"windows": windows, "targets": targets}
    deliver(env, {**always, "state": "Closed"})
    eventually("all are closed", lambda: held(env) == {kind.name for kind in KINDS})
    deliver(env, {**always, "state": "Open"})
    eventually("all are open", lambda: held(env) == set())


def test_the_table_is_complete() -> None:
    """Every kind that the function knows is in this test, but for Kustomization."""
    assert {row.kind for row in TABLE} - {kind.name for kind in KINDS} == {"Kustomization"}


def create(env: Environment, kind: Kind) -> None:
    """The kind is created too where no module carries it."""
    if kind.own:
        env.write("definition.yaml", definition(kind))
        file = env.tree / "definition.yaml"
        env.kubectl("apply", "--server-side", f"--filename={file}")
    body = env.object(f"{kind.group}/{kind.version}", kind.name, "it", spec=kind.spec or {})
    # Flux's own controllers leave it alone.
    body["metadata"]["labels"] = {"sharding.fluxcd.io/key": "nobody"}
    eventually("the object is created", lambda: _created(env, kind, body))
    if kind.status:
        env.api.patch(kind.where, env.name, "it/status", {"status": kind.status})


def _created(env: Environment, kind: Kind, body: Object) -> bool:
    try:
        env.api.create(kind.where, env.name, body)
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:  # the new kind is not served yet
            return False
        raise
    return True


def deliver(env: Environment, spec: Spec) -> None:
    """Render a policy and apply it by hand: here the kinds are the matter, not Flux."""
    env.write("windows.yaml", env.policy_text(spec))
    env.render("windows.yaml", "windows")
    env.kubectl("apply", "--server-side", "--kustomize", str(env.tree / "windows"))


def held(env: Environment) -> set[str]:
    return {
        kind.name
        for kind in KINDS
        if dig(env.api.get(kind.where, env.name, "it"), "spec", kind.stops) is True
    }
