"""The weight of each room against its row in `pyproject.toml`.

A room may weigh less than its row, and more only once the row is raised and a commit says why.
`make weight` lowers the rows, and prints the weights.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = "pyproject.toml"
# A row is in hundreds of nodes, so that a small fix does not raise it.
STEP = 100
# Below that part of its row, a room's row is to be lowered.
LOWER = 0.98
# So many commits that changed the rows are looked at.
COMMITS = 20
_DOCUMENTED = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ROW = re.compile(r"(\w+) = (\d+)$")


def nodes(text: str) -> int:
    """Count the nodes of a source's syntax tree, without docstrings.

    So folding and unfolding code, or explaining it, changes nothing.
    """
    count = 0
    for node in ast.walk(ast.parse(text)):
        count += not isinstance(node, ast.expr_context)
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            count -= 2  # the statement, and the text in it
            count += len(node.body) == 1  # an empty body would need a `pass`
    return count


def weights() -> Counter[str]:
    """Return the nodes of each room: a package of krm_windows, or a module beside them."""
    found: Counter[str] = Counter()
    folder = ROOT / "krm_windows"
    for path in folder.rglob("*.py"):
        found[path.relative_to(folder).parts[0].removesuffix(".py")] += nodes(path.read_text())
    return found


def rows(text: str) -> dict[str, int]:
    """Return the rows of a `pyproject.toml`."""
    table: dict[str, int] = tomllib.loads(text).get("tool", {}).get("weight", {})
    return table


def row(weight: int) -> int:
    """Return the lowest row that a weight fits."""
    return -(-weight // STEP) * STEP


def problems() -> Iterator[str]:
    """Yield a sentence for every row that is wrong, and every commit that raised one silently."""
    allowed, actual = rows((ROOT / PYPROJECT).read_text()), weights()
    for room in sorted(allowed | actual):
        yield from _compared(room, actual[room], allowed.get(room, 0))
    yield from _silent()


def _compared(room: str, weight: int, allowed: int) -> Iterator[str]:
    if weight > allowed:
        yield (
            f"{room} weighs {weight} nodes, and its row in {PYPROJECT} is {allowed}: make it "
            f"lighter, or write `{room} = {row(weight)}` and say why in the commit's message, in "
            f"a line `Weight: {room}: …`"
        )
    elif row(weight) < allowed * LOWER:
        yield f"{room} weighs {weight} nodes, and its row is {allowed}: `make weight` lowers it"


def _silent() -> Iterator[str]:
    """Yield the commits that raised a row without a line of their message that says why."""
    listed = _git("log", f"-{COMMITS}", "--no-merges", "--format=%H", "--", PYPROJECT) or ""
    for commit in listed.split():
        before, after = (_git("show", f"{each}:{PYPROJECT}") for each in (f"{commit}^", commit))
        # A shallow clone lacks the parent of its first commit.
        if before is None or after is None:
            continue
        former, message = rows(before), _git("log", "-1", "--format=%B", commit) or ""
        for room, weight in rows(after).items():
            told = re.search(rf"^Weight: {re.escape(room)}: \S", message, re.MULTILINE)
            # The first rows of all are no raise.
            if former and weight > former.get(room, 0) and not told:
                yield (
                    f"commit {commit[:12]} raises {room} to {weight}: its message lacks a line "
                    f"`Weight: {room}: …` that says why"
                )


def _git(*arguments: str) -> str | None:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def lowered(text: str, actual: Counter[str]) -> str:
    """Return a `pyproject.toml` with the rows as low as the rooms allow; none is raised."""
    head, mark, table = text.partition("[tool.weight]\n")
    lines: list[str] = []
    for line in table.splitlines(keepends=True):
        found = _ROW.match(line)
        if found is None:
            lines.append(line)
        elif found[1] in actual:
            lines.append(f"{found[1]} = {min(int(found[2]), row(actual[found[1]]))}\n")
    return head + mark + "".join(lines)


def main() -> int:
    """Lower the rows, and print the weight of each room."""
    actual = weights()
    path = ROOT / PYPROJECT
    before = path.read_text()
    after = lowered(before, actual)
    if after != before:  # else the environment of developers would be made anew
        path.write_text(after)
    for room, weight in actual.most_common():
        print(f"{weight:7}  {room}")
    print(f"{actual.total():7}  all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
