"""Code reads easily: few thoughts a line, few paths a function, comments where they help.

No comprehension has another one inside. The number of lines is free. What is limited is what makes
a line or a function hard to read, measured on the syntax tree:

- nodes of the tree for each line that has code,
- conditional expressions (`a if b else c`) for each thousand such lines,
- lines with a comment for each such line,
- comprehensions with another one inside, or with two `for`: none,
- paths through a function: one, and one more for each `if`, loop, `except`, `case`, conditional
  expression, `and`, `or`, and each `for` and `if` of a comprehension.

The figures of cronsim, kopf, svcs and kyaml are 5.7 to 9.3 nodes and 0.6 to 20 conditional
expressions.
"""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "krm_windows"
# Held to the limits of functions alone.
SCRIPTS = (ROOT / ".ci", ROOT / "bench")

# Of the whole package: about what it has today, so that it does not get worse.
NODES_A_LINE = 8.55
CONDITIONALS_A_THOUSAND_LINES = 3.0
COMMENTS_A_LINE = 0.085
# Of each function.
PATHS = 10

Function = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.Assert, ast.match_case)
_LAYOUT = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass(slots=True)
class Figures:
    """What is counted of some modules."""

    nodes: int = 0
    lines: int = 0
    conditionals: int = 0
    comments: int = 0

    def add(self, other: "Figures") -> None:
        """Count another module, too."""
        self.nodes += other.nodes
        self.lines += other.lines
        self.conditionals += other.conditionals
        self.comments += other.comments


def paths(function: Function) -> int:
    """Return how many paths lead through a function, those of functions inside it included."""
    found = 1
    for node in ast.walk(function):
        if isinstance(node, _BRANCHES):
            found += 1
        elif isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            found += 1 + len(node.ifs)
    return found


def is_nested(node: ast.AST) -> bool:
    """Say whether this is a comprehension with two `for`, or with another comprehension inside."""
    if not isinstance(node, _COMPREHENSIONS):
        return False
    inside = sum(isinstance(part, _COMPREHENSIONS) for part in ast.walk(node))
    return inside > 1 or len(node.generators) > 1


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that docstrings take, of strings after a field, too."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def figures(text: str, tree: ast.Module) -> Figures:
    """Return what is counted of one module."""
    comments: set[int] = set()
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.type not in _LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    nodes = list(ast.walk(tree))
    return Figures(
        nodes=len(nodes),
        lines=len(code - docstring_lines(tree)),
        conditionals=sum(isinstance(node, ast.IfExp) for node in nodes),
        comments=len(comments),
    )


def of_functions(path: Path, tree: ast.Module) -> Iterator[str]:
    """Yield a sentence for each function with too many paths, and each nested comprehension."""
    for node in ast.walk(tree):
        if isinstance(node, Function) and paths(node) > PATHS:
            yield f"{path}:{node.lineno}: {node.name} has {paths(node)} paths, at most {PATHS}"
        if isinstance(node, ast.expr) and is_nested(node):
            yield f"{path}:{node.lineno}: one comprehension in another"


def of_package(found: Figures) -> Iterator[str]:
    """Yield a sentence for each figure of the package that is beyond its limit."""
    nodes = found.nodes / found.lines
    conditionals = 1000 * found.conditionals / found.lines
    comments = found.comments / found.lines
    if nodes > NODES_A_LINE:
        yield f"{nodes:.2f} syntax nodes a line, at most {NODES_A_LINE}"
    if conditionals > CONDITIONALS_A_THOUSAND_LINES:
        most = CONDITIONALS_A_THOUSAND_LINES
        yield f"{conditionals:.1f} conditional expressions a thousand lines, at most {most}"
    if comments < COMMENTS_A_LINE:
        yield f"{comments:.3f} comments a line of code, at least {COMMENTS_A_LINE}"


def problems() -> Iterator[str]:
    """Yield a sentence for everything that is beyond a limit."""
    whole = Figures()
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        tree = ast.parse(text)
        yield from of_functions(path.relative_to(ROOT), tree)
        whole.add(figures(text, tree))
    yield from of_package(whole)
    for folder in SCRIPTS:
        for path in sorted(folder.rglob("*.py")):
            yield from of_functions(path.relative_to(ROOT), ast.parse(path.read_text()))
