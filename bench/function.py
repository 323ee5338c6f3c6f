"""The function beside a minimal Go one on kustomize's framework, by number of resources."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import CACHE, IMPORTS, OURS, ROOT, Aim, Command, Run, compare

SIZES = {1: 15, 1_000: 41, 10_000: 11}
"""How many resources, and how many runs of each program."""
AIMS: tuple[tuple[int, Aim, Callable[[Run, Run, Run], float]], ...] = (
    (
        1,
        Aim("1 resource: time / import yaml, BaseModel", 3.0),
        lambda ours, _, imports: ours.seconds / imports.seconds,
    ),
    (1_000, Aim("1,000 resources: time / Go", 1.5), lambda ours, go, _: ours.seconds / go.seconds),
    (
        10_000,
        Aim("10,000 resources: time / Go", 0.2),
        lambda ours, go, _: ours.seconds / go.seconds,
    ),
    (
        10_000,
        Aim("10,000 resources: memory / Go", 0.15),
        lambda ours, go, _: ours.memory / go.memory,
    ),
)

HEAD = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: kustomize.toolkit.fluxcd.io/v1
  kind: Kustomization
  metadata:
    annotations:
      config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/index: '0'
    name: infra
    namespace: flux-system
  spec:
    interval: 10m
    path: ./infra
    prune: true
    sourceRef:
      kind: GitRepository
      name: fleet
"""
ITEM = """\
- apiVersion: v1
  data:
    application.properties: |
      server.port=8080
      management.endpoints.web.exposure.include=health,info
    cron: 0 8 * * 1
    opens: "22:00"
  kind: ConfigMap
  metadata:
    annotations:
      config.k8s.io/id: '{number}'
      config.kubernetes.io/index: '{number}'
      internal.config.kubernetes.io/annotations-migration-resource-id: '{number}'
      internal.config.kubernetes.io/id: '{number}'
      internal.config.kubernetes.io/index: '{number}'
      internal.config.kubernetes.io/previousKinds: ConfigMap
      internal.config.kubernetes.io/previousNames: settings-{number}
    name: settings-{number}
    namespace: team-{team}
"""
TAIL = """\
functionConfig:
  apiVersion: krm-windows.dev/v1alpha1
  kind: WindowPolicy
  metadata:
    name: office-hours
    namespace: flux-system
  spec:
    targets:
    - kind: Kustomization
      names:
      - infra
    timeZone: Europe/Berlin
    windows:
      working-week:
        closes: Thu 17:00
        opens: Mon 08:00
"""


def write(path: Path, resources: int) -> None:
    """Write a ResourceList as kustomize writes it."""
    with path.open("w") as file:
        file.write(HEAD)
        for number in range(1, resources):
            file.write(ITEM.format(number=number, team=number % 17))
        file.write(TAIL)


def framework() -> Path:
    """Build the Go function; exits where there is no Go."""
    if shutil.which("go") is None:
        sys.exit("bench: go is not installed")
    program = CACHE / "bench/framework"
    places = {"GOCACHE": str(CACHE / "go/build"), "GOMODCACHE": str(CACHE / "go/modules")}
    flags = {"GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false"}
    command: list[str | Path] = ["go", "build", "-o", program, "."]
    subprocess.run(
        command, cwd=ROOT / "bench/framework", env={**os.environ, **places, **flags}, check=True
    )
    return program


def rows() -> Iterator[tuple[int, list[Run]]]:
    """Yield the runs of the function, of Go and of the imports alone, by number of resources."""
    programs: list[Command] = [[OURS], [framework()], IMPORTS]
    with tempfile.TemporaryDirectory() as folder:
        for resources, times in SIZES.items():
            stdin = Path(folder) / f"{resources}.yaml"
            write(stdin, resources)
            yield resources, compare(programs, times, stdin)


def run() -> None:
    """Print what was measured, then each aim and whether it was met."""
    print(
        f"{'resources':>9}  {'krm-windows':>18}  {'Go framework':>18}  "
        f"{'import yaml, BaseModel':>22}"
    )
    measured = {}
    for resources, runs in rows():
        measured[resources] = runs
        cells = [f"{run.seconds:7.3f} s {run.memory:5.0f} MiB" for run in runs]
        print(f"{resources:>9}  {cells[0]:>18}  {cells[1]:>18}  {cells[2]:>22}", flush=True)
    for resources, aim, ratio in AIMS:
        aim.judge(ratio(*measured[resources]))
