"""Decisions in docs/decisions: each at most a page, and in the index.

Each opens with its number and its status.
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
    for path in records:
        match, text = NAME.fullmatch(path.name), path.read_text()
        if not match:
            yield f"{path.name}: must be NNNN-the-decision.md, in lower case with hyphens"
        elif not text.startswith(f"# {int(match[1])}. "):
            yield f"{path.name}: must open with `# {int(match[1])}. <decision>`"
        if "\nStatus: " not in text:
            yield f"{path.name}: lacks a line `Status: …`"
        if len(text.splitlines()) > PAGE:
            yield f"{path.name}: is longer than a page ({PAGE} lines)"
        if path.name not in index:
            yield f"{path.name}: is missing in docs/decisions/README.md"
