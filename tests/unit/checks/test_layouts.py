"""Repositories laid out as public ones are: of a right policy all is seen, and nothing found."""

import json
from pathlib import Path

import pytest

from krm_windows.cli import main
from krm_windows.flux import survey
from krm_windows.flux.builds import Builds
from krm_windows.system.checkout import Checkout
from krm_windows.system.kustomize import Builder

pytestmark = pytest.mark.usefixtures("kustomize")

LAYOUTS = Path(__file__).parents[2] / "fixtures/layouts"
# What each of its clusters has, and what is reported: CI renders the policies into what the
# repository does not hold, and a tenant's own repository cannot be looked at.
SEEN = {
    "kustomize-helm": ({"apps": 3, "configs": 1, "controllers": 3, "flux-system": 4}, ["info"]),
    "multi-tenancy": (
        {"admission": 3, "admission-rules": 1, "blue-team": 0, "flux-system": 3, "tenants": 5},
        3 * ["info"],
    ),
}


@pytest.mark.parametrize("layout", SEEN)
def test_everything_is_followed_and_there_is_no_false_alarm(
    layout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    objects, severities = SEEN[layout]
    options = ["-o", "json", "--no-cache", "--strict", "--source", "flux-system=."]
    assert main(["check", "--repo", str(LAYOUTS / layout), *options]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert [result["severity"] for result in results] == severities
    tree = Checkout.at(LAYOUTS / layout)
    found = survey(tree, tree.directories("clusters/*"), Builds(tree, Builder.find(), 1))
    for cluster in found.clusters:
        followed = cluster.kustomizations.items()
        assert {key.split("/")[1]: len(each.objects) for key, each in followed} == objects
        assert len(cluster.gates) == 1
