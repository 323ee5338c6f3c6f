"""Builds the first kustomizations of a repository, confined or bare.

`repositories` compares the two.
"""

import subprocess
import sys
from pathlib import Path

from krm_windows.system import programs
from krm_windows.system.kustomize import LIMITS, Builder
from krm_windows.system.sandbox.confinement import Confinement

ENVIRONMENT = {"PATH": ""}


def main() -> None:
    """Build as many as are asked for."""
    mode, root, number = sys.argv[1:]
    builder = Builder.find()
    if builder is None:
        sys.exit("bench: kustomize is not installed")
    folders = sorted(path for path in Path(root, "apps").iterdir() if path.name != "base")[
        : int(number)
    ]
    {"confined": confined, "bare": bare}[mode](builder, root, folders)


def confined(builder: Builder, root: str, folders: list[Path]) -> None:
    """Build in a sandbox."""
    confine = Confinement(builder.runs or (), (root,)).enter
    for folder in folders:
        command = [builder.program, "build", str(folder)]
        ended = programs.run(command, environment=ENVIRONMENT, limits=LIMITS, confine=confine)
        if ended.code != 0:
            sys.exit(f"bench: {folder} was not built")


def bare(builder: Builder, root: str, folders: list[Path]) -> None:
    """Build as anybody would."""
    for folder in folders:
        command = [builder.program, "build", str(folder)]
        environment = {**ENVIRONMENT, "HOME": root, "TMPDIR": root}
        subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True
        )


if __name__ == "__main__":
    main()
