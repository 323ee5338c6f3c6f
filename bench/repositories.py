"""`check --repo` on a repository of many clusters, beside the kustomize builds that it needs."""

import shutil
import sys
import tempfile
from pathlib import Path

from measure import ENVIRONMENT, OURS, Aim, compare, measure, write_tree

CLUSTERS = 1_000
BUILDS, TURNS = 100, 7
POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: office-hours
  namespace: flux-system
spec:
  timeZone: Europe/Berlin
  targets:
  - kind: Kustomization
    names: [apps]
  windows:
    working-week:
      opens: Mon 08:00
      closes: Thu 17:00
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {name}
  namespace: flux-system
spec:
  interval: 10m
  path: ./{path}
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
"""
APP = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{number}
  namespace: apps
spec:
  selector:
    matchLabels:
      app: app-{number}
  template:
    metadata:
      labels:
        app: app-{number}
    spec:
      containers:
      - name: app
        image: app:1.{number}.0
        envFrom:
        - configMapRef:
            name: settings-{number}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings-{number}
  namespace: apps
data:
  mode: plain
"""
OVERLAY = """\
resources:
- ../base
patches:
- target:
    kind: ConfigMap
  patch: |
    - op: replace
      path: /data/mode
      value: {name}
"""
PATCHES = """\
  patches:
  - target:
      kind: Kustomization
    patch: |
      apiVersion: kustomize.toolkit.fluxcd.io/v1
      kind: Kustomization
      metadata:
        name: all
      spec:
        patches:
        - target:
            kind: HelmRelease
          patch: |
            apiVersion: helm.toolkit.fluxcd.io/v2
            kind: HelmRelease
            metadata:
              name: all
            spec:
              upgrade:
                cleanupOnFail: true
"""
RELEASE = """\
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: {name}
  namespace: apps
spec:
  chartRef:
    kind: OCIRepository
    name: {name}
"""
MERGED = """\
patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: app-{number}
      namespace: apps
    spec:
      replicas: 3
"""
ONE_ALONE = "for each in apps/*; do kustomize build $each || exit; done"
ALONE = "for each in apps/edge-*; do kustomize build $each || exit; done"


def write(root: Path) -> None:
    """Write a repository of many clusters, each with an overlay of ten apps.

    The clusters share their infrastructure and a policy.
    """
    files = {
        "windows/office-hours.yaml": POLICY,
        "infra/infra.yaml": APP.format(number=0).replace("apps", "infra"),
    }
    files["apps/base/apps.yaml"] = "---\n".join(APP.format(number=number) for number in range(10))
    files["apps/base/kustomization.yaml"] = "resources:\n- apps.yaml\n"
    for number in range(CLUSTERS):
        name = f"edge-{number:04}"
        flux = (
            FLUX.format(name="infra", path="infra"),
            FLUX.format(name="apps", path=f"apps/{name}"),
        )
        files[f"clusters/{name}/flux.yaml"] = "---\n".join(flux)
        files[f"apps/{name}/kustomization.yaml"] = OVERLAY.format(name=name)
    write_tree(root, files)


def write_one(root: Path) -> None:
    """Write a repository of one cluster and 80 Kustomizations.

    A third of them merges patches, and a parent patches all.
    """
    groups, each = 8, 9
    path = "clusters/home"
    children = [FLUX.format(name="flux-system", path=path)]
    files = {"windows/office-hours.yaml": POLICY}
    for group in range(groups):
        name = "apps" if group == 0 else f"group-{group}"
        children.append(FLUX.format(name=name, path=f"groups/{group}") + PATCHES)
        for number in range(each):
            app, place = f"app-{group}-{number}", f"apps/{group}-{number}"
            files[f"groups/{group}/{app}.yaml"] = FLUX.format(name=app, path=place)
            files[f"{place}/app.yaml"] = APP.format(number=number) + RELEASE.format(name=app)
            more = MERGED.format(number=number) if number % 3 == 0 else "namePrefix: one-\n"
            files[f"{place}/kustomization.yaml"] = f"resources:\n- app.yaml\n{more}"
    files[f"{path}/flux.yaml"] = "---\n".join(children)
    write_tree(root, files)


def one() -> None:
    """Print what a first check of 80 Kustomizations takes.

    Beside it, kustomize alone makes one build after the other.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "home"
        write_one(root)
        check = [OURS, "check", "--repo", root, "--no-cache", "--source", "flux-system=."]
        alone = ["sh", "-c", f"cd {root} && {ONE_ALONE}"]
        theirs, ours = compare([alone, check], 3)
    for what, cost in {"kustomize alone": theirs, "check": ours}.items():
        print(
            f"80 Kustomizations, {what}: {cost.seconds:.1f} s, {cost.processor:.1f} s of processor",
            flush=True,
        )
    # The parent's patches are merged into every build, for which kustomize reads its schema, and
    # kustomize alone merges a third of them.
    Aim("80 Kustomizations: wall time / kustomize alone", 3).judge(ours.seconds / theirs.seconds)
    Aim("80 Kustomizations: processor time / kustomize alone", 3).judge(
        ours.processor / theirs.processor
    )


def run() -> None:
    """Print what a check takes, how much of it is kustomize, and what one without changes takes."""
    if shutil.which("kustomize") is None:
        sys.exit("bench: kustomize is not installed")
    one()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "fleet"
        write(root)
        ENVIRONMENT["XDG_CACHE_HOME"] = str(Path(folder) / "cache")
        check = [OURS, "check", "--repo", root, "--jobs", "1"]
        measure(
            [*check, "--clusters", "clusters/edge-000*"], Path("/dev/null")
        )  # for Python's bytecode
        alone = measure(["sh", "-c", f"cd {root} && {ALONE}"], Path("/dev/null"))
        first, again = (measure(check, Path("/dev/null")) for _ in range(2))
    for what, cost in {"kustomize alone": alone, "check": first, "check again": again}.items():
        print(
            f"{CLUSTERS:,} clusters, {what}: {cost.seconds:.1f} s, "
            f"{cost.processor:.1f} s of processor",
            flush=True,
        )
    confinement()
    Aim("processor time / kustomize alone", 1.3).judge(first.processor / alone.processor)
    Aim("processor time, nothing changed / kustomize alone", 0.3).judge(
        again.processor / alone.processor
    )


def confinement() -> None:
    """Print what it costs to confine builds: the same ones with a sandbox and without, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        script = Path(__file__).with_name("confined_builds.py")
        programs = [
            [sys.executable, script, mode, folder, str(BUILDS)] for mode in ("confined", "bare")
        ]
        confined, bare = compare(programs, TURNS)
    print(
        f"{BUILDS} builds: {confined.processor:.2f} s of processor confined, "
        f"{bare.processor:.2f} s bare",
        flush=True,
    )
    Aim("processor time of builds, confined / bare", 1.05).judge(
        confined.processor / bare.processor
    )
    Aim("wall time of builds, confined / bare", 1.05).judge(confined.seconds / bare.seconds)
