"""Every kind that may be gated, at its object's field: closed and opened by the emitted rights and the gate.

Where no Go module carries the kind's CRD, a minimal one of our own with the one field stands in for it.
"""

from dataclasses import dataclass, field
from http import HTTPStatus

import pytest
from lab.api import ApiError, Object
from telling import Spec, Story, eventually

from krm_windows.gate.kubernetes import dig

SOURCE, HELM, IMAGE = "source.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "image.toolkit.fluxcd.io"


@dataclass(frozen=True)
class Kind:
    """A kind that may be gated, a spec that its CRD takes, and whether the CRD is our own."""

    name: str
    plural: str
    group: str
    version: str
    spec: Spec = field(default_factory=dict)
    field: str = "suspend"
    own: bool = False

    @property
    def where(self) -> str:
        """The kind's address in the API."""
        return f"{self.group}/{self.version}/{self.plural}"


CHART = {"chart": {"spec": {"chart": "podinfo", "sourceRef": {"kind": "HelmRepository", "name": "podinfo"}}}}
POD = {"containers": [{"name": "idle", "image": "idle"}], "restartPolicy": "Never"}
URL = {"interval": "1h", "url": "https://example.com/it"}
KINDS = [
    Kind("HelmRelease", "helmreleases", HELM, "v2", {"interval": "1h", **CHART}),
    Kind("GitRepository", "gitrepositories", SOURCE, "v1", {**URL, "suspend": False}),
    Kind("OCIRepository", "ocirepositories", SOURCE, "v1", {**URL, "url": "oci://example.com/it"}),
    Kind("Bucket", "buckets", SOURCE, "v1", {"interval": "1h", "bucketName": "it", "endpoint": "example.com"}),
    Kind("HelmRepository", "helmrepositories", SOURCE, "v1", URL),
    Kind("HelmChart", "helmcharts", SOURCE, "v1", {"interval": "1h", **CHART["chart"]["spec"]}),
    Kind("ImageRepository", "imagerepositories", IMAGE, "v1", own=True),
    Kind("ImagePolicy", "imagepolicies", IMAGE, "v1", own=True),
    Kind("ImageUpdateAutomation", "imageupdateautomations", IMAGE, "v1", own=True),
    Kind("GitRepo", "gitrepos", "fleet.cattle.io", "v1alpha1", field="paused", own=True),
    Kind("Bundle", "bundles", "fleet.cattle.io", "v1alpha1", field="paused", own=True),
    Kind("Cluster", "clusters", "cluster.x-k8s.io", "v1beta2", field="paused"),
    Kind("SveltosCluster", "sveltosclusters", "lib.projectsveltos.io", "v1beta1", field="paused", own=True),
    Kind(
        "CronJob",
        "cronjobs",
        "batch",
        "v1",
        {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": POD}}}},
    ),
]


def definition(kind: Kind) -> Object:
    """Return a minimal CRD of a kind, with its one field."""
    spec = {"type": "object", "properties": {kind.field: {"type": "boolean"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind.name, "plural": kind.plural, "singular": kind.name.lower()}
    return {
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {"group": kind.group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_is_closed_and_opened(story: Story, kind: Kind) -> None:
    """`state: Closed` sets the field and the mark, `state: Open` takes both back."""
    create(story, kind)
    target: Spec = {"kind": kind.name, "names": ["it"]}
    always = {"windows": {"always": {"opens": "daily 00:00", "closes": "24:00"}}}
    deliver(story, {**always, "targets": [target], "state": "Closed", "firstApply": "Allow"})
    eventually("it is closed", lambda: held(story, kind) is True)
    deliver(story, {**always, "targets": [target], "state": "Open"})
    eventually("it is open", lambda: not held(story, kind))


def create(story: Story, kind: Kind) -> None:
    """Create an object of a kind, and the kind itself where no module carries it."""
    if kind.own:
        try:
            story.api.create("customresourcedefinitions", None, definition(kind))
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
    body = story.object(f"{kind.group}/{kind.version}", kind.name, "it", spec=kind.spec)
    eventually("the object is created", lambda: _created(story, kind, body))


def _created(story: Story, kind: Kind, body: Object) -> bool:
    try:
        story.api.create(kind.where, story.name, body)
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:  # the new kind is not served yet
            return False
        raise
    return True


def deliver(story: Story, spec: Spec) -> None:
    """Render a policy and apply it by hand: here the kinds are the matter, not Flux."""
    story.write("windows.yaml", story.policy_text(spec))
    story.render("windows.yaml", "windows")
    story.kubectl("apply", "--server-side", "--kustomize", str(story.tree / "windows"))


def held(story: Story, kind: Kind) -> object:
    """Return what the kind's field says."""
    return dig(story.api.get(kind.where, story.name, "it"), "spec", kind.field)
