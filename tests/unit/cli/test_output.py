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
# They write to pipes of programs that they started.
PIPES = {"system/programs.py"}


def streams(tree: ast.AST) -> list[str]:
    """Return what in a module writes to a stream of the process."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in (
            "stdout",
            "stderr",
            "__stdout__",
            "__stderr__",
        ):
            if isinstance(node.value, ast.Name) and node.value.id == "sys":
                found.append(f"sys.{node.attr}")
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("print", "Console")
        ):
            if node.func.id == "print" or not node.keywords:
                found.append(node.func.id)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "os.write",
            "argparse.ArgumentParser",
        ):
            found.append(ast.unparse(node.func))
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "Escaped"
        ):
            found.append("Escaped")
    return found


def test_nothing_is_printed_but_by_one_module() -> None:
    """A new command that prints by itself fails here.

    So does one that calls its own text escaped.
    """
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        found = set(streams(ast.parse(path.read_text())))
        if place.startswith("escape/"):
            found -= {"Escaped"}
        if place in PIPES:
            found -= {"os.write"}
        assert place in RAW or not found, place


@pytest.mark.parametrize(
    "text", ["print(1)", "import sys\nsys.stdout.write('')", "Escaped('')", "Console()"]
)
def test_the_check_sees_it(text: str) -> None:
    """Each way around."""
    assert streams(ast.parse(text))


def test_a_page_is_escaped_unless_its_type_says_that_it_is(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """What is put together of escaped text and other text is plain text again."""
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
