"""`check --repo` says of which Kustomizations it knows nothing, and with which option it would."""

import shlex
from pathlib import Path

import pytest
from flux_texts import config_map, kustomization, lay

from krm_windows.cli import main

SYNC = {
    "clusters/north/flux.yaml": kustomization("flux-system", path="./clusters/north"),
    "clusters/north/a.yaml": kustomization("a"),
    "a/c.yaml": config_map("a"),
}
WEB = kustomization("web", path="./web")
SHOP = kustomization("shop", path="./shop")


@pytest.mark.parametrize(
    ("files", "read", "named"),
    [
        ({"a flux/web.yaml": WEB}, "2 of 3", ["a flux"]),
        # What syncs it says where a cluster is.
        (
            {"hub/flux-system/sync.yaml": kustomization("flux-system", path="./hub")}
            | {"hub/web.yaml": WEB},
            "2 of 4",
            ["hub"],
        ),
        # Nothing of which something was read.
        ({"flux/x/web.yaml": WEB, "other/shop.yaml": SHOP}, "2 of 4", ["flux/x", "other"]),
        ({"a/x/kustomization.yaml": "resources: []\n", "clusters/web.yaml": WEB}, "2 of 3", []),
        # What another Kustomization applies is that one's.
        ({"flux/web.yaml": WEB, "web/shop.yaml": SHOP}, "2 of 4", ["flux"]),
        # What an applied directory leaves out was switched off.
        ({"a/kustomization.yaml": "resources: [c.yaml]\n", "a/web.yaml": WEB}, "2 of 3", []),
        # And so was an application beside others, if no kustomization has it.
        (
            {"apps/a/ks.yaml": kustomization("x", path="./apps/a/x"), "apps/b/c.yaml": config_map()}
            | {"clusters/north/b.yaml": kustomization("b", path="./apps/b")},
            "3 of 4",
            [],
        ),
        # What applies its own directory is applied by hand.
        ({"web/ks.yaml": WEB}, "2 of 3", []),
        # What is not followed is said, and may lead anywhere in the directory that it names.
        (
            {"clusters/north/b.yaml": kustomization("b", path="./flux/b", source="other")}
            | {"flux/b/c.yaml": config_map("b"), "flux/x/web.yaml": WEB, "off/web.yaml": WEB},
            "2 of 5",
            ["off"],
        ),
        # What is in no artifact is nobody's.
        ({"docs/web.yaml": WEB, ".sourceignore": "/docs"}, "2 of 2", []),
    ],
)
def test_kustomizations_that_nothing_found_applies(
    files: dict[str, str],
    read: str,
    named: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lay(tmp_path, SYNC | {"web/c.yaml": config_map("web"), "shop/c.yaml": config_map("shop")})
    lay(tmp_path, files)
    assert main(["check", "--repo", str(tmp_path), "--no-cache"]) == 0
    *found, last = capsys.readouterr().out.splitlines()
    assert f"1 cluster, {read} Kustomizations, 0 policies" in last
    found = [line for line in found if "not-followed" not in line]
    assert len(found) == len(named), found
    for directory in named:
        said = next(line for line in found if f"Flux seems to apply {directory} to a" in line)
        option = said.partition("`")[2].partition("`")[0]
        assert option == f"--clusters {shlex.quote(directory)}"
        main(["check", "--repo", str(tmp_path), "--no-cache", *shlex.split(option)])
        assert "Flux seems to" not in capsys.readouterr().out


def test_a_single_cluster_that_somebody_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay(tmp_path, SYNC | {"flux/web.yaml": WEB, "web/c.yaml": config_map("web")})
    arguments = ["check", "--repo", str(tmp_path), "--no-cache", "--clusters", "clusters/north"]
    assert main(arguments) == 0
    assert ": 1 cluster, 2 of 3 Kustomizations, 0 policies: no findings" in capsys.readouterr().out
