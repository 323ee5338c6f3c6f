"""What is read in one sitting stays that small: functions, modules, the gate program, decisions."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUNCTION, MODULE, GATE = 70, 520, 3200
# What is shipped with the gate only where a policy uses it (docs/decisions/0013).
PARTS = {("hooks.py", "notes.py"): 800, ("events.py",): 220}


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield each function of a module and how many lines it has, its decorators and docstring included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min(
                node.lineno, *(decorator.lineno for decorator in node.decorator_list), node.lineno
            )
            yield node.name, (node.end_lineno or first) - first + 1


def lines(path: Path) -> int:
    """Return how many lines a file has."""
    return len(path.read_text().splitlines())


def problems() -> Iterator[str]:
    """Yield a sentence for everything that has grown too long."""
    for path in sorted((ROOT / "krm_windows").rglob("*.py")):
        place = path.relative_to(ROOT)
        if lines(path) > MODULE:
            yield f"{place} has {lines(path)} lines, at most {MODULE} are allowed"
        for name, length in functions(path):
            if length > FUNCTION:
                yield f"{place}: {name} has {length} lines, at most {FUNCTION} are allowed"
    files = {path.name: lines(path) for path in (ROOT / "krm_windows/gate").rglob("*.py")}
    for part, limit in PARTS.items():
        length = sum(files.pop(name) for name in part)
        if length >= limit:
            yield f"krm_windows/gate: {' and '.join(part)} have {length} lines in all, less than {limit} are allowed"
    if sum(files.values()) >= GATE:
        yield f"krm_windows/gate has {sum(files.values())} lines in all, less than {GATE} are allowed"
