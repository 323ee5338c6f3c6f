"""`make bench`: the function beside a minimal Go function on kustomize's framework, in one run.

Wall time is the median of several runs that take turns; memory is the peak of resident memory (`ru_maxrss`). Only the
ratios mean anything beyond the machine that measured them. A missed aim is said, and fails nothing.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
FUNCTION: list[str | Path] = [Path(sys.executable).with_name("krm-windows")]
IMPORTS: list[str | Path] = [sys.executable, "-c", "import yaml, pydantic"]
SIZES = {1: 15, 1_000: 9, 10_000: 5}
"""How many resources, and how many runs of each program."""


@dataclass(frozen=True)
class Run:
    """One run of a program: wall time in seconds, peak memory in MiB."""

    seconds: float
    memory: float


@dataclass(frozen=True)
class Aim:
    """A ratio that should not be exceeded."""

    resources: int
    what: str
    limit: float
    ratio: Callable[[Run, Run, Run], float]


AIMS = (
    Aim(1, "time / import yaml, pydantic", 1.5, lambda ours, _, imports: ours.seconds / imports.seconds),
    Aim(1_000, "time / Go", 0.8, lambda ours, go, _: ours.seconds / go.seconds),
    Aim(10_000, "time / Go", 0.3, lambda ours, go, _: ours.seconds / go.seconds),
    Aim(10_000, "memory / Go", 0.1, lambda ours, go, _: ours.memory / go.memory),
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


ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
"""With the bytecode that an installed package has."""


def measure(command: Sequence[str | Path], stdin: Path) -> Run:
    """Run a program on a file. This process stays small: a child's peak counts what it was before `exec`."""
    with stdin.open("rb") as source, tempfile.TemporaryFile() as sink:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=source, stdout=sink, env=ENVIRONMENT)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command[0]} exited {child.returncode}")
    return Run(seconds, usage.ru_maxrss / 1024)


def compare(programs: Sequence[Sequence[str | Path]], stdin: Path, times: int) -> list[Run]:
    """Return the median run of each program; they take turns, so that all meet the same machine."""
    for command in programs:
        measure(command, stdin)  # once to warm the caches, and Python's bytecode
    rounds = [[measure(command, stdin) for command in programs] for _ in range(times)]
    return [
        Run(statistics.median(run.seconds for run in runs), statistics.median(run.memory for run in runs))
        for runs in zip(*rounds, strict=True)
    ]


def framework() -> Path:
    """Build the Go function; exits where there is no Go."""
    if shutil.which("go") is None:
        sys.exit("bench: go is not installed")
    program = CACHE / "bench/framework"
    places = {"GOCACHE": str(CACHE / "go/build"), "GOMODCACHE": str(CACHE / "go/modules")}
    flags = {"GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false"}
    command: list[str | Path] = ["go", "build", "-o", program, "."]
    subprocess.run(command, cwd=ROOT / "bench/framework", env={**os.environ, **places, **flags}, check=True)
    return program


def rows() -> Iterator[tuple[int, list[Run]]]:
    """Yield, for each number of resources, the runs of the function, of Go and of the imports alone."""
    programs: list[list[str | Path]] = [FUNCTION, [framework()], IMPORTS]
    with tempfile.TemporaryDirectory() as folder:
        for resources, times in SIZES.items():
            stdin = Path(folder) / f"{resources}.yaml"
            write(stdin, resources)
            yield resources, compare(programs, stdin, times)


def main() -> None:
    """Print what was measured, then each aim and whether it was met."""
    print(f"{'resources':>9}  {'krm-windows':>18}  {'Go framework':>18}  {'import yaml, pydantic':>21}")
    measured = {}
    for resources, runs in rows():
        measured[resources] = runs
        cells = [f"{run.seconds:7.3f} s {run.memory:5.0f} MiB" for run in runs]
        print(f"{resources:>9}  {cells[0]:>18}  {cells[1]:>18}  {cells[2]:>21}", flush=True)
    print()
    for aim in AIMS:
        ratio = aim.ratio(*measured[aim.resources])
        verdict = "met" if ratio <= aim.limit else "MISSED"
        print(f"{aim.resources:>6} resources: {aim.what} = {ratio:.3f}, aim {aim.limit}: {verdict}")


if __name__ == "__main__":
    main()
