"""Repositories made of texts, and what `check` finds in one."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from krm_windows.cli import main
from krm_windows.flux import Cluster, Survey
from krm_windows.system.checkout import Checkout

Write = Callable[[dict[str, str]], Checkout]
Followed = Callable[..., Survey]
HOME = "flux-system=."
"""What `--source` says of a repository in which nothing does."""


def kustomization(
    name: str, spec: str = "", *, path: str | None = None, source: str = "flux-system"
) -> str:
    return f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  path: {path or f"./{name}"}
  prune: true
  sourceRef: {{kind: GitRepository, name: {source}}}
{spec}---
"""


def config_map(name: str = "settings", namespace: str = "shop") -> str:
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: {namespace}\n"
        "---\n"
    )


def policy(targets: str = "[windowed]", *, name: str = "window", spec: str = "") -> str:
    return f"""\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {{name: {name}, namespace: flux-system}}
spec:
  timeZone: Europe/Berlin
  targets: [{{kind: Kustomization, names: {targets}}}]
  windows: {{working-week: {{opens: Mon 08:00, closes: Thu 17:00}}}}
{spec}"""


def lay(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def checked(
    folder: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> list[dict[str, Any]]:
    main(["check", "--repo", str(folder), "-o", "json", "--no-cache", "--source", HOME, *options])
    results: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["results"]
    return results


def names(cluster: Cluster, key: str) -> set[str]:
    return set(map(str, cluster.kustomizations[f"flux-system/{key}"].objects))
