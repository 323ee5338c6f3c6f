"""A small fleet, and what its trees build to with kustomize."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import yaml

POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: change
  namespace: flux-system
spec:
  timeZone: Etc/UTC
  targets:
  - kind: Kustomization
    names: [infra, apps]
  windows:
    change:
      opens: Mon-Thu 08:00
      closes: "17:00"
  freezes:
    year-end:
      starts: "2026-12-20"
      ends: "2027-01-03"
      reason: Year-end change freeze
  clusters:
    berlin:
      timeZone: Europe/Berlin
    chicago:
      timeZone: America/Chicago
      windows:
        change: null
        night: {opens: Sat 02:00, duration: 4h}
      freezes: {year-end: null}
      crossNamespaceTargets: Allow
      targets:
      - {kind: Kustomization, names: [apps]}
      - {kind: HelmRelease, namespace: shop, names: [shop]}
    singapore:
      timeZone: Asia/Singapore
      actuator: {image: "registry.example/python:3.13", imagePullSecrets: [mirror]}
      windows:
        change: {opens: "daily 01:00", closes: "03:00"}
"""
CLUSTERS = ("berlin", "chicago", "singapore")
BUILD = {"kustomize": "build", "kubectl": "kustomize"}

Objects = Mapping[tuple[str, str, str], object]


def built(engine: Path, folder: Path) -> Objects:
    done = subprocess.run(
        [engine, BUILD[engine.name], folder], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    objects = list(yaml.load_all(done.stdout, yaml.CSafeLoader))
    found = {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one
        for one in objects
    }
    assert len(found) == len(objects)
    return found


def window(tree: Path, cluster: str) -> Path:
    return tree / "clusters" / cluster / "reconciliation-window"


def contents(tree: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(tree)): path.read_bytes()
        for path in sorted(tree.rglob("*"))
        if path.is_file()
    }
