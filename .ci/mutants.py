"""`make mutants`: change one operator or constant, and see whether the room's tests notice.

A mutant is a copy of the repository with one such change. It is killed where one of the room's own
tests fails, or a law or a test of the whole function, or where they do not end. One that does what
the code does stands in mutants.toml with the reason; anything else that survives fails. A sample is
taken of each target, the same each time as long as its code stays; `--all` takes every mutant.
"""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parent.parent
EXPLAINED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
SAMPLE = 40
TARGETS = {
    "gate": "tests/unit/gate",
    "schedule": "tests/unit/schedule",
    "policy/moments.py": "tests/unit/policy",
    "plan/covering.py": "tests/unit/plan",
    "krm/edits.py": "tests/unit/krm",
}
# What looks at a policy from its text to what is open, and at all that is emitted.
WHOLE = ["tests/property", "tests/function"]
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file, at an offset in its UTF-8 bytes."""

    path: Path
    line: int
    start: int
    old: str
    new: str
    source: str

    @property
    def name(self) -> str:
        """What mutants.toml calls it: by the text of its line, as the number of the line moves."""
        change = f"{' '.join(self.old.split())} -> {' '.join(self.new.split())}"
        return f"{self.path.relative_to('krm_windows')}: {self.source}: {change}"

    def applied(self, text: bytes) -> bytes:
        """Return the text of the file with the change."""
        return text[: self.start] + self.new.encode() + text[self.start + len(self.old.encode()) :]


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may replace a node: the other boundary, one more or less, no result."""
    match node:
        case ast.Compare(left, [operator], comparators) if type(operator) in COMPARISONS:
            yield ast.Compare(left, [COMPARISONS[type(operator)]()], comparators)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.BinOp(left, ast.Add(), right):
            yield ast.BinOp(left, ast.Sub(), right)
        case ast.BinOp(left, ast.Sub(), right):
            yield ast.BinOp(left, ast.Add(), right)
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))


def code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those below that do something.

    Annotations, decorators, f-strings and the guards of `zip` are left out.
    """
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.keyword) and node.arg == "strict"):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field not in {"annotation", "returns", "decorator_list"}:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    yield from code(each)


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file; the path is relative to the repository."""
    text = (ROOT / path).read_bytes()
    lines = text.splitlines(keepends=True)
    starts = list(accumulate(map(len, lines), initial=0))
    for node in code(ast.parse(text)):
        if not isinstance(node, ast.expr | ast.stmt):
            continue
        for changed in changes(node):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            old = text[start:end].decode()
            new = ast.unparse(ast.fix_missing_locations(changed))
            is_statement = isinstance(node, ast.stmt)
            place = lines[node.lineno - 1].decode().strip()
            yield Mutant(path, node.lineno, start, old, new if is_statement else f"({new})", place)


def passes(copy: Path, room: str, mutant: Mutant, seconds: float) -> bool:
    """Say whether all tests pass.

    Those that are named after the module come first, as they kill most mutants, then the room's.
    """
    files = sorted(str(path) for path in (copy / room).glob("test_*.py"))
    named = [name for name in files if mutant.path.stem.strip("_") in Path(name).stem]
    others = [name for name in files if name not in named]
    return all(run(copy, part, seconds) for part in (named, others, WHOLE) if part)


def run(copy: Path, files: list[str], seconds: float | None) -> bool:
    """Run tests in the copy until one fails; say whether all passed in time."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow"]
    places = {"PYTHONPATH": str(copy), "PYTHONPYCACHEPREFIX": str(copy / ".cache/bytecode")}
    environment = {**os.environ, **places, "HYPOTHESIS_STORAGE_DIRECTORY": str(copy / ".cache/h")}
    try:
        done = subprocess.run(
            [*command, "--hypothesis-seed=0", *files],
            cwd=copy,
            env=environment,
            stdout=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def survivors(copy: Path, room: str, chosen: list[Mutant]) -> Iterator[Mutant]:
    """Yield the mutants that no test kills.

    Raises SystemExit where the tests fail without any mutant.
    """
    began = time.monotonic()
    if not run(copy, [room, *WHOLE], None):
        raise SystemExit(f"{room}, or what looks at the whole, fails without any mutant")
    seconds = 30 + 5 * (time.monotonic() - began)
    for number, mutant in enumerate(chosen):
        place = copy / mutant.path
        text = place.read_bytes()
        place.write_bytes(mutant.applied(text))
        # A time of its own for each, in whole seconds: by that, Python knows bytecode that is out
        # of date.
        os.utime(place, (number, number))
        if passes(copy, room, mutant, seconds):
            yield mutant
        place.write_bytes(text)


def of_target(target: str) -> list[Mutant]:
    """Give every mutant of a target."""
    place = ROOT / "krm_windows" / target
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    found: list[Mutant] = []
    for path in files:
        found += mutants(path.relative_to(ROOT))
    return found


def stale(explained: Iterable[str]) -> list[str]:
    """Give the names in mutants.toml of which the code has no mutant any more."""
    names = set()
    for target in TARGETS:
        names |= {mutant.name for mutant in of_target(target)}
    return [name for name in explained if name not in names]


def measured(copy: Path, target: str, size: int | None) -> bool:
    """Print what survives of a target, and its figures; say whether that is good enough."""
    found = of_target(target)
    chosen = found
    if size is not None:
        chosen = Random(0).sample(found, min(size, len(found)))  # noqa: S311 - no secret
    alive = []
    for mutant in survivors(copy, TARGETS[target], chosen):
        alive.append(mutant)
        reason = EXPLAINED.get(mutant.name, "no test notices")
        print(f"survives  {mutant.path}:{mutant.line}  {mutant.name}: {reason}", flush=True)
    same = [mutant for mutant in alive if mutant.name in EXPLAINED]
    killed, most = len(chosen) - len(alive), len(chosen) - len(same)
    print(
        f"{target}: {killed} of {most} killed, {len(same)} do what the code does; there are "
        f"{len(found)}",
        flush=True,
    )
    return killed == most


def main() -> int:
    """Measure the targets that are named, or all.

    Exits 1 where one survives without a reason, or there is a reason for one that is none any more.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    named = f"some of {', '.join(TARGETS)}"
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=named)
    parser.add_argument("--sample", type=int, default=SAMPLE, help="how many of each target")
    parser.add_argument("--all", action="store_true", help="every mutant")
    arguments = parser.parse_args()
    unknown = ", ".join(name for name in arguments.targets if name not in TARGETS)
    if unknown:
        parser.error(f"there is no target {unknown}: write {named}")
    old = stale(EXPLAINED)
    for name in old:
        print(f".ci/mutants.toml: no code has this mutant any more, remove it: {name}")
    if old:
        return 1
    os.nice(10)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        left = shutil.ignore_patterns(".git", ".venv", ".cache", "__pycache__", "dist")
        shutil.copytree(ROOT, copy, ignore=left)
        (copy / ".cache").mkdir()
        if (ROOT / ".cache/bin").is_dir():
            (copy / ".cache/bin").symlink_to(ROOT / ".cache/bin")
        size = None if arguments.all else arguments.sample
        fine = [measured(copy, target, size) for target in arguments.targets or TARGETS]
    return int(not all(fine))


if __name__ == "__main__":
    sys.exit(main())
