"""docs/explanation/guarantees.md links to every test of tests/cluster, each in its file."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = Path("docs/explanation/guarantees.md")
TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)
LINK = re.compile(r"\[`(test_\w+)`\]\((\S+?)\)")


def problems() -> Iterator[str]:
    """Yield a sentence for every difference."""
    text = (ROOT / PAGE).read_text()
    tests = dict(found())
    links = dict(LINK.findall(text))
    for name in sorted(tests.keys() - links.keys()):
        yield f"{PAGE} does not say what {name} proves"
    for name in sorted(links.keys() - tests.keys()):
        yield f"{PAGE} names {name}, which no file of tests/cluster has"
    for name in sorted(links.keys() & tests.keys()):
        if links[name] != tests[name]:
            yield f"{PAGE} does not link {name} to {tests[name]}"


def found() -> Iterator[tuple[str, str]]:
    """Yield the name of every test and the link from the page to its file."""
    for path in (ROOT / "tests/cluster").glob("test_*.py"):
        for name in TEST.findall(path.read_text()):
            yield name, f"../../tests/cluster/{path.name}"
