"""`make requirements`: pin what images and releases are made from, in requirements/.

Every file is pinned by its hash. `image.txt` is what the function needs at run time, `server.txt`
what `krm-windows serve` needs and `forge.txt` what the commands do that ask a forge, those of the
function included, `build.txt` what builds the wheel, `tools.txt` what renews and audits them,
`site.txt` what builds the site. Each is resolved once for all platforms, at the versions of
constraints.txt.
"""

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "requirements"
HEADER = (
    "# Made by `make requirements` from {source}: "
    "every file by its hash, for every platform. Do not edit.\n"
)
# The oldest Python that the function runs on: what is resolved for it also fits the newer one of
# the image.
PYTHON = "3.11"


def sources() -> Mapping[str, tuple[str, list[str]]]:
    """Return, for each file, where its requirements are written, and the requirements."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    versions = tomllib.loads((ROOT / "versions.toml").read_text())
    needed = project["project"]["dependencies"]
    extras = project["project"]["optional-dependencies"]
    return {
        "image": ("pyproject.toml, dependencies", needed),
        **{
            name: (f"pyproject.toml, dependencies and the extra {name}", [*needed, *extras[name]])
            for name in ("server", "forge")
        },
        "build": ("pyproject.toml, build-system", project["build-system"]["requires"]),
        "tools": ("versions.toml, python", _pinned(versions["python"])),
        "site": ("versions.toml, site", _pinned(versions["site"])),
    }


def _pinned(table: Mapping[str, str]) -> list[str]:
    return [f"{name}=={version}" for name, version in sorted(table.items())]


def resolve(uv: Path, requirements: list[str]) -> str:
    """Return the pinned and hashed closure of some requirements, as a requirements file."""
    options = [
        "--generate-hashes",
        "--universal",
        "--no-header",
        "--no-config",
        "--quiet",
        "--python-version",
        PYTHON,
    ]
    command = [uv, "pip", "compile", *options, "--constraint", "constraints.txt", "-"]
    text = "\n".join(requirements)
    done = subprocess.run(
        command, cwd=ROOT, input=text, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def main() -> int:
    """Write each file again."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--uv", type=Path, required=True, help="the program uv, of requirements/tools.txt"
    )
    arguments = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for name, (source, requirements) in sources().items():
        path = FOLDER / f"{name}.txt"
        path.write_text(HEADER.format(source=source) + resolve(arguments.uv, requirements))
        print(f"written: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
