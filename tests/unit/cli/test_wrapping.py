"""Lines on a terminal that is narrower than they are."""

from pathlib import Path

import pytest
from calls import Run, spec
from hypothesis import given
from hypothesis import strategies as st

from krm_windows.cli import output
from krm_windows.preview.wrapping import wrapped


@pytest.mark.parametrize(
    ("line", "width", "lines"),
    [
        # What goes on is to the right of where it begins; columns stay as wide as they are.
        ("  1. freezes: they close", 16, ["  1. freezes:", "    they close"]),
        ("opens   Mon 08:00   by windows.a", 28, ["opens   Mon 08:00   by", "  windows.a"]),
        ("is " + "w" * 30 + " closed", 20, ["is", "  " + "w" * 30, "  closed"]),
    ],
)
def test_lines_are_broken_between_words(line: str, width: int, lines: list[str]) -> None:
    assert wrapped(f"{line}\n", width) == "".join(f"{each}\n" for each in lines)


@given(st.lists(st.text(alphabet="ab é", max_size=60)), st.integers(min_value=1, max_value=80))
def test_no_word_is_lost_and_no_line_is_too_wide(lines: list[str], width: int) -> None:
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
DAYS = ("--from", "2027-03-08", "--days", "60")
CALLS = {
    "explain": ("explain", "policy.yaml"),
    "state": ("state", "policy.yaml", "--at", "2026-12-22T10:00Z"),
    "overrides": ("override", "policy.yaml", "--list"),
    "dry run": ("set", "policy.yaml", "--patch", PATCH, "--dry-run"),
    "calendar": ("calendar", "policy.yaml", *DAYS, "--all-clusters"),
    "findings": ("check", "wrong.yaml"),
}


@pytest.mark.parametrize("name", CALLS)
def test_words_keep_to_the_terminal(name: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("policy.yaml").write_text(POLICY)
    Path("wrong.yaml").write_text(POLICY.replace("Europe/Berlin", "Mars/Olympus"))
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    code, whole, _ = run(*CALLS[name])
    assert code == (name == "findings")
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    lines = run(*CALLS[name]).out
    assert [line for line in lines.splitlines() if len(line) > 60] == []
    if name != "calendar":  # which is drawn for a width
        assert max(map(len, whole.splitlines())) > 60
        assert lines.split() == whole.split()
