"""Which sources are this repository: the cluster's sync, its address, and those given."""

from pathlib import Path

import pytest
from flux_texts import Followed, config_map, kustomization, names

from krm_windows.flux import Given, Hints, Survey
from krm_windows.flux.sources import below, normal
from krm_windows.krm import InputError
from krm_windows.system import remotes

NORTH = "clusters/north/flux.yaml"
URL = "ssh://git@example.com/fleet.git"
REPOSITORY = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: {name}, namespace: flux-system}}
spec: {{url: "{url}", ref: {ref}}}
---
"""
INSTANCE = """\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {{name: flux, namespace: flux-system}}
spec: {{sync: {{kind: {kind}, url: "{url}", ref: latest, path: {path}}}}}
---
"""
OTHER = "other=elsewhere"
"""What is given where a test asks what is known without."""


def declared(name: str, url: str = URL, ref: str = "{branch: main}") -> str:
    return REPOSITORY.format(name=name, url=url, ref=ref)


SYNC = declared("flux-system") + kustomization("flux-system", path="./clusters/north")


def applied(found: Survey, key: str) -> set[str]:
    objects = names(found.clusters[0], key)
    assert found.clusters[0].complete is bool(objects)
    return objects


def reported(found: Survey) -> list[str]:
    return [notice.rule.id for notice in found.notices]


@pytest.mark.parametrize("path", ["./", "./apps"])
def test_another_repository_is_not_followed_into_this_one(path: str, follow: Followed) -> None:
    """Whatever lies at its path here: `./` would be all of it."""
    found = follow(
        {
            NORTH: SYNC + kustomization("apps", path=path, source="tenant"),
            "apps/a.yaml": config_map(),
        },
        OTHER,
    )
    assert not applied(found, "apps")
    assert reported(found) == ["not-followed"]
    assert "--source flux-system/tenant=." in found.notices[0].message


@pytest.mark.parametrize(
    ("ref", "followed"),
    [
        ("{branch: main}", True),
        ("{name: refs/heads/main}", True),
        ("{semver: '>=1.0.0'}", True),
        ("{branch: dev-team}", False),
        ("{}", False),
    ],
)
def test_another_branch_of_this_repository_is_another_tree(
    ref: str,
    followed: bool,  # noqa: FBT001
    follow: Followed,
) -> None:
    """As tenants have them (flux2-multi-tenancy); a tag is set on what lies here."""
    text = SYNC + declared("second", ref=ref) + kustomization("apps", source="second")
    found = follow({NORTH: text, "apps/a.yaml": config_map()}, OTHER)
    assert bool(applied(found, "apps")) is followed


def test_a_path_of_a_branch_that_may_be_another_is_not_missing(follow: Followed) -> None:
    tenant = declared("team", ref="{branch: team}") + kustomization("team", source="team")
    files = {NORTH: tenant}
    hints = Hints((), frozenset({normal(URL)}))
    found = follow(files, OTHER, hints=hints)
    assert reported(found) == ["not-followed"]
    assert (
        "GitRepository flux-system/team may be another part or branch" in found.notices[0].message
    )
    assert reported(follow(files, "flux-system/team=.", hints=hints)) == ["build-failed"]
    own = {NORTH: declared("flux-system") + kustomization("apps")}
    assert "build-failed" in reported(follow(own, OTHER, hints=hints))


def test_another_artifact_may_be_a_directory_of_this_repository(follow: Followed) -> None:
    team = declared("team", url="oci://example.com/team")
    artifact = team.replace("GitRepository", "OCIRepository").replace("{branch: main}", "{}")
    apps = kustomization("apps", source="team").replace("GitRepository", "OCIRepository")
    found = follow({NORTH: SYNC + artifact + apps, "apps/a.yaml": config_map()}, OTHER)
    (notice,) = found.notices
    assert "OCIRepository flux-system/team, example.com/team is this repository" in notice.message
    assert "add `--source flux-system/team=.`" in notice.message
    git = SYNC + team.replace("oci", "ssh") + kustomization("apps", source="team")
    (notice,) = follow({NORTH: git}, OTHER).notices
    assert "flux-system/team, example.com/team is another repository" in notice.message


def test_a_source_that_is_given_is_believed(follow: Followed) -> None:
    text = kustomization("apps", path="./north", source="team")
    files = {NORTH: text, "deploy/north/a.yaml": config_map()}
    assert applied(follow(files, "team=deploy"), "apps")
    assert applied(follow(files, "flux-system/team=./deploy/"), "apps")
    assert not applied(follow(files, "apps/team=deploy"), "apps")


@pytest.mark.parametrize(
    ("kind", "path", "root"),
    [("GitRepository", "clusters/north", "."), ("OCIRepository", "north", "clusters")],
)
def test_an_instance_of_the_operator_says_what_syncs_a_cluster(
    kind: str, path: str, root: str, follow: Followed
) -> None:
    """An artifact may hold only a part of the repository."""
    flux = kustomization("zone").replace("GitRepository", kind)
    text = INSTANCE.format(kind=kind, url="oci://example.com/fleet", path=path)
    place = "zone/a.yaml" if root == "." else f"{root}/zone/a.yaml"
    found = follow({NORTH: text + flux, place: config_map()}, OTHER)
    assert applied(found, "zone")
    assert not reported(found)


def test_an_artifact_of_a_tenant_is_no_sync(follow: Followed) -> None:
    tenant = kustomization("apps", path="./north", source="tenant").replace(
        "GitRepository", "OCIRepository"
    )
    found = follow({NORTH: SYNC + tenant, "clusters/north/a.yaml": config_map()}, OTHER)
    assert found.clusters[0].first.key == "flux-system/flux-system"
    assert not names(found.clusters[0], "apps")


def test_a_source_that_a_sibling_declares_later_is_known(follow: Followed) -> None:
    files = {
        NORTH: SYNC + kustomization("apps", source="second") + kustomization("sources"),
        "sources/s.yaml": declared("second", "https://example.com/fleet"),
        "apps/a.yaml": config_map(),
    }
    assert applied(follow(files, OTHER), "apps")


def test_clusters_share_the_addresses_that_one_of_them_says(follow: Followed) -> None:
    south = declared("fleet", "https://example.com/fleet") + kustomization("apps", source="fleet")
    found = follow(
        {NORTH: SYNC, "clusters/south/flux.yaml": south, "apps/a.yaml": config_map()}, OTHER
    )
    assert names(found.clusters[1], "apps")


@pytest.mark.parametrize(
    ("path", "joined"),
    [("../../apps", "apps"), ("/apps", "apps"), ("./a/../../b", "b"), ("", "."), ("..", ".")],
)
def test_a_path_leads_nowhere_above_its_source(path: str, joined: str) -> None:
    """As Flux joins it."""
    assert below(".", path) == joined
    assert below("deploy", path) == (f"deploy/{joined}" if joined != "." else "deploy")


@pytest.mark.parametrize("text", ["team", "=.", "a/b/c=.", "team=/etc"])
def test_a_source_is_given_by_name_and_directory(text: str) -> None:
    with pytest.raises(InputError, match=r"flux-system=\."):
        Given.parse(text)


def test_the_address_of_a_checkout_is_read_as_text(tmp_path: Path) -> None:
    config = (
        '[core]\n\turl = a\n[remote "fork"]\n\turl = b\n[remote "origin"]\n'
        "\turl = git@example.com:fleet.git # x\n"
    )
    (tmp_path / ".git/objects").mkdir(parents=True)
    (tmp_path / ".git/config").write_text(config)
    assert set(map(normal, remotes.addresses(tmp_path))) == {"example.com/fleet"}
    assert not remotes.addresses(tmp_path / ".git")


def test_what_somebody_applied_by_hand_syncs_the_cluster(follow: Followed) -> None:
    files = {
        "clusters/north/ks.yaml": kustomization("cluster", path="./clusters/north", source="home"),
        "clusters/north/kustomization.yaml": "resources: [apps.yaml]\n",
        "clusters/north/apps.yaml": kustomization("apps", source="home"),
        "apps/a.yaml": config_map(),
    }
    found = follow(files, OTHER)
    assert applied(found, "apps")
    assert found.clusters[0].first.key == "flux-system/cluster"
    assert reported(found) == []
