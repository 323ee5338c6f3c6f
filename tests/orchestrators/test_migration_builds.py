"""The kustomizations that a migration reads are built as kustomize builds them, as far as CronJobs go."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from repositories import FIXTURES, pair

from krm_windows.migrate.building import Builder
from krm_windows.migrate.repository import Repository
from krm_windows.migrate.trees import Leaf, Tree
from krm_windows.workspace.reading import contents

BASE = {f"base/{name}": text for name, text in pair("* * * * *", "0 17 * * 4").items()} | {
    "base/kustomization.yaml": "resources: [open.yaml, close.yaml]\n",
    "base/account.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: keeper, namespace: flux-system}\n",
    "top/open.yaml": """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: open-shop, namespace: flux-system}
spec: {schedule: 0 8 * * 1, suspend: false, timeZone: null}
""",
    "top/any.yaml": """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: any}
spec:
  suspend: true
  jobTemplate: {spec: {template: {spec: {containers: [{name: flux, image: other:v1}, {name: more, image: more:v1}]}}}}
""",
    "top/operations.json": '[{"op": "replace", "path": "/spec/schedule", "value": "0 7 * * 2"}]',
    "component/kustomization.yaml": """\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [../extra]
patches:
- target: {kind: CronJob, name: open-shop}
  patch: '[{"op": "add", "path": "/metadata/labels", "value": {"part": "windows"}}]'
""",
    "extra/kustomization.yaml": "resources: [extra.yaml]\n",
    "extra/extra.yaml": pair("0 1 * * *", "0 2 * * *")["open.yaml"].replace("open-shop", "open-extra"),
}
LAYERS = {
    "strategic merge, old field": "patchesStrategicMerge: [open.yaml]",
    "strategic merge, inline": """patchesStrategicMerge:
- |
  apiVersion: batch/v1
  kind: CronJob
  metadata: {name: close-shop, namespace: flux-system}
  spec: {schedule: 0 9 * * *}
""",
    "strategic merge, new field": "patches:\n- path: open.yaml",
    "by a selector": "patches:\n- path: any.yaml\n  target: {kind: CronJob, name: open.*}",
    "by labels that nothing has": "patches:\n- path: any.yaml\n  target: {labelSelector: part=windows}",
    "operations, old field": """patchesJson6902:
- path: operations.json
  target: {group: batch, version: v1, kind: CronJob, name: close-shop}
""",
    "operations, new field": """patches:
- target: {kind: CronJob}
  patch: |-
    - {op: add, path: /spec/suspend, value: false}
    - {op: remove, path: /spec/timeZone}
    - {op: add, path: /spec/jobTemplate/spec/template/spec/containers/0/args/-, value: more}
""",
    "a deletion": """patches:
- target: {kind: CronJob, name: open-shop}
  patch: '{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "any"}, "$patch": "delete"}'
""",
    "a replacement of a list": """patches:
- target: {kind: CronJob, name: open-shop}
  patch: |
    apiVersion: batch/v1
    kind: CronJob
    metadata: {name: x}
    spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: new, image: new:v1}, {$patch: replace}]}}}}}
""",
    "names": "namePrefix: plant-\nnameSuffix: -seven\npatches:\n- path: open.yaml",
    "a namespace": "namespace: elsewhere\npatches:\n- path: open.yaml",
    "images": "images:\n- {name: ghcr.io/fluxcd/flux-cli, newName: mirror.example:5000/flux, newTag: v2.9.6}",
    "a component": "components: [../component]",
}
SAID = ("schedule", "timeZone", "suspend")


def plain(tree: Tree) -> object:
    """Return what a tree means."""
    if isinstance(tree, Leaf):
        return tree.value
    return {key: plain(entry) for key, entry in tree.items()} if isinstance(tree, dict) else list(map(plain, tree))


def kustomized(kustomize: Path, folder: Path) -> list[object]:
    """Return the CronJobs that kustomize builds, by name."""
    done = subprocess.run([kustomize, "build", folder], capture_output=True, check=True)
    return _sorted(yaml.safe_load_all(done.stdout))


def ours(root: Path, path: str) -> list[object]:
    """Return the CronJobs that we build, by name."""
    repository = Repository(dict(contents(root)))
    return _sorted(plain(found.tree) for found in Builder(repository).build(path).objects)


def _sorted(objects: Iterator[object]) -> list[object]:
    found = [each for each in objects if each["kind"] == "CronJob"]
    return sorted(found, key=lambda each: each["metadata"]["name"])


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS.keys())
def test_a_layer_is_built_as_kustomize_does(layer: str, tool: Callable[[str], Path], tmp_path: Path) -> None:
    """Every way to patch, to name and to include, over one base."""
    for path, text in {**BASE, "top/kustomization.yaml": f"resources: [../base]\n{layer}\n"}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert ours(tmp_path, "top") == kustomized(tool("kustomize"), tmp_path / "top")


@pytest.mark.parametrize(
    "path",
    sorted(path.parent for path in FIXTURES.glob("*/repository/**/kustomization.yaml")),
    ids=lambda path: str(path.relative_to(FIXTURES)),
)
def test_a_fixture_is_built_as_kustomize_does(path: Path, tool: Callable[[str], Path]) -> None:
    """Every kustomization of the repositories."""
    case = FIXTURES / path.relative_to(FIXTURES).parts[0] / "repository"
    assert ours(case, path.relative_to(case).as_posix()) == kustomized(tool("kustomize"), path)
