"""A fleet rendered, and rendered again, beside what kustomize takes to build the same tree.

Three policies for each cluster. kustomize builds a cluster at a time, as Flux does; it is measured
on some clusters, spread over the fleet, and the median stands for all. Time is of the processor
(user and system), which can be compared on a machine that has other things to do; the wall's is
beside it. A missed aim is said, and fails nothing.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import OURS, Aim, Command, Run, measure, middle

SIZES = (10, 100, 1000)
BUILDS = 20
"""How many clusters, and how many of them kustomize builds."""
BUILT = Aim("1,000 clusters: first render / kustomize", 0.05)
AGAIN = Aim("1,000 clusters: second render / first", 0.25)

ZONES = ("Europe/Berlin", "America/Chicago", "Asia/Singapore")
WINDOWS = {"nights": "Mon-Fri 22:00", "mornings": "Sat,Sun 02:00", "patches": "2nd Tue +2d 22:00"}
HEAD = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {{name: {name}, namespace: flux-system}}
spec:
  timeZone: Etc/UTC
  targets:
  - {{kind: Kustomization, names: [infra-{name}, apps-{name}]}}
  windows:
    change: {{opens: "{opens}", duration: 4h}}
  freezes:
    year-end: {{starts: "2026-12-20", ends: "2027-01-03", reason: Year-end change freeze}}
  clusters:
"""
CLUSTER = """\
    plant-{number:04}:
      timeZone: {zone}
      windows: {{change: {{duration: {minutes}m}}}}
"""


def policies(folder: Path, clusters: int) -> Iterator[Path]:
    """Write the policies of a fleet and yield their paths."""
    for name, opens in WINDOWS.items():
        path = folder / f"{name}.yaml"
        with path.open("w") as file:
            file.write(HEAD.format(name=name, opens=opens))
            for number in range(clusters):
                file.write(
                    CLUSTER.format(number=number, zone=ZONES[number % 3], minutes=60 + number % 120)
                )
        yield path


def written(tree: Path) -> dict[Path, int]:
    """Return when each file of a tree was written."""
    return {path: path.stat().st_mtime_ns for path in tree.rglob("*")}


def built(kustomize: str, tree: Path) -> Run:
    """Return the median of some builds."""
    clusters = sorted((tree / "clusters").iterdir())
    some = clusters[:: -(-len(clusters) // BUILDS)]
    return middle(
        [measure([kustomize, "build", cluster / "reconciliation-window"]) for cluster in some]
    )


def compare(kustomize: str, clusters: int) -> tuple[Run, Run, Run]:
    """Return a fleet's first and second rendering, and the build of one of its clusters."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        command: Command = [
            OURS,
            "render",
            *policies(Path(folder), clusters),
            "--all-clusters",
            "--output-dir",
            tree,
        ]
        first = measure(command)
        before = written(tree)
        second = measure(command)
        if written(tree) != before:
            sys.exit("the second rendering wrote something")
        return first, second, built(kustomize, tree)


def run() -> None:
    """Print what was measured, then each aim and whether it was met."""
    kustomize = shutil.which("kustomize")
    if kustomize is None:
        sys.exit("bench: kustomize is not installed")
    print("per cluster: ms of processor (ms of wall); MiB at the peak of the whole")
    print(f"{'clusters':>9}  {'first render':>26}  {'second render':>26}  {'kustomize build':>26}")
    for clusters in SIZES:
        first, second, build = compare(kustomize, clusters)
        shares = ((first, clusters), (second, clusters), (build, 1))
        cells = [
            f"{run.processor / n * 1e3:.2f} ({run.seconds / n * 1e3:.2f}) {run.memory:.0f} MiB"
            for run, n in shares
        ]
        print(f"{clusters:>9}  {cells[0]:>26}  {cells[1]:>26}  {cells[2]:>26}", flush=True)
    print()
    BUILT.judge(first.processor / (build.processor * SIZES[-1]))
    AGAIN.judge(second.processor / first.processor)
