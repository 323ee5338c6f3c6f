"""Every regular expression of the package is matched in a time that grows as the text does."""

import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import pytest
from regexes import is_linear, is_misread

import krm_windows
from krm_windows.krm import outline
from krm_windows.policy import fields
from krm_windows.policy.parts import Leaf

FIELDS = Path(fields.__file__)
Pattern = re.Pattern[str] | re.Pattern[bytes]
# How one is used: `_WORD.sub(…)`, `_TABLE[key].match(…)`, `_dash(3).match(…)`, `end_of(_WORD, …)`.
USE = (
    r"\b{0}(?:\[[^\]]*\]|\([^)]*\))?\.(match|fullmatch|search|subn?|split|findall|finditer)\b"
    r"|\b(end_of)\({0}\b"
)


@cache
def compiled() -> dict[Pattern, list[tuple[Path, str]]]:
    """Return every pattern at the top of a module, in tables and types too, with its names."""
    found: dict[Pattern, list[tuple[Path, str]]] = defaultdict(list)
    for each in pkgutil.walk_packages(krm_windows.__path__, "krm_windows."):
        if not each.name.endswith("__main__"):
            module = importlib.import_module(each.name)
            for name, value in vars(module).items():
                for pattern in held(value, 0):
                    found[pattern].append((Path(str(module.__file__)), name))
    for column in range(3):
        found[outline._dash(column)].append((Path(outline.__file__), "_dash"))
    return found


def searches(file: Path, name: str) -> bool:
    """Say whether a pattern is ever searched for; one that nobody uses by its name may be.

    One in a table is used as `pattern`, and the types of a policy are all in one module.
    """
    in_types = [] if name.startswith("_") else [(FIELDS, "pattern")]
    for source, used_as in [(file, name), (file, "pattern"), *in_types]:
        used = re.findall(USE.format(used_as), source.read_text())
        if used:
            return not {method or "match" for method, _ in used} <= {"match", "fullmatch"}
    return True


def held(value: object, depth: int) -> Iterator[Pattern]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 6:
        parts: list[object] = []
        if isinstance(value, dict):
            parts = [*value.keys(), *value.values()]
        elif isinstance(value, tuple | list | set | frozenset):
            parts = list(value)
        elif hasattr(value, "__metadata__"):
            parts = list(value.__metadata__)
        elif isinstance(value, Leaf) and isinstance(value.read, partial):
            parts = list(value.read.keywords.values())
        for part in parts:
            yield from held(part, depth + 1)


def test_patterns_are_found() -> None:
    names = {name for places in compiled().values() for _, name in places}
    assert len(compiled()) > 80
    assert {"Image", "_ODD", "SHAPES"} <= names


def test_a_pattern_is_linear() -> None:
    for pattern, places in compiled().items():
        is_searched = any(searches(*place) for place in places)
        assert is_linear(pattern, searches=is_searched), places


def test_no_pattern_is_misread_by_an_older_python() -> None:
    """Debian 12 has 3.11.2, which lost all items of a ResourceList."""
    assert [places for pattern, places in compiled().items() if is_misread(pattern)] == []
    for text in ("(?:ab?c)*+d", "(?>ab?)c", "((?:a|bc)++c)*"):
        assert is_misread(re.compile(text))
    assert not is_misread(re.compile(r"(?:[ab]*+c?+d)*\w++"))


# Patterns without blanks, divided by blanks: loops in loops, beside each other, and such as share a
# character; a search begins anew at each character.
SLOW = r"""
    (a+)+b (a|ab?)*b (a*)*b (?:a|ab|b)*c a*a*b .*a.*b (?:\d+,?)+x (?:\s|#.*)*x \s*\n\s*x
    (?:[ab]+c?)+d [a-z]*c[a-z]*! (?i)(?:k.?|K)*x (?:#[^\n]*)?(?:\r?\n#[^\n]*)*!
"""
SLOW_TO_FIND = r"""
    a+b \s+$ \bfor\s+\w+\s+in\s+[\w\s]+; <[^>]*> \$\{(\w+):=([^}]*)\} a(?:[^b]*b)? [0-9]*s
"""


@pytest.mark.parametrize(("patterns", "searches"), [(SLOW, False), (SLOW_TO_FIND, True)])
def test_what_is_not_linear_is_found(patterns: str, *, searches: bool) -> None:
    for pattern in patterns.split():
        assert not is_linear(re.compile(pattern), searches=searches), pattern
