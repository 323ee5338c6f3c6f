"""Every regular expression of the package is constant, and quick.

It is matched in a time that grows as the text does.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from types import ModuleType

import pytest
from regexes import fault

import krm_windows
from krm_windows.policy.parts import Leaf

CALLS = frozenset({"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})
ANCHORED = frozenset({"match", "fullmatch"})
# What they compile, by an argument; the names of those that take none are enough.
MADE: dict[str, dict[str, Iterable[object]]] = {"krm.outline": {"_dash": range(3)}}


def short(module: ModuleType) -> str:
    return module.__name__.removeprefix("krm_windows.")


@cache
def modules() -> tuple[ModuleType, ...]:
    names = (found.name for found in pkgutil.walk_packages(krm_windows.__path__, "krm_windows."))
    return tuple(importlib.import_module(name) for name in names if not name.endswith("__main__"))


@cache
def tree(module: ModuleType) -> ast.Module:
    return ast.parse(Path(str(module.__file__)).read_text())


@cache
def compiled() -> list[tuple[str, str, re.Pattern[str] | re.Pattern[bytes]]]:
    found: dict[int, tuple[str, str, re.Pattern[str] | re.Pattern[bytes]]] = {}
    for module in modules():
        for name, value in vars(module).items():
            for pattern in held(value, 0):
                if defines(module, name):
                    found.setdefault(id(pattern), (short(module), name, pattern))
        for name, arguments in MADE.get(short(module), {}).items():
            function = vars(module)[name]
            calls = [(each,) for each in arguments] or [()]
            for call in calls:
                pattern = function(*call)
                found.setdefault(id(pattern), (short(module), name, pattern))
    return list(found.values())


def defines(module: ModuleType, name: str) -> bool:
    targets = (node for node in tree(module).body if isinstance(node, ast.Assign | ast.AnnAssign))
    return any(
        isinstance(each, ast.Name) and each.id == name
        for node in targets
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for each in ast.walk(target)
    )


def held(value: object, depth: int) -> Iterator[re.Pattern[str] | re.Pattern[bytes]]:
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


@cache
def methods() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for module in modules():
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.Attribute) and node.attr in CALLS:
                # `_TABLE[key].match(…)` is a use of what is in the table.
                value = node.value.value if isinstance(node.value, ast.Subscript) else node.value
                # `_compiled(…).match(…)` is a use of what the function compiles.
                value = value.func if isinstance(value, ast.Call) else value
                name = (
                    value.id
                    if isinstance(value, ast.Name)
                    else value.attr
                    if isinstance(value, ast.Attribute)
                    else ""
                )
                found.setdefault(f"{short(module)}.{name}", set()).add(node.attr)
                found.setdefault(name, set()).add(node.attr)
            # `lines.end_of(_WORD, …)` matches at one place.
            match node:
                case ast.Call(ast.Name("end_of"), [ast.Name(name), *_]):
                    found.setdefault(f"{short(module)}.{name}", set()).add("match")
    return found


def searches(module: str, name: str) -> bool:
    local = (
        methods().get(f"{module}.{name}") or methods().get(name)
        if name.isupper() or name.startswith("_")
        else None
    )
    # Those of types are read by `policy.fields`.
    of_types = (
        methods()["policy.fields.pattern"] if name[0].isupper() and not name.isupper() else None
    )
    used = local or methods().get(f"{module}.pattern") or of_types or CALLS
    return not used <= ANCHORED


def test_patterns_are_found() -> None:
    names = {f"{module}.{name}" for module, name, _ in compiled()}
    assert len(compiled()) > 80
    assert {"policy.fields.Image", "policy.schedules._ODD", "policy.moments.SHAPES"} <= names


def test_a_pattern_is_linear() -> None:
    for module, name, pattern in compiled():
        assert fault(pattern, searches=searches(module, name)) is None, f"{module}.{name}"


# Patterns without blanks, divided by blanks.
LINEAR = r"""
    a+b a*b (a|b)*c (?:a+b)+c \d{1,3}:\d{2} [^:]*:[^:]*: (?:#[^\n]*+)?\r?\n (?:[ab]*+c)+ x*+x
    (?:ab?)+ (?:a|b(?=c)|[cd])*\Z
"""
SLOW = r"""
    (a+)+b (a|ab?)*b (a*)*b (?:a|ab|b)*c a*a*b .*a.*b (?:\d+,?)+x (?:\s|#.*)*x \s*\n\s*x
    (?:[ab]+c?)+d [a-z]*c[a-z]*! (?i)(?:k.?|K)*x (?:#[^\n]*)?(?:\r?\n#[^\n]*)*!
"""
SLOW_TO_FIND = r"""
    a+b \s+$ \bfor\s+\w+\s+in\s+[\w\s]+; <[^>]*> \$\{(\w+):=([^}]*)\} a(?:[^b]*b)? [0-9]*s
"""
QUICK_TO_FIND = r"""
    a+ \d+ [^a-z]+ ab \$\{(\w+):=([^}$]*)\} \bfor\b (?m)^-+$ '[^']*'
"""


@pytest.mark.parametrize(
    ("patterns", "searches", "is_linear"),
    [
        (LINEAR, False, True),
        (SLOW, False, False),
        # A search begins anew at each character.
        (SLOW_TO_FIND, True, False),
        (QUICK_TO_FIND, True, True),
    ],
    ids=["linear", "slow", "slow to find", "quick to find"],
)
def test_what_is_not_linear_is_found(patterns: str, *, searches: bool, is_linear: bool) -> None:
    for pattern in patterns.split():
        found = fault(re.compile(pattern), searches=searches)
        assert (found is None) is is_linear, pattern
