"""The examples as golden cases: what is built, with what, and where the expected result lies.

`python tests/golden.py` builds every example, with kubectl or kustomize and with kpt, and writes
the expected results again. Read the diff before it is committed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PIPELINE = EXAMPLES / "kpt-pipeline"
FLEET = EXAMPLES / "fleet"
PUBLISHED = "image: localhost/krm-windows:0.1.0"
FUNCTION = Path(sys.executable).with_name("krm-windows")
ENGINES = {"kubectl": ("kustomize",), "kustomize": ("build",)}
# Those that are built without any other, as their kustomization names policy and resources.
ALONE: tuple[str, ...] = ("no-deploy-friday", "every-ten-minutes", "edges-only", "edge")
ALONE += ("maintenance-mode", "checked-change", "keep-correcting-drift")
CLUSTERS = {
    "base-and-patches": ("berlin", "chicago", "singapore"),
    "component": ("north", "south"),
    "change-classes": ("plant-7",),
}
# Every kustomization, and the file with what it yields.
BUILDS = {name: f"{name}/expected.yaml" for name in ALONE}
BUILDS |= {
    f"{name}/clusters/{cluster}": f"{name}/expected/{cluster}.yaml"
    for name, clusters in CLUSTERS.items()
    for cluster in clusters
}
BUILDS |= {
    f"change-classes/overlays/{name}": f"change-classes/expected/{name}.yaml"
    for name in ("live", "window")
}
# What is split, and into which Flux Kustomizations; where they lie, there is the split.
SPLITS = {base: f"change-classes/clusters/plant-7/{base}" for base in ("apps", "infra")}

Done = subprocess.CompletedProcess[str]


def run(*command: str | Path, **environment: str) -> Done:
    env = {**os.environ, **environment}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def printed(*command: str | Path, **environment: str) -> str:
    done = run(*command, **environment)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def build(engine: str | Path, folder: Path, plugin_home: Path) -> Done:
    """Build a kustomization with kubectl or kustomize and the function as their legacy plugin."""
    words = (*ENGINES[Path(engine).name], "--enable-alpha-plugins")
    return run(engine, *words, folder, KUSTOMIZE_PLUGIN_HOME=str(plugin_home))


def split(base: str, examples: Path = EXAMPLES, *flags: str) -> Done:
    place, example = examples / SPLITS[base], examples / "change-classes"
    classes = f"--classes={example / 'classes/classes.yaml'}"
    options = (classes, f"--output-dir={place}", f"--flux-kustomization={place}.yaml")
    return run(FUNCTION, "split", example / base, *options, *flags)


def render(kpt: str | Path, package: Path, function: str, *flags: str) -> dict[str, str]:
    shutil.copytree(PIPELINE, package)
    kptfile = package / "Kptfile"
    kptfile.write_text(kptfile.read_text().replace(PUBLISHED, function))
    before, after = contents(package), []
    for _ in range(2):
        printed(kpt, "fn", "render", package, *flags, KPT_FN_RUNTIME="podman")
        after.append(contents(package))
    if after[0] != after[1]:
        raise AssertionError("the second run changed files")
    return {path: text for path, text in after[0].items() if before.get(path) != text}


def contents(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def fleet(engine: str | Path, tree: Path) -> dict[str, str]:
    options = ("--all-clusters", f"--output-dir={tree}")
    printed(FUNCTION, "render", FLEET / "plant-windows.yaml", *options)
    return {
        f"expected/{folder.name}.yaml": printed(
            engine, *ENGINES[Path(engine).name], folder / "reconciliation-window"
        )
        for folder in sorted((tree / "clusters").iterdir())
    }


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def main() -> int:
    engine, kpt = next(filter(None, map(shutil.which, ENGINES)), None), shutil.which("kpt")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if engine:
            printed(FUNCTION, "install", "--plugin-home", folder / "plugins")
            for base in SPLITS:
                assert split(base).returncode == 0, base
            for example, expected in BUILDS.items():
                done = build(engine, EXAMPLES / example, folder / "plugins")
                assert done.returncode == 0, done.stderr
                write(EXAMPLES, {expected: done.stdout})
            write(FLEET, fleet(engine, folder / "windows"))
        if kpt:
            files = render(kpt, folder / "package", f"exec: {FUNCTION}", "--allow-exec")
            shutil.rmtree(PIPELINE / "expected", ignore_errors=True)
            write(PIPELINE / "expected", files)
    return 0 if engine and kpt else 1


if __name__ == "__main__":
    sys.exit(main())
