"""No file names a place of one machine, an address of a package registry, or open work."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORBIDDEN = {
    # `/home/argocd` is where Argo CD's images look for a plugin.
    "a folder of one machine": re.compile(r"/(?:root|work|home/(?!argocd/)\w+)/\w"),
    "the address of a package registry": re.compile(
        r"\b(?:pypi\.org|files\.pythonhosted\.org|proxy\.golang\.org|sum\.golang\.org"
        r"|registry\.npmjs\.org|crates\.io|deb\.debian\.org|repo1?\.maven\.org)\b"
    ),
    "unfinished work": re.compile(r"\b(?:TODO|FIXME|XXX)\b"),
}
# Texts that come from elsewhere, and this list itself.
EXEMPT = {
    "LICENSE",
    ".ci/checks/words.py",
    ".ci/amtool/go.sum",
    ".ci/kubectl/go.sum",
    ".ci/promtool/go.sum",
    "bench/framework/go.sum",
    "tests/cluster/lab/go/kubernetes/go.sum",
    "tests/cluster/lab/go/kustomize-controller/go.sum",
}


def files() -> list[str]:
    """Return the paths that git knows or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.splitlines() if (ROOT / path).is_file()]


def problems() -> Iterator[str]:
    """Yield a sentence for every line that has such a word."""
    for path in files():
        if path in EXEMPT:
            continue
        text = (ROOT / path).read_text(errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            for what, pattern in FORBIDDEN.items():
                if match := pattern.search(line):
                    yield f"{path}:{number}: {what}: {match[0]}"
