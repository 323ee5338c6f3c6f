"""Where Flux enters a repository, in the layouts that people have."""

import pytest
from flux_texts import Write, config_map, kustomization

from krm_windows.flux import cluster_directories

SYNC = kustomization("flux-system", path="./fleet/north")
VALUES = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: flux-instance, namespace: flux-system}
spec: {values: {instance: {sync: {kind: GitRepository, path: kubernetes/flux/cluster}}}}
"""
INSTANCE = """\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: flux-system}
spec: {sync: {kind: OCIRepository, path: clusters/south}}
"""
PATCH = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: flux-system}
spec: {path: PATH}
"""


def patch(name: str, path: str) -> str:
    return PATCH.replace("NAME", name).replace("PATH", path)


TENANT = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: team, namespace: apps}
spec: {sourceRef: {kind: GitRepository, name: team}}
"""


@pytest.mark.parametrize(
    ("files", "directories"),
    [
        (
            {"fleet/north/flux-system/gotk-sync.yaml": SYNC, "tenants/sync.yaml": TENANT},
            ["fleet/north"],
        ),
        (
            {"clusters/south/i.yaml": INSTANCE, "clusters/north/f.yaml": kustomization("a")},
            ["clusters/south"],
        ),
        (
            {
                "kubernetes/apps/flux/h.yaml": VALUES,
                "kubernetes/flux/cluster/ks.yaml": kustomization("apps"),
            },
            ["kubernetes/flux/cluster"],
        ),
        (
            {f"deploy/clusters/{name}/f.yaml": kustomization("apps") for name in ("a", "b")}
            | {"deploy/clusters/base/c.yaml": config_map()},
            ["deploy/clusters/a", "deploy/clusters/b"],
        ),
        (
            # Each directory has what applies it, and none of them applies that itself.
            {
                "kubernetes/apps/flux/h.yaml": VALUES,
                "kubernetes/flux/cluster/ks.yaml": kustomization("apps", path="./kubernetes/apps"),
                "kubernetes/apps/kustomization.yaml": "resources: [web/ks.yaml]\n",
                "kubernetes/apps/web/ks.yaml": kustomization("web", path="./kubernetes/apps/web"),
                "kubernetes/apps/web/kustomization.yaml": "resources: [config.yaml]\n",
                "kubernetes/apps/web/config.yaml": config_map(),
            },
            ["kubernetes/flux/cluster"],
        ),
        (
            # A cluster has several directories, and a patch says which of them is applied.
            {
                "clusters/demo/00/kustomization.yaml": (
                    "resources: [../base]\npatches: [{path: ../../../sync/00.yaml}]\n"
                ),
                "clusters/demo/base/kustomization.yaml": "resources: [../../../sync/base.yaml]\n",
                "sync/base.yaml": kustomization("flux-system", path="./replaced"),
                "sync/00.yaml": patch("flux-system", "./clusters/demo/00"),
                "apps/web/demo/patch.yaml": patch("web", "./apps/web/demo"),
            },
            ["clusters/demo/00"],
        ),
        (
            # Applied by hand, as its own kustomization leaves it out; one below applies itself.
            {
                "kubernetes/ks.yaml": kustomization("cluster", path="./kubernetes"),
                "kubernetes/kustomization.yaml": "resources: [web/ks.yaml, own/ks.yaml]\n",
                "kubernetes/web/ks.yaml": kustomization("web", path="./kubernetes/web/app"),
                "kubernetes/web/app/config.yaml": config_map(),
                "kubernetes/own/ks.yaml": kustomization("own", path="./kubernetes/own"),
                "kubernetes/own/config.yaml": config_map(),
                # Nobody applies it, and it leads to no other: it was switched off.
                "kubernetes/off/ks.yaml": kustomization("off", path="./kubernetes/off"),
                "kubernetes/off/kustomization.yaml": "resources: [config.yaml]\n",
                "kubernetes/off/config.yaml": config_map(),
            },
            ["kubernetes"],
        ),
        (
            # An application has its own, which somebody applied by hand.
            {
                "sites/north/flux/sync.yaml": kustomization("north", path="./sites/north"),
                "sites/north/web.yaml": kustomization("web"),
                "web/kustomization.yaml": "resources: [ks.yaml, config.yaml]\n",
                "web/ks.yaml": kustomization("web"),
                "web/config.yaml": config_map(),
                "shop/ks.yaml": kustomization("shop"),
                "shop/config.yaml": config_map(),
            },
            ["sites/north"],
        ),
        ({"a.yaml": "kind: [\n", "b.yaml": config_map()}, []),
    ],
    ids=[
        "bootstrap",
        "operator",
        "values of the operator's chart",
        "by habit",
        "what lies in the directory it applies",
        "a patch of what bootstrap wrote",
        "what somebody applied by hand",
        "applications that apply themselves",
        "none",
    ],
)
def test_clusters_are_where_flux_enters(
    files: dict[str, str], directories: list[str], write: Write
) -> None:
    assert [each.directory for each in cluster_directories.find(write(files))] == directories


def test_a_directory_that_leads_to_no_kustomization_is_no_cluster(write: Write) -> None:
    files = {
        "hub/flux.yaml": kustomization("north"),
        "clusters/north/apps/kustomization.yaml": "resources: [../../../deploy]\n",
        "deploy/kustomization.yaml": "resources: [config.yaml]\n",
        "deploy/config.yaml": config_map(),
        "clusters/east/flux/kustomization.yaml": "resources: [../../../hub/flux.yaml]\n",
        "clusters/west/flux/apps.yaml": kustomization("apps"),
        "clusters/south/a.yaml": config_map(),
        # A file for SOPS is nothing that a cluster has.
        "clusters/sync/.sops.yaml": "creation_rules: []\n",
        "clusters/sync/config/flux.yaml": kustomization("c", path="./clusters/sync/config"),
        "clusters/sync/config/apps.yaml": kustomization("apps"),
    }
    named = [f"clusters/{name}" for name in ("east", "north", "south", "sync", "west")]
    assert cluster_directories.within(write(files), named) == tuple(
        f"clusters/{name}" for name in ("east", "south", "sync/config", "west")
    )


@pytest.mark.parametrize("place", ["clusters/example", "docs"])
def test_what_no_artifact_has_is_no_cluster(place: str, write: Write) -> None:
    files = {
        ".sourceignore": f"/{place}/",
        f"{place}/sync.yaml": kustomization("flux-system", path=f"./{place}"),
        f"{place}/a.yaml": kustomization("a"),
        "sites/cluster/flux.yaml": kustomization("apps", path="./apps"),
    }
    tree = write(files)
    assert cluster_directories.within(tree, tree.directories("clusters/*")) == ()
    assert [each.directory for each in cluster_directories.find(tree)] == ["sites/cluster"]
    # What is applied by hand is in no artifact, and may sync a cluster.
    by_hand = {"bootstrap/sync.yaml": kustomization("flux-system", path="./sites/cluster")}
    tree = write({**by_hand, ".sourceignore": f"/{place}/\n/bootstrap/"})
    [found] = cluster_directories.find(tree)
    assert (found.directory, found.file) == ("sites/cluster", "bootstrap/sync.yaml")
