"""The examples as golden cases: what is built, with what, and where the expected result lies.

`python tests/golden.py` builds every example, with kubectl or kustomize and with kpt, and writes
the expected results again. Read the diff before it is committed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PIPELINE = EXAMPLES / "kpt-pipeline"
FLEET = EXAMPLES / "fleet"
PUBLISHED = "image: localhost/krm-windows:0.1.0"
FUNCTION = Path(sys.executable).with_name("krm-windows")
ENGINES = {"kubectl": ("kustomize",), "kustomize": ("build",)}


@dataclass(frozen=True)
class Build:
    """A kustomization and what it yields, both relative to `examples/`."""

    folder: str
    expected: str

    def __str__(self) -> str:
        return self.folder


BUILDS = (
    Build("no-deploy-friday", "no-deploy-friday/expected.yaml"),
    Build("every-ten-minutes", "every-ten-minutes/expected.yaml"),
    Build("edges-only", "edges-only/expected.yaml"),
    Build("edge", "edge/expected.yaml"),
    Build("maintenance-mode", "maintenance-mode/expected.yaml"),
    Build("checked-change", "checked-change/expected.yaml"),
    Build("keep-correcting-drift", "keep-correcting-drift/expected.yaml"),
    *(
        Build(f"{example}/clusters/{cluster}", f"{example}/expected/{cluster}.yaml")
        for example, clusters in {
            "base-and-patches": ("berlin", "chicago", "singapore"),
            "component": ("north", "south"),
            "change-classes": ("plant-7",),
        }.items()
        for cluster in clusters
    ),
    *(
        Build(f"change-classes/overlays/{name}", f"change-classes/expected/{name}.yaml")
        for name in ("live", "window")
    ),
)
# What is split, and into which Flux Kustomizations; where they lie, there is the split.
SPLITS = {base: f"change-classes/clusters/plant-7/{base}" for base in ("apps", "infra")}


def build(engine: str | Path, folder: Path, plugin_home: Path) -> subprocess.CompletedProcess[str]:
    command = [engine, *ENGINES[Path(engine).name], "--enable-alpha-plugins", folder]
    environment = {**os.environ, "KUSTOMIZE_PLUGIN_HOME": str(plugin_home)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def split(base: str, examples: Path = EXAMPLES, *flags: str) -> subprocess.CompletedProcess[str]:
    place = examples / SPLITS[base]
    classes = examples / "change-classes/classes/classes.yaml"
    command = [
        FUNCTION,
        "split",
        examples / "change-classes" / base,
        "--classes",
        classes,
        "--output-dir",
        place,
    ]
    template = ["--flux-kustomization", f"{place}.yaml"]
    return subprocess.run(
        [*command, *template, *flags], capture_output=True, text=True, check=False
    )


def render(kpt: str | Path, package: Path, function: str, *flags: str) -> dict[str, str]:
    """Run the pipeline of the package, copied, twice; return what is new or changed, by path."""
    shutil.copytree(PIPELINE, package)
    kptfile = package / "Kptfile"
    kptfile.write_text(kptfile.read_text().replace(PUBLISHED, function))
    before, after = contents(package), [once(kpt, package, flags), once(kpt, package, flags)]
    if after[0] != after[1]:
        raise AssertionError("the second run changed files")
    return {path: text for path, text in after[0].items() if before.get(path) != text}


def once(kpt: str | Path, package: Path, flags: tuple[str, ...]) -> dict[str, str]:
    environment = {**os.environ, "KPT_FN_RUNTIME": "podman"}
    subprocess.run(
        [kpt, "fn", "render", package, *flags],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return contents(package)


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write_builds(engine: str, home: Path) -> None:
    subprocess.run([FUNCTION, "install", "--plugin-home", home], check=True, capture_output=True)
    for base in SPLITS:
        done = split(base)
        if done.returncode != 0:
            sys.exit(f"{base}: {done.stderr}")
    for case in BUILDS:
        done = build(engine, EXAMPLES / case.folder, home)
        if done.returncode != 0:
            sys.exit(f"{case}: {done.stderr}")
        expected = EXAMPLES / case.expected
        expected.parent.mkdir(exist_ok=True)
        expected.write_text(done.stdout)


def render_fleet(tree: Path, *flags: str) -> None:
    command = [
        FUNCTION,
        "render",
        FLEET / "plant-windows.yaml",
        "--all-clusters",
        "--output-dir",
        tree,
        *flags,
    ]
    subprocess.run(command, check=True)


def write_fleet(engine: str, tree: Path) -> None:
    render_fleet(tree)
    for folder in sorted((tree / "clusters").iterdir()):
        command = [engine, *ENGINES[Path(engine).name], folder / "reconciliation-window"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        (FLEET / f"expected/{folder.name}.yaml").write_text(done.stdout)


def write_package(kpt: str, folder: Path) -> None:
    shutil.rmtree(PIPELINE / "expected", ignore_errors=True)
    for path, text in render(kpt, folder, f"exec: {FUNCTION}", "--allow-exec").items():
        expected = PIPELINE / "expected" / path
        expected.parent.mkdir(parents=True, exist_ok=True)
        expected.write_text(text)


def main() -> int:
    engine, kpt = next(filter(None, map(shutil.which, ENGINES)), None), shutil.which("kpt")
    with tempfile.TemporaryDirectory() as folder:
        if engine:
            write_builds(engine, Path(folder) / "plugins")
            write_fleet(engine, Path(folder) / "windows")
        if kpt:
            write_package(kpt, Path(folder) / "package")
    return 0 if engine and kpt else 1


if __name__ == "__main__":
    sys.exit(main())
