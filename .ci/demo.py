"""`make demo`: the coming week of examples/no-deploy-friday, and what is built of it.

It is built as a user would. All of what was built is in one file; its names fit on the screen.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUNCTION = Path(sys.executable).with_name("krm-windows")
EXAMPLE = Path("examples/no-deploy-friday")
POLICY = EXAMPLE / "no-deploy-friday.yaml"
BUILT = Path(".cache/demo.yaml")
ENGINES = {"kustomize": ["kustomize", "build"], "kubectl": ["kubectl", "kustomize"]}
# Those of the terminal, within reason.
COLUMNS = min(shutil.get_terminal_size((80, 0)).columns, 80)
OPTION = "--enable-alpha-plugins"


def run(*command: str | Path, variables: Mapping[str, str] | None = None) -> str:
    """Run a command in the repository, and return what it prints."""
    environment = {**os.environ, **(variables or {})}
    return subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def built(folder: Path) -> tuple[str, str]:
    """Build the example with the first engine that is there; return how, and what came out."""
    for engine, command in ENGINES.items():
        if shutil.which(engine):
            run(FUNCTION, "install", "--plugin-home", folder)
            plugins = {"KUSTOMIZE_PLUGIN_HOME": str(folder)}
            output = run(*command, OPTION, EXAMPLE, variables=plugins)
            return " ".join([*command, OPTION, str(EXAMPLE)]), output
    # Neither is needed: this is how windows are built for Flux.
    render = ("render", POLICY, "--output-dir", folder, "--resources", EXAMPLE)
    subprocess.run([FUNCTION, *render], cwd=ROOT, stderr=subprocess.DEVNULL, check=True)
    objects = [path.read_text() for path in sorted(folder.glob("*_*.yaml"))]
    return f"krm-windows render {POLICY} --output-dir …", "---\n".join(objects)


def names(output: str) -> list[str]:
    """Return what was built: each kind with its names, of which `…` is the policy's."""
    found: dict[str, list[str]] = {}
    for document in re.split(r"^---\n", output, flags=re.MULTILINE):
        kind = re.search(r"^kind: (\S+)", document, re.MULTILINE)
        # `metadata` has its name two columns in; what lies deeper has another.
        name = re.search(r"^metadata:\n(?:  .*\n)*?  name: (\S+)", document, re.MULTILINE)
        if kind and name:
            found.setdefault(kind[1], []).append(name[1].replace(POLICY.stem, "…"))
    # Two kinds may have the same names.
    kinds: dict[str, list[str]] = {}
    for each, called in found.items():
        kinds.setdefault(", ".join(called), []).append(each)
    lines = []
    for listed, alike in kinds.items():
        lines += textwrap.wrap(
            f"{', '.join(alike)}: {listed}",
            COLUMNS,
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
    return lines


def main() -> int:
    """Run the demonstration; the exit code is that of the first command that failed."""
    try:
        print(f"$ krm-windows calendar {POLICY}", flush=True)
        # It writes by itself, in the width and the colours of the terminal.
        subprocess.run([FUNCTION, "calendar", POLICY], cwd=ROOT, check=True)
        print()
        with tempfile.TemporaryDirectory() as folder:
            how, output = built(Path(folder))
    except subprocess.CalledProcessError as failure:
        return failure.returncode
    (ROOT / BUILT).parent.mkdir(exist_ok=True)
    (ROOT / BUILT).write_text(output)
    print(f"$ {how} > {BUILT}\n" + "\n".join(names(output)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
