"""The writer of what documents show."""

import sys
from pathlib import Path

import pytest
import shown

DOCUMENT = "```console\n$ echo 1\n0\n$ no-such-tool 2>/dev/null | wc -l\n5\n```\n"


def test_a_document_whose_tool_is_missing_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And it is named, with the tool: otherwise what is missing here would be shown to readers."""
    monkeypatch.setattr(shown, "TOOLS", ("no-such-tool",))
    document = tmp_path / "page.md"
    document.write_text(DOCUMENT)
    monkeypatch.setattr(sys, "argv", ["shown.py", str(document)])
    assert shown.main() == 0
    assert document.read_text() == DOCUMENT
    said = capsys.readouterr().err
    assert said == f"not written, for lack of no-such-tool (`bash .ci/setup`): {document}\n"


def test_a_document_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every tool is installed."""
    monkeypatch.setattr(shown, "TOOLS", ("echo",))
    document = tmp_path / "page.md"
    document.write_text("```console\n$ echo 1\n0\n```\n")
    monkeypatch.setattr(sys, "argv", ["shown.py", str(document)])
    assert shown.main() == 0
    assert document.read_text() == "```console\n$ echo 1\n1\n```\n"
