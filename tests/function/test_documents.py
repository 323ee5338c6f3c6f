"""What the documents show is what happens."""

from collections.abc import Callable
from pathlib import Path

import pytest
from differences import assert_same_files
from shown import DOCUMENTS, ROOT, needs, renewed, run

pytestmark = pytest.mark.slow  # each a shell with dozens of commands


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_its_commands_print_what_it_shows(
    document: Path, tool: Callable[[str], Path], tmp_path: Path
) -> None:
    text = document.read_text()
    for name in sorted(needs(text)):
        tool(name)
    name = str(document.relative_to(ROOT))
    found = renewed(text, run(text, tmp_path))
    assert_same_files({name: found}, {name: text}, f".venv/bin/python tests/shown.py {name}")
