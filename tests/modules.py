"""The files of Go modules that versions.toml pins: manifests that nobody here wrote."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = tomllib.loads((ROOT / "versions.toml").read_text())["manifests"]


def files(go: Path, module: str) -> list[Path]:
    """Return a module's manifests, downloaded into the cache of this repository once."""
    places = {"GOMODCACHE": str(ROOT / ".cache/go/modules"), "GOFLAGS": "-modcacherw"}
    done = subprocess.run(
        [go, "mod", "download", "-json", f"{module}@{MODULES[module]['version']}"],
        cwd="/",
        env={**os.environ, **places},
        capture_output=True,
        text=True,
        check=True,
    )
    folder = Path(json.loads(done.stdout)["Dir"])
    return [
        path
        for part in MODULES[module]["folders"]
        for path in sorted((folder / part).glob("*.yaml"))
    ]
