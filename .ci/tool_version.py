"""Say whether the tool on PATH is the pinned one.

`tool_version.py kustomize 5.8.2` exits 1 where it is not.
"""

import re
import shutil
import subprocess
import sys

ASK = {
    "gitea": ["--version"],
    "kubectl": ["version", "--client"],
    "kustomize": ["version"],
    "kpt": ["version"],
    "promtool": ["--version"],
    "amtool": ["--version"],
    "actionlint": ["-version"],
}


def version(tool: str) -> str | None:
    """Return what the tool on PATH says its version is, or None where there is no such tool."""
    found = shutil.which(tool)
    if found is None:
        return None
    answer = subprocess.run([found, *ASK[tool]], capture_output=True, text=True, check=False).stdout
    match = re.search(r"\d+\.\d+\.\d+(-(?:alpha|beta|rc)\.\d+)?", answer)
    return match[0] if match else answer.strip()


def main() -> int:
    """Compare, and print the result."""
    tool, wanted = sys.argv[1:]
    found = version(tool)
    print(f"{tool}: {found or 'not found'}" + ("" if found == wanted else f", {wanted} is wanted"))
    return int(found != wanted)


if __name__ == "__main__":
    sys.exit(main())
