"""The files of Go modules that versions.toml pins: manifests that nobody here wrote."""

import tomllib
from pathlib import Path

from lab.build import module_folder

ROOT = Path(__file__).resolve().parents[1]
MODULES = tomllib.loads((ROOT / "versions.toml").read_text())["manifests"]


def files(module: str) -> list[Path]:
    """Return a module's manifests, downloaded into the cache of this repository once."""
    folder = Path(module_folder(module, MODULES[module]["version"]))
    return [
        path
        for part in MODULES[module]["folders"]
        for path in sorted((folder / part).glob("*.yaml"))
    ]
