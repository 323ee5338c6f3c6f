"""Every id in tests/must_hold.toml is the name of a test (`test_P01_…`), and the reverse."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"^ *(?:async )?def test_([A-Z]\d\d)_\w+", re.MULTILINE)


def listed() -> dict[str, str]:
    """Return the ids that must hold and what they say."""
    found: dict[str, str] = {}
    for group in tomllib.loads((ROOT / "tests/must_hold.toml").read_text()).values():
        found.update(group)
    return found


def tested() -> dict[str, Path]:
    """Return the ids that tests carry in their names, and a file of each."""
    found: dict[str, Path] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        found.update(dict.fromkeys(NAME.findall(path.read_text()), path))
    return found


def problems() -> Iterator[str]:
    """Yield a sentence for every difference of the two lists."""
    ids, tests = listed(), tested()
    for name in sorted(ids.keys() - tests.keys()):
        yield f"{name} has no test: {ids[name]}"
    for name in sorted(tests.keys() - ids.keys()):
        yield f"{name} is not in tests/must_hold.toml, but {tests[name].relative_to(ROOT)} tests it"
