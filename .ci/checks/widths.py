"""The prose of pages is wrapped, so that a diff shows the sentence that changed."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Pages are wrapped at 120 columns. A span of code or a link is never broken, so a line may be
# somewhat wider.
WIDEST = 140
GENERATED = "<!-- Generated"
FENCES = ("```", "~~~")
# A row of a table is one line, and so are a heading and the target of a link.
WHOLE = ("|", "#", "[`")


def pages() -> Iterator[Path]:
    """Yield the pages that people write."""
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))
    for folder in ("docs", "examples"):
        yield from sorted((ROOT / folder).rglob("*.md"))


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page, with their numbers, that can be wrapped."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(FENCES):
            is_code = not is_code
        elif not is_code and not line.startswith(WHOLE):
            yield number, line


def too_wide(text: str) -> Iterator[tuple[int, int]]:
    """Yield the number and the width of each line of prose that is too wide."""
    if text.startswith(GENERATED):
        return
    for number, line in prose(text):
        if len(line) > WIDEST:
            yield number, len(line)


def problems() -> Iterator[str]:
    """Yield a sentence for every line that is too wide."""
    for page in pages():
        for number, width in too_wide(page.read_text()):
            path = page.relative_to(ROOT)
            yield f"{path}:{number}: is {width} columns wide: wrap the paragraph at 120"
