"""Builds the first kustomizations of a repository, confined or bare.

`repositories` compares the two.
"""

import subprocess
import sys
from pathlib import Path

from krm_windows.system.sandbox import executables
from krm_windows.system.sandbox.confinement import Access, Sandbox
from krm_windows.system.sandbox.executables import Executable

ENVIRONMENT = {"PATH": ""}


def main() -> None:
    """Build as many as are asked for."""
    mode, root, number = sys.argv[1:]
    found = executables.find("kustomize")
    if found is None:
        sys.exit("bench: kustomize is not installed")
    folders = sorted(path for path in Path(root, "apps").iterdir() if path.name != "base")[
        : int(number)
    ]
    {"confined": confined, "bare": bare}[mode](found, root, folders)


def confined(found: Executable, root: str, folders: list[Path]) -> None:
    """Build in a sandbox."""
    with Sandbox(Access(found.runs, found.reads, (root,)), ENVIRONMENT) as sandbox:
        for folder in folders:
            if sandbox.run(found.path, "build", str(folder)).code != 0:
                sys.exit(f"bench: {folder} was not built")


def bare(found: Executable, root: str, folders: list[Path]) -> None:
    """Build as anybody would."""
    for folder in folders:
        command = [found.path, "build", str(folder)]
        environment = {**ENVIRONMENT, "HOME": root, "TMPDIR": root}
        subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True
        )


if __name__ == "__main__":
    main()
