"""A policy is known by what was rendered from it, its file, or its place among the plugins."""

import pytest
from flux_texts import Followed, Write, config_map, kustomization, policy

from krm_windows.cli import main
from krm_windows.flux import Survey, survey
from krm_windows.flux.builds import Builds

NORTH = {
    "clusters/north/flux.yaml": kustomization("live") + kustomization("windowed"),
    "live/a.yaml": config_map("a"),
}
REPOSITORY = NORTH | {"windowed/b.yaml": config_map("b")}
KUBECTL = "  actuator: {type: Kubectl, image: 'ghcr.io/fluxcd/flux-cli:v2.7.0'}\n"


def gates(found: Survey) -> list[tuple[str, str, list[str], str | None]]:
    return [
        (cluster.name, gate.policy, list(map(str, gate.targets)), gate.delivered_by)
        for cluster in found.clusters
        for gate in cluster.gates
    ]


WINDOWED = ["Kustomization flux-system/windowed"]


@pytest.mark.parametrize("spec", ["", KUBECTL])
def test_it_is_known_by_what_was_rendered(spec: str, follow: Followed, write: Write) -> None:
    tree = write({"windows/policy.yaml": policy(spec=spec)})
    place = f"{tree.root}/clusters/north/windows"
    assert main(["render", f"{tree.root}/windows/policy.yaml", "--output-dir", place]) == 0
    assert gates(follow(REPOSITORY)) == [
        ("north", "flux-system/window", WINDOWED, "flux-system/flux-system")
    ]


def test_a_policy_that_is_patched_for_a_cluster_is_what_the_patch_makes_it(
    follow: Followed,
) -> None:
    patch = (
        '[{target: {kind: WindowPolicy}, patch: \'[{"op": "add", "path": "/spec/buildFor", '
        '"value": "north"}]\'}]'
    )
    files = {
        "live/kustomization.yaml": "resources: [a.yaml]\ntransformers: [../windows/north]\n",
        "windows/north/kustomization.yaml": f"resources: [../base]\npatches: {patch}\n",
        "windows/base/kustomization.yaml": "resources: [policy.yaml]\n",
        "windows/base/policy.yaml": policy(
            "[live]",
            spec="  clusters: {north: {targets: [{kind: Kustomization, names: [windowed]}]}}\n",
        ),
    }
    assert gates(follow(REPOSITORY | files)) == [
        ("north", "flux-system/window", WINDOWED, "flux-system/live")
    ]


def test_a_file_that_leads_to_no_cluster_is_the_policy_of_those_that_it_names(
    follow: Followed,
) -> None:
    south = {"clusters/south/flux.yaml": kustomization("live")}
    named = policy(spec="  clusters: {north: {interval: 5m}}\n")
    assert gates(follow(REPOSITORY | south | {"windows/policy.yaml": named})) == [
        ("north", "flux-system/window", WINDOWED, None)
    ]


def test_a_file_that_names_no_cluster_is_the_policy_of_all(follow: Followed) -> None:
    south = {"clusters/south/flux.yaml": kustomization("live")}
    found = gates(follow(REPOSITORY | south | {"windows/policy.yaml": policy()}))
    assert [cluster for cluster, *_ in found] == ["north", "south"]


def test_a_policy_that_is_wrong_is_named(follow: Followed) -> None:
    found = follow(REPOSITORY | {"windows/policy.yaml": policy().replace("Mon 08:00", "Mno 08:00")})
    assert [
        (notice.rule.id, "krm-windows check windows/policy.yaml" in notice.message)
        for notice in found.notices
    ] == [("build-failed", True)]
    assert not gates(found)


@pytest.mark.parametrize(
    "place", ["clusters/west/window.yaml", "clusters/west/windows/window.yaml", "team/window.yaml"]
)
def test_a_policy_of_another_cluster_or_kustomization_is_not_taken_for_loose(
    place: str, write: Write
) -> None:
    files = {place: policy(), "team/kustomization.yaml": "transformers: [window.yaml]\n"}
    tree = write(REPOSITORY | files)
    found = survey(tree, ["clusters/north"], Builds(tree, None, 1))
    assert not gates(found)


def test_clusters_are_distinguished_by_their_paths(write: Write) -> None:
    flux = kustomization("live") + kustomization("windowed")
    tree = write(
        {f"clusters/{name}/flux/flux.yaml": flux for name in ("north", "south")}
        | REPOSITORY
        | LOOSE
    )
    found = survey(tree, tree.directories("clusters/*/flux"), Builds(tree, None, 1))
    assert [cluster.name for cluster in found.clusters] == [
        "clusters/north/flux",
        "clusters/south/flux",
    ]
    assert [cluster for cluster, *_ in gates(found)] == ["clusters/north/flux"]


LOOSE = {"windows/policy.yaml": policy(spec="  clusters: {north: {interval: 5m}}\n")}
