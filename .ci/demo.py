"""`make demo`: build examples/no-deploy-friday, and show when its windows open in a week.

It is built as a user would, and the week is the one that begins now.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUNCTION = Path(sys.executable).with_name("krm-windows")
EXAMPLE = Path("examples/no-deploy-friday")
POLICY = EXAMPLE / "no-deploy-friday.yaml"


def run(*command: str | Path, environment: dict[str, str] | None = None) -> None:
    """Say what is run, and run it; its output is the demonstration."""
    shown = [Path(command[0]).name, *(str(word) for word in command[1:])]
    print(f"\n$ {' '.join(shown)}", flush=True)
    subprocess.run(command, cwd=ROOT, env={**os.environ, **(environment or {})}, check=True)


def build(folder: Path) -> None:
    """Build the example with the first engine that is there.

    These are kustomize, kubectl, and the embedded `render`.
    """
    plugins = {"KUSTOMIZE_PLUGIN_HOME": str(folder / "plugins")}
    engines = {"kustomize": ["kustomize", "build"], "kubectl": ["kubectl", "kustomize"]}
    for engine, command in engines.items():
        if shutil.which(engine):
            print(f"engine: {engine}, with krm-windows as plugin")
            run(FUNCTION, "install", "--plugin-home", folder / "plugins")
            run(*command, "--enable-alpha-plugins", EXAMPLE, environment=plugins)
            return
    print("engine: the embedded `krm-windows render` (there is neither kustomize nor kubectl)")
    run(FUNCTION, "render", POLICY, "-o", folder / "rendered")
    for path in sorted((folder / "rendered").rglob("*.yaml")):
        print(
            f"\n# {path.relative_to(folder / 'rendered')}\n{path.read_text()}", end="", flush=True
        )


def main() -> int:
    """Run the demonstration; the exit code is that of the first command that failed."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            build(Path(folder))
            run(FUNCTION, "calendar", POLICY)
        except subprocess.CalledProcessError as failure:
            return failure.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
