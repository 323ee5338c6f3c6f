"""One module writes to the streams; nobody goes around it."""

import ast
import io
import sys
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from krm_windows.cli import output
from krm_windows.cli.streams import guarded
from krm_windows.escape import Escaped

PACKAGE = Path(output.__file__).parents[1]
# The function's own stream, which is the input with what was added, is raw; the gate has a log of
# its own, in JSON.
RAW = {"cli/main.py", "cli/output.py", "cli/streams.py", "cli/function.py", "gate/run.py"}
STREAMS = {f"sys.{name}" for name in ("stdout", "stderr", "__stdout__", "__stderr__")}
CALLS = {"print", "Console", "Escaped", "os.write", "argparse.ArgumentParser"}
# They escape, or write to pipes of programs that they started.
ALLOWED = {"escape": {"Escaped"}, "system/programs.py": {"os.write"}}


def _has_a_file(call: ast.Call) -> bool:
    return ast.unparse(call.func) == "Console" and bool(call.keywords)


def streams(tree: ast.AST) -> set[str]:
    nodes = list(ast.walk(tree))
    named = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    calls = (node for node in nodes if isinstance(node, ast.Call))
    called = {ast.unparse(each.func) for each in calls if not _has_a_file(each)}
    return named & STREAMS | called & CALLS


def test_nothing_is_printed_but_by_one_module() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        text = path.read_text()
        # To parse and walk every module takes seconds.
        if place in RAW or not any(name in text for name in (*CALLS, "__std", "sys.std")):
            continue
        allowed = ALLOWED.get(place, set()) | ALLOWED.get(place.partition("/")[0], set())
        assert streams(ast.parse(text)) <= allowed, place


@pytest.mark.parametrize(
    "text", ["print(1)", "import sys\nsys.stdout.write('')", "Escaped('')", "Console()"]
)
def test_the_check_sees_it(text: str) -> None:
    assert streams(ast.parse(text))


def test_a_page_is_escaped_unless_its_type_says_that_it_is(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    output.show("a\x1b\n")
    output.show(Escaped("b\x1b\n"))
    output.show(f"{Escaped('c')}\x1b\n")
    assert capfdbinary.readouterr().out == b"a\\x1b\nb\x1b\nc\\x1b\n"


def test_what_a_library_prints_is_harmless() -> None:
    """Warnings, loggers and Python itself write to the streams as they find them."""
    with redirect_stderr(io.StringIO()) as behind, guarded():
        sys.stderr.write("::error::a\x1b\n")
        sys.stderr.writelines(["x\r", "y"])
    assert behind.getvalue() == "\\x3a:error::a\\x1b\nx\\x0dy"
