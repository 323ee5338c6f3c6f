"""kubectl and kustomize run ChangeClasses, for real: with hashes that they append afterwards."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from engines import Engine, write

pytestmark = pytest.mark.slow  # kustomize, kpt and containers

CLASSES = """\
apiVersion: krm-windows.dev/v1alpha1
kind: ChangeClasses
metadata:
  name: classes
spec:
  classes: [{name: live}, {name: window}]
  default: window
  rules:
  - {class: live, names: [env, a-env]}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: web
        envFrom:
        - configMapRef: {name: env}
"""
KUSTOMIZATION = "resources: [web.yaml]\ntransformers: [classes.yaml]\n"
Build = Callable[[str, str], subprocess.CompletedProcess[str]]


@pytest.fixture(params=["kubectl-legacy", "kustomize-legacy"])
def build(
    request: pytest.FixtureRequest, engine_of: Callable[[str], Engine], tmp_path: Path
) -> Build:
    def built(keep: str, rest: str) -> subprocess.CompletedProcess[str]:
        classes = CLASSES + (f"  keep: {keep}\n" if keep else "")
        files = {"web.yaml": WEB, "classes.yaml": classes}
        kustomization = {"kustomization.yaml": KUSTOMIZATION + rest}
        return engine_of(request.param).build(write(tmp_path, {**files, **kustomization}))

    return built


HASHED = "configMapGenerator:\n- {name: env, literals: [a=b]}\n"
FIXED = (
    "configMapGenerator:\n- {name: env, literals: [a=b], options: {disableNameSuffixHash: true}}\n"
)


def test_a_class_is_kept(build: Build) -> None:
    live, window = (
        list(yaml.load_all(build(keep, FIXED).stdout, yaml.CSafeLoader))
        for keep in ("live", "window")
    )
    assert [found["kind"] for found in live + window] == ["ConfigMap", "Deployment"]
    [container] = window[0]["spec"]["template"]["spec"]["containers"]
    assert container["envFrom"][0]["configMapRef"]["name"] == live[0]["metadata"]["name"] == "env"


@pytest.mark.parametrize("prefix", ["", "namePrefix: a-\n"])
def test_a_hash_to_come_is_recognised(prefix: str, build: Build) -> None:
    """What kustomize is going to rename must not be parted from what refers to it."""
    for keep in ("", "live", "window"):
        done = build(keep, HASHED + prefix)
        assert done.returncode != 0
        assert "(reference-renamed)" in done.stderr


def test_a_reference_that_kustomize_would_not_rename(build: Build) -> None:
    """It has the old name until all transformers have run."""
    for keep in ("live", "window"):
        done = build(keep, FIXED + "namePrefix: a-\n")
        assert done.returncode != 0
        assert "kustomize renames" in done.stderr
    whole = build("", FIXED + "namePrefix: a-\n")
    assert whole.returncode == 0
    assert "name: env" not in whole.stdout
