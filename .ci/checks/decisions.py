"""Decisions in docs/decisions: numbered without gaps, and each at most a page.

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
    for expected, path in enumerate(records, 1):
        match, text = NAME.fullmatch(path.name), path.read_text()
        if not match or int(match[1]) != expected:
            yield (
                f"{path.name}: the next number is {expected:04}, "
                "and a name is lower case with hyphens"
            )
        if not text.startswith(f"# {expected}. "):
            yield f"{path.name}: must open with `# {expected}. <decision>`"
        if "\nStatus: " not in text:
            yield f"{path.name}: lacks a line `Status: …`"
        if len(text.splitlines()) > PAGE:
            yield f"{path.name}: is longer than a page ({PAGE} lines)"
        if path.name not in index:
            yield f"{path.name}: is missing in docs/decisions/README.md"
