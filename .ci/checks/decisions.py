"""Decisions in docs/decisions: numbered, and each at most a page.

Each opens with its number and its status. A number may be missing: it is of a change that has not
come yet.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"(\d{4})-[a-z0-9-]+\.md")
PAGE = 70


def problems() -> Iterator[str]:
    """Yield a sentence for everything that is not so."""
    records = sorted(
        path for path in (ROOT / "docs/decisions").glob("*.md") if path.name != "README.md"
    )
    index = (ROOT / "docs/decisions/README.md").read_text()
    taken = set()
    for path in records:
        match, text = NAME.fullmatch(path.name), path.read_text()
        number = int(match[1]) if match else 0
        if not match or number in taken:
            yield f"{path.name}: a name is a free number, then lower case with hyphens"
        taken.add(number)
        if not text.startswith(f"# {number}. "):
            yield f"{path.name}: must open with `# {number}. <decision>`"
        if "\nStatus: " not in text:
            yield f"{path.name}: lacks a line `Status: …`"
        if len(text.splitlines()) > PAGE:
            yield f"{path.name}: is longer than a page ({PAGE} lines)"
        if path.name not in index:
            yield f"{path.name}: is missing in docs/decisions/README.md"
