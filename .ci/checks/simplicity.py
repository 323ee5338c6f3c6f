"""No comprehension has two `for`, or another one inside; ruff (C901) counts the paths."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("krm_windows", ".ci", "bench")

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def is_nested(node: ast.AST) -> bool:
    """Say whether this is a comprehension with two `for`, or with another comprehension inside."""
    if not isinstance(node, _COMPREHENSIONS):
        return False
    inside = sum(isinstance(part, _COMPREHENSIONS) for part in ast.walk(node))
    return inside > 1 or len(node.generators) > 1


def problems() -> Iterator[str]:
    """Yield the place of each nested comprehension."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in filter(is_nested, ast.walk(ast.parse(path.read_text()))):
                place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
                yield f"{place}: one comprehension in another"
