"""What is no YAML is refused in the words of libyaml, with file, line and column."""

import pytest
from calls import POLICY
from hypothesis import given
from hypothesis import strategies as st

from krm_windows.krm import InputError, documents


def error_of(text: str) -> InputError | None:
    try:
        for item in documents(text.encode()):
            _ = item.node
    except InputError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a:\n\tb: c\n", 2, 1, "found character that cannot start any token"),
        ("a:\n  b: c\n d: e\n", 3, 2, "did not find expected key while parsing a block mapping"),
        ("a b\nc: d\n", 2, 2, "mapping values are not allowed in this context"),
        ("a: 1\nb: [c\n", 2, 4, "did not find expected ',' or ']' while parsing a flow sequence"),
        ("a: 1\n\nb: 'c\n", 3, 4, "found unexpected end of stream while scanning a quoted scalar"),
        ('a: 1\n\nb: "c\n\nd: e\n', 3, 4, "found unexpected end of stream"),
        ('a: 1\nb: "\x01"\n', 2, 5, "the character U+0001 is not allowed in YAML"),
    ],
)
def test_it_is_said_in_the_words_of_the_parser(
    text: str, line: int, column: int, message: str
) -> None:
    error = error_of(text)
    assert error is not None
    assert error.message.startswith(message)
    assert (error.line, error.column) == (line, column)


@pytest.mark.parametrize("before", ["# a comment\n\n---\n", "kind: Secret\n---\n", "\ufeff"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_lines_are_counted_from_the_beginning_of_the_file(before: str, line_break: str) -> None:
    text = before + POLICY.replace("names: [apps]", "names: [apps]]")
    number = text.splitlines().index("    names: [apps]]") + 1
    error = error_of(text.replace("\n", line_break))
    assert error is not None
    assert (error.line, error.column) == (number, 18)


@given(
    at=st.integers(0, len(POLICY)),
    length=st.integers(0, 3),
    put=st.text(alphabet=":-\t\"' \n[]{}#\r&*|\x85a", max_size=3),
)
def test_any_change_is_read_or_refused_at_a_place_in_the_text(
    at: int, length: int, put: str
) -> None:
    text = POLICY[:at] + put + POLICY[at + length :]
    error = error_of(text)
    if error is not None:
        assert 0 <= error.line <= len(text.splitlines()) + 1


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r", "\x85", "\u2028", "\u2029"])
def test_a_quote_left_open_is_found_after_any_line_break(ending: str) -> None:
    for quote in "\"'":
        error = error_of(ending.join(["a: 1", "", f"b: {quote}c"]))
        assert error is not None
        assert (error.line, error.column) == (3, 4)
