"""Print one entry of versions.toml for the shell: `versions.py tools.kustomize`.

Lists are printed one item a line.
"""

import sys
import tomllib
from pathlib import Path

VERSIONS = Path(__file__).resolve().parent.parent / "versions.toml"


def entry(dotted: str) -> str | list[str]:
    """Return the string or list of strings at `table.key`; raises KeyError where there is none."""
    table, _, key = dotted.partition(".")
    value: str | list[str] = tomllib.loads(VERSIONS.read_text())[table][key]
    return value


if __name__ == "__main__":
    found = entry(sys.argv[1])
    print(found if isinstance(found, str) else "\n".join(found))
