"""The common slips of YAML are said in plain words, where they are, and not a line below."""

import re
from pathlib import Path

import pytest
from calls import POLICY
from hypothesis import given
from hypothesis import strategies as st

from krm_windows.cli import main
from krm_windows.krm import InputError, documents, syntax_hints

LINES = POLICY.splitlines()
KEYS = [number for number, line in enumerate(LINES) if ":" in line]
VALUES = [number for number in KEYS if re.search(r": [A-Z]", LINES[number])]
DASH = "write a space after the dash"
TAB = "a tab cannot indent in YAML: use spaces"
OPEN = "the quote that begins here is not closed: write %s at the end of the value"
NESTED = [number for number in KEYS if LINES[number].startswith("  ")]


def refused(text: str) -> tuple[int, int, str]:
    """Where a text is refused, and why."""
    with pytest.raises(InputError) as caught:
        _ = documents(text.encode())[0].node
    return caught.value.line, caught.value.column, caught.value.message


def error_of(text: str) -> InputError | None:
    """Why one of the documents of a text is refused, None where all of them can be read."""
    try:
        for item in documents(text.encode()):
            _ = item.node
    except InputError as error:
        return error
    return None


def changed(number: int, line: str) -> str:
    """The policy with another line, numbered from 0."""
    return "\n".join([*LINES[:number], line, *LINES[number + 1 :], ""])


@pytest.mark.parametrize("number", KEYS)
def test_a_missing_colon_is_named_at_the_end_of_its_field(number: int) -> None:
    """Whether a value or further lines follow, in the first line and in the last."""
    line = LINES[number]
    column = line.index(":") + 1
    key = line[: column - 1].lstrip(" -")
    message = f'"{key}" has no colon: write a colon after it'
    assert refused(changed(number, line.replace(":", "", 1))) == (number + 1, column, message)


@pytest.mark.parametrize("number", [each for each in KEYS if ": " in LINES[each]])
def test_a_missing_space_after_a_colon_is_named(number: int) -> None:
    """With the column where it belongs."""
    line = LINES[number]
    column = line.index(":") + 2
    key = line[: column - 2].lstrip(" -")
    message = f'write a space after the colon of "{key}"'
    assert refused(changed(number, line.replace(": ", ":", 1))) == (number + 1, column, message)


@pytest.mark.parametrize("dashes", ["-a\n-b", "- a\n-b", "-a\n- b"])
def test_a_missing_space_after_a_dash_is_named(dashes: str) -> None:
    """The first one of them."""
    text = f"names:\n{dashes}\nkind: A\n"
    line, column, message = refused(text)
    assert message == DASH
    wrong = text.splitlines()[line - 1]
    assert re.fullmatch(" *-[ab]", wrong)
    assert column == wrong.index("-") + 2
    assert not any(re.fullmatch(" *-[ab]", each) for each in text.splitlines()[: line - 1])


def test_a_missing_space_after_a_dash_before_a_field_is_named() -> None:
    """As with targets."""
    text = POLICY.replace("- kind", "-kind")
    assert refused(text) == (LINES.index("  - kind: Kustomization") + 1, 4, DASH)


@pytest.mark.parametrize("number", NESTED)
@pytest.mark.parametrize("tabs", ["\t", "\t\t", "  \t"])
def test_a_tab_as_indentation_is_named(number: int, tabs: str) -> None:
    """In the words that an editor's user understands, in whatever line."""
    line, _, message = refused(changed(number, tabs + LINES[number].lstrip()))
    assert (line, message) == (number + 1, TAB)


@pytest.mark.parametrize("number", VALUES)
@pytest.mark.parametrize("quote", ['"', "'"])
def test_an_unclosed_quote_is_named_where_it_begins(number: int, quote: str) -> None:
    """And not at the end of the file, or at the next quote."""
    line = LINES[number].replace(": ", f": {quote}", 1)
    place = (number + 1, line.index(quote) + 1)
    text = changed(number, line)
    assert refused(text) == (*place, OPEN % quote)
    # Another text in the same quotes, further below, closes it for the parser.
    later = f"{text}      reason: {quote}Works holidays{quote}\n"
    assert refused(later) == (*place, OPEN % quote)


@pytest.mark.parametrize(("wrong", "closing"), [("[apps", "]"), ("{apps", "}")])
def test_an_unclosed_bracket_is_named_where_it_begins(wrong: str, closing: str) -> None:
    """And not in the line below."""
    number = LINES.index("    names: [apps]")
    message = f"the bracket that begins here is not closed: write {closing} at its end"
    assert refused(POLICY.replace("[apps]", wrong)) == (number + 1, 12, message)


@pytest.mark.parametrize("number", NESTED)
@pytest.mark.parametrize("spaces", [-1, 1])
def test_a_wrong_indentation_is_named_with_the_right_one(number: int, spaces: int) -> None:
    """In the line, or in the next one, which then differs from it."""
    line = LINES[number]
    level = len(line) - len(line.lstrip())
    text = changed(number, " " * (level + spaces) + line.lstrip())
    error = error_of(text)
    if error is not None:
        assert error.line in (number + 1, number + 2)
        assert "indent" in error.message
        shown = text.splitlines()[error.line - 1]
        assert error.column == len(shown) - len(shown.lstrip()) + 1
        numbers = set(map(int, re.findall("[0-9]+", error.message)))
        assert {level, level + spaces} <= numbers or "- " in line


def test_an_indentation_between_two_levels_offers_both() -> None:
    """Nobody knows which one was meant."""
    message = "the indentation by 5 spaces fits no line above it: write 6 or 4 spaces"
    assert refused(POLICY.replace("      closes", "     closes")) == (len(LINES), 6, message)


def test_a_colon_within_a_value_needs_quotes() -> None:
    """Which is named where the value begins."""
    message = "a value that contains a colon and a space needs quotes around it"
    assert refused(POLICY.replace("Mon 08:00", "Mon: 08:00")) == (13, 14, message)


def test_a_list_in_the_line_of_its_key_is_named() -> None:
    """At the dash."""
    text = POLICY.replace("names: [apps]", "names: - apps")
    message = 'a list begins on the line after "names:": write each dash on a line of its own'
    assert refused(text) == (10, 12, message)


@pytest.mark.parametrize("before", ["# a comment\n\n---\n", "kind: Secret\n---\n", "\ufeff"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_lines_are_counted_from_the_beginning_of_the_file(before: str, line_break: str) -> None:
    """With documents above, in the line ends of Windows, and behind a mark of byte order."""
    text = before + POLICY.replace("timeZone:", "timeZone")
    number = text.splitlines().index("  timeZone Europe/Berlin") + 1
    error = error_of(text.replace("\n", line_break))
    assert error is not None
    assert (error.line, error.column) == (number, 11)
    assert "write a colon" in error.message


@pytest.mark.parametrize(
    "text",
    [
        # What has no known correction, one that does not help, a template, and a text too long.
        "a: [b: ]}\n",
        "a: *\n",
        "name: {{ .Values.name }}\nb c\nd: e\n",
        "a: b\n" * 30_000 + "c d\ne: f\n",
        "a: b\n  c: d\n e: f\n g\n",
    ],
)
def test_otherwise_it_is_said_in_the_words_of_the_parser(text: str) -> None:
    """Nothing is guessed."""
    _, _, message = refused(text)
    assert "write" not in message


@given(
    at=st.integers(0, len(POLICY)),
    length=st.integers(0, 3),
    put=st.text(alphabet=":-\t\"' \n[]{}#\r&*|\x85a", max_size=3),
)
def test_any_change_is_read_or_refused_at_a_place_in_the_text(
    at: int, length: int, put: str
) -> None:
    """And never ends with an error of ours."""
    text = POLICY[:at] + put + POLICY[at + length :]
    error = error_of(text)
    if error is not None:
        assert 0 <= error.line <= len(text.splitlines()) + 1


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r", "\x85", "\u2028", "\u2029"])
def test_a_quote_left_open_is_found_after_any_line_break(ending: str) -> None:
    """Lines are counted by what libyaml takes for their end."""
    for quote in "\"'":
        line = f"b: {quote}c"
        found = refused(ending.join(["a: 1", "", line]))
        assert found == (3, 4, OPEN % quote)


def test_the_words_of_the_parser_are_known() -> None:
    """What is looked for by what libyaml says is what this libyaml says."""
    # One text for each of them; a release with other words would silently fall back on them.
    said = {
        "a b\nc: d\n": '"a"',
        "x: y\na b\nc: d\n": '"a"',
        "a:\n  b: c\n d: e\n": "the indentation",
        "a:\n  - b\n c\n": "the indentation",
        "a: [b\nc: d\n": "the bracket",
        "a: {b\nc: d\n": "the bracket",
        "a: - b\n": "a list",
    }
    for text, beginning in said.items():
        assert refused(text)[2].startswith(beginning), text
    assert len(said) == len(syntax_hints._FINDERS)


def test_a_command_says_it_with_file_line_and_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As an editor opens it."""
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY.replace("  windows:", "  windows"))
    assert main(["check", "policy.yaml"]) == 1
    assert capsys.readouterr().err == (
        'policy.yaml:11:10: [error] "windows" has no colon: write a colon after it '
        "(input-unreadable)\n"
    )
