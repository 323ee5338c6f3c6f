"""A kustomize build of one cluster with one policy: our share of it, for each way to run it.

A container is not measured: it takes what its engine takes. What is ours is what a build takes
beyond one of the same files without the policy; for `render`, which runs before a build, it is that
and the run itself.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import ENVIRONMENT, OURS, Command, compare
from repositories import FLUX, POLICY

TURNS = 9
RESOURCES = "resources:\n- flux.yaml\n"
TRANSFORMED = f"{RESOURCES}transformers:\n- policy.yaml\n"
EXEC = """\
  annotations:
    config.kubernetes.io/function: |
      exec:
        path: {ours}
"""


def write(root: Path) -> None:
    """Write the same cluster once for each way."""
    flux = "---\n".join(FLUX.format(name=name, path=name) for name in ("infra", "apps"))
    executed = POLICY.replace("spec:\n", f"{EXEC.format(ours=OURS)}spec:\n", 1)
    ways = {
        "plain": (RESOURCES, POLICY),
        "exec": (TRANSFORMED, executed),
        "plugin": (TRANSFORMED, POLICY),
        "render": (f"{RESOURCES}- windows\n", POLICY),
    }
    for way, (kustomization, policy) in ways.items():
        (root / way).mkdir()
        (root / way / "flux.yaml").write_text(flux)
        (root / way / "policy.yaml").write_text(policy)
        (root / way / "kustomization.yaml").write_text(kustomization)


def commands(root: Path) -> dict[str, Command]:
    """Return what is run for each way."""
    build = f"kustomize build --enable-alpha-plugins {root}"
    rendered = (
        f"{OURS} render {root}/render/policy.yaml --resources {root}/plain"
        f" --output-dir {root}/render/windows"
    )
    return {
        "kustomize alone": ["sh", "-c", f"{build}/plain"],
        "exec function": ["sh", "-c", f"{build}/exec --enable-exec"],
        "legacy plugin": ["sh", "-c", f"{build}/plugin"],
        "render, then kustomize": ["sh", "-c", f"{rendered} && {build}/render"],
    }


def run() -> None:
    """Print what a build takes for each way, and what share of it is ours."""
    if shutil.which("kustomize") is None:
        sys.exit("bench: kustomize is not installed")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root)
        plugins = str(root / "plugins")
        install = [OURS, "install", "--plugin-home", plugins]
        subprocess.run(install, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)
        ENVIRONMENT["KUSTOMIZE_PLUGIN_HOME"] = plugins
        ways = commands(root)
        runs = dict(zip(ways, compare(list(ways.values()), TURNS), strict=True))
    alone = runs.pop("kustomize alone")
    print(f"kustomize alone: {alone.seconds:.3f} s, {alone.processor:.3f} s of processor")
    for way, run in runs.items():
        share = 1 - alone.seconds / run.seconds
        print(
            f"{way}: {run.seconds:.3f} s, {run.processor:.3f} s of processor, ours: {share:.0%}",
            flush=True,
        )
