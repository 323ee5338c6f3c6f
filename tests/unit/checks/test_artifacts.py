"""`check --repo` reads of a repository what source-controller puts into the artifact."""

from pathlib import Path

import pytest
from flux_texts import HOME, config_map, kustomization, lay

from krm_windows.cli import main

pytestmark = pytest.mark.usefixtures("kustomize")

JUNK = "a: 1\n"
SOURCE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec:
  url: https://example.com/fleet
"""
ROOT = "clusters/north/sync.yaml"
BASE = {
    "base/kustomization.yaml": "resources: [a.yaml]\n",
    "base/a.yaml": config_map("a"),
    "web/kustomization.yaml": "resources: [../base]\n",
}
# A kustomization that makes a ConfigMap of a picture.
PICTURE = {
    "web/kustomization.yaml": "configMapGenerator: [{name: a, files: [logo.png]}]\n",
    "web/logo.png": "",
}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        # What nobody leaves out is applied, and cannot be.
        ({"web/x.yaml": JUNK}, "web/x.yaml:1:1: [error] cannot be applied"),
        ({ROOT: "ignore: x.yaml", "web/x.yaml": JUNK}, ""),
        # `spec.ignore` comes last.
        (
            {ROOT: 'ignore: "!x.yaml"', ".sourceignore": "x.yaml", "web/x.yaml": JUNK},
            "web/x.yaml:1:1: [error] cannot be applied",
        ),
        # What a build needs.
        (
            {**BASE, ".sourceignore": "a.yaml"},
            "web/kustomization.yaml:1:1: [error] cannot be built: base/a.yaml is not in the artif",
        ),
        (
            PICTURE,
            "web/kustomization.yaml:1:1: [error] cannot be built: web/logo.png is not in the",
        ),
        # Flux makes a kustomization for a directory whose own is left out.
        ({**BASE, "web/b.yaml": config_map("b"), ".sourceignore": "/web/kustomization.yaml"}, ""),
        # The path of a Kustomization, that of the root among them.
        (
            {".sourceignore": "/web"},
            "web/w.yaml:1:1: [error] web, the path of a Kustomization, is not in the artifact",
        ),
        (
            {".sourceignore": "/*\n!/web"},
            "sync.yaml:1:1: [error] clusters/north, the path of a Kustomization, is not in the",
        ),
        # What is of another repository is not known here, whatever this one has there.
        (
            {ROOT: "include: [{repository: {name: web}}]"},
            "[info] Kustomization flux-system/web: its path web is included from another",
        ),
        (
            {ROOT: "include: [{repository: {name: other}, toPath: web/more}]"},
            "web/more:1:1: [info] is included from another repository",
        ),
        (
            {**BASE, ROOT: "include: [{repository: {name: base}}]"},
            "web/kustomization.yaml:1:1: [info] ../base is included from another repository",
        ),
        ({ROOT: "include: [{repository: {name: other}}]"}, ""),
    ],
)
def test_what_is_in_the_artifact(
    files: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sync = kustomization("flux-system", path="./clusters/north")
    field = files.get(ROOT, "interval: 1m")
    usual = {
        "clusters/north/web.yaml": kustomization("web"),
        "web/w.yaml": config_map("w"),
        **files,
        ROOT: f"{SOURCE}  {field}\n---\n{sync}",
    }
    lay(tmp_path, usual)
    failed = main(["check", "--repo", str(tmp_path), "--no-cache", "--source", HOME])
    *found, _ = capsys.readouterr().out.replace(f"{tmp_path}/", "").splitlines()
    assert failed == ("[error]" in said)
    assert len(found) == bool(said), found
    assert said in "".join(found)


def test_nothing_of_an_empty_directory_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody who begins makes it before there is anything to apply."""
    sync = kustomization("flux-system", path="./clusters/north")
    both = f"{SOURCE}  interval: 1m\n---\n{sync}"
    lay(tmp_path, {"clusters/north/web.yaml": kustomization("web"), ROOT: both})
    (tmp_path / "web").mkdir()
    assert main(["check", "--repo", str(tmp_path), "--no-cache"]) == 0
    assert "2 of 2 Kustomizations" in capsys.readouterr().out
