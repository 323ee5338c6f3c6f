"""`migrate` on a repository of many clusters with windows, beside kustomize alone.

kustomize builds each directory.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from measure import OURS, Aim, measure, write_tree
from repositories import APP, FLUX

CLUSTERS = 90
JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {name}
  namespace: flux-system
spec:
  schedule: {schedule}
  timeZone: Etc/UTC
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: flux
            image: ghcr.io/fluxcd/flux-cli:v2.9.5
            args: [{verb}, kustomization, apps]
"""
OVERLAY = """\
resources:
- ../base
patches:
- target:
    kind: CronJob
    name: open
  patch: |
    - op: replace
      path: /spec/schedule
      value: "{minute} 8 * * 1-5"
"""
ALONE = "for each in apps/edge-* windows/edge-*; do kustomize build $each || exit; done"


def write(root: Path) -> int:
    """Write a repository; return how many files it has.

    For each cluster it has an overlay of the apps, and one of the windows.
    """
    files = {"apps/base/apps.yaml": "---\n".join(APP.format(number=number) for number in range(10))}
    files["apps/base/kustomization.yaml"] = "resources:\n- apps.yaml\n"
    for name, schedule, verb in (
        ("open", '"0 8 * * 1-5"', "resume"),
        ("close", '"0 17 * * 1-5"', "suspend"),
    ):
        files[f"windows/base/{name}.yaml"] = JOB.format(name=name, schedule=schedule, verb=verb)
    files["windows/base/kustomization.yaml"] = "resources:\n- open.yaml\n- close.yaml\n"
    for number in range(CLUSTERS):
        name = f"edge-{number:02}"
        for part in ("apps", "windows"):
            files[f"clusters/{name}/{part}.yaml"] = FLUX.format(name=part, path=f"{part}/{name}")
        files[f"clusters/{name}/settings.yaml"] = APP.format(number=number)
        files[f"apps/{name}/kustomization.yaml"] = "resources:\n- ../base\n"
        files[f"windows/{name}/kustomization.yaml"] = OVERLAY.format(minute=number % 60)
    write_tree(root, files)
    return len(files)


def run() -> None:
    """Print what a migration takes, its proof included, and how the builds alone compare."""
    if shutil.which("kustomize") is None:
        sys.exit("bench: kustomize is not installed")
    with tempfile.TemporaryDirectory() as folder:
        root, out = Path(folder) / "fleet", Path(folder) / "out"
        count = write(root)
        migrate = [
            "sh",
            "-c",
            (
                f"rm -rf {out} && {OURS} migrate {root} --output-dir {out} --no-cache"
                " --source flux-system=."
            ),
        ]
        alone = measure(["sh", "-c", f"cd {root} && {ALONE}"])
        ours = measure(migrate)
    for what, run in {"kustomize alone": alone, "migrate": ours}.items():
        print(
            f"{count} files, {what}: {run.seconds:.1f} s, {run.processor:.1f} s of processor",
            flush=True,
        )
    # Twice, as what the clusters would have without the old windows is built too.
    Aim("migration: processor time / kustomize alone", 2.5).judge(ours.processor / alone.processor)
