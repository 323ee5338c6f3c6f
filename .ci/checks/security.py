"""SECURITY.md names a test for each attack that it says is stopped, and the test exists."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "SECURITY.md"
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
FILE = re.compile(r"(?:tests/[\w/]+/)?test_\w+\.py|tests/\w+(?=`)")
NAMED = re.compile(r"\b(test_\w+)\b(?!\.py)")
FUNCTION = re.compile(r"^ *def (test_\w+)", re.MULTILINE)
HEADS = 2  # lines of a table before its rows


def problems() -> Iterator[str]:
    """Yield every row without a test or a reason (`none: …`), and tests that do not exist."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    modules = {path.name for path in files}
    functions: set[str] = set()
    for path in files:
        functions.update(FUNCTION.findall(path.read_text()))
    tables = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    for table in tables:
        title, _, body = table.partition("\n")
        rows = ROW.findall(body)[HEADS:]
        if not rows:
            yield f"SECURITY.md: {title!r} has no row"
        for row in rows:
            yield from _of_row(row, functions, modules)


def _of_row(row: str, functions: set[str], modules: set[str]) -> Iterator[str]:
    """Yield what is wrong with the last column of a row: the tests that prove it."""
    proof = row.strip("|").rpartition("|")[2]
    names, places = NAMED.findall(proof), FILE.findall(proof)
    if not (names or places or "none: " in proof):
        yield f"SECURITY.md: no test is named in {row[:80]}…"
    missing = [name for name in names if name not in functions]
    missing += [place for place in places if not _is_there(place, modules)]
    for name in missing:
        yield f"SECURITY.md: there is no {name}"


def _is_there(place: str, modules: set[str]) -> bool:
    return (ROOT / place).exists() if "/" in place else place in modules
