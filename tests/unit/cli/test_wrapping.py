"""Lines on a terminal that is narrower than they are."""

from pathlib import Path

import pytest
from calls import spec
from hypothesis import given
from hypothesis import strategies as st

from krm_windows.cli import output
from krm_windows.cli.main import main
from krm_windows.preview.wrapping import wrapped

LINES = [
    # A sentence goes on to the right of where it begins.
    ("flux-system/week is closed: Christmas", 24, ["flux-system/week is", "  closed: Christmas"]),
    ("  1. freezes: they close", 16, ["  1. freezes:", "    they close"]),
    # Columns stay as wide as they are.
    ("opens   Mon 08:00   by windows.office", 30, ["opens   Mon 08:00   by", "  windows.office"]),
    # No word is broken, however long.
    ("is " + "w" * 30 + " closed", 20, ["is", "  " + "w" * 30, "  closed"]),
    ("short", 20, ["short"]),
    ("", 20, [""]),
]


@pytest.mark.parametrize(("line", "width", "lines"), LINES)
def test_lines_are_broken_between_words(line: str, width: int, lines: list[str]) -> None:
    """Where they are wider than the terminal."""
    assert wrapped(f"{line}\n", width) == "".join(f"{each}\n" for each in lines)


@given(st.lists(st.text(alphabet="ab é", max_size=60)), st.integers(min_value=1, max_value=80))
def test_no_word_is_lost_and_no_line_is_too_wide(lines: list[str], width: int) -> None:
    """But where a word alone is, at its indentation."""
    page = "\n".join(lines)
    broken = wrapped(page, width)
    assert broken.split() == page.split()
    assert wrapped(page, 0) == page
    for line in broken.split("\n"):
        assert len(line) <= width or len(line.split()) <= 1


# Words with a blank in every place where a terminal may be too narrow.
PHRASE = "long words with a blank between each of them, again and again and again"
POLICY = spec(
    windows=f"{{office: {{opens: Mon 08:00, closes: Thu 17:00, description: '{PHRASE}'}}}}",
    freezes=f"{{year: {{starts: 2026-12-18, ends: 2027-01-10, reason: '{PHRASE}'}}}}",
    overrides="{fix: {state: Open, starts: '2026-12-20T09:00', ends: '2026-12-20T18:00', "
    f"reason: '{PHRASE}'}}}}",
    clusters="{plant-1: {timeZone: America/Argentina/Buenos_Aires}}",
)
PATCH = '{"spec": {"windows": {"office": {"closes": "Thu 16:00"}}}}'
CALLS = {
    "explain": ("explain", "policy.yaml"),
    "state": ("state", "policy.yaml", "--at", "2026-12-22T10:00Z"),
    "overrides": ("override", "policy.yaml", "--list"),
    "dry run": ("set", "policy.yaml", "--patch", PATCH, "--dry-run"),
    "calendar": (
        "calendar",
        "policy.yaml",
        "--from",
        "2027-03-08",
        "--days",
        "60",
        "--all-clusters",
    ),
}


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("name", CALLS)
def test_words_keep_to_the_terminal(
    name: str,
    width: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """No line is wider, so that the terminal breaks none within a word; a pipe gets them whole."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    argv = [*CALLS[name]]
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    whole = shown(argv, capsysbinary)
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    lines = shown(argv, capsysbinary)
    assert [line for line in lines.splitlines() if len(line) > width] == []
    if name != "calendar":  # which is drawn for a width
        assert lines.split() == whole.split()


def shown(argv: list[str], capsysbinary: pytest.CaptureFixture[bytes]) -> str:
    """What a call prints."""
    assert main(argv) == 0, capsysbinary.readouterr().err
    return capsysbinary.readouterr().out.decode()


def test_findings_keep_to_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each begins with its place, and has every word."""
    (tmp_path / "p.yaml").write_text(POLICY.replace("Europe/Berlin", "Mars/Olympus"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["check", "p.yaml"]) == 1
    whole = capsys.readouterr().out
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    assert main(["check", "p.yaml"]) == 1
    lines = capsys.readouterr().out
    assert max(map(len, whole.splitlines())) > 60 >= max(map(len, lines.splitlines()))
    assert lines.split() == whole.split()
