"""What a golden test says: a unified diff of each file that is not as expected."""

import difflib
from collections.abc import Mapping

import pytest

LINES = 60  # of one file's diff; where everything changed, more says nothing
COLUMNS = 500

Text = str | bytes


def assert_same_files(
    found: Mapping[str, Text], expected: Mapping[str, Text], command: str = "make generate"
) -> None:
    """Fail unless both hold the same texts by path; the command writes what is expected again."""
    __tracebackhide__ = True
    changed = sorted(
        path for path in found.keys() | expected.keys() if found.get(path) != expected.get(path)
    )
    if changed:
        head = f"not as expected: {', '.join(changed)} (if it is meant: {command})"
        diffs = [diff(path, expected.get(path), found.get(path)) for path in changed]
        pytest.fail("\n".join([head, *diffs]), pytrace=False)


def diff(path: str, before: Text | None, after: Text | None) -> str:
    """Return what changed in one file; None stands for no file."""
    sides = {"expected": before, "found": after}
    names = ["/dev/null" if text is None else f"{side}/{path}" for side, text in sides.items()]
    changes = difflib.unified_diff(_lines(before), _lines(after), *names, lineterm="")
    shown = [line[:COLUMNS] for line in changes]
    if len(shown) > LINES:
        shown[LINES:] = [f"… and {len(shown) - LINES} lines more"]
    return "\n".join(shown)


def _lines(text: Text | None) -> list[str]:
    """Return the lines as literals, so that their ends and blanks are seen."""
    if isinstance(text, bytes):
        text = text.decode(errors="surrogateescape")
    return [repr(line)[1:-1] for line in (text or "").splitlines(keepends=True)]
