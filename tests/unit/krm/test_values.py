"""What a text means, what has no meaning, and how a value is written."""

import math

import pytest
import yaml

from krm_windows.krm import layout, nodes, writer
from krm_windows.krm.errors import InputError


def meaning(text: str) -> object:
    """Read a text with its layout, and return what it means."""
    return nodes.value(layout.read(text))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a: 0x1F\n", {"a": 31}),
        ("a: 1e3\n", {"a": 1000.0}),
        # Python reads no more than 4300 digits, and nobody means a number by that.
        (f"a: {'9' * 5000}\n", {"a": "9" * 5000}),
        ("a: .inf\nb: -.INF\n", {"a": math.inf, "b": -math.inf}),
        ("! a: !  5\n", {"a": "5"}),
        ("? <<\n: {a: 1}\n", {"a": 1}),
        ("<<: {a: 1}\nb: 2\n", {"a": 1, "b": 2}),
        ("'<<': {a: 1}\n", {"<<": {"a": 1}}),
    ],
)
def test_a_text_means(text: str, want: object) -> None:
    """By the core schema of YAML 1.2, with the merge key of 1.1; `!` makes a string."""
    assert meaning(text) == want


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "line 1, column 1: there is no document"),
        ("# nothing\n", "line 1, column 1: there is no document"),
        ("a: 1\n---\nb: 2\n", "line 2, column 1: there is a second document"),
        ("? [a]\n: 1\n", "line 1, column 3: a key of a mapping must be a scalar"),
        ("{a: {<<: [1]}}\n", "line 1, column 6: only a mapping can be merged with <<"),
        ("{<<: {a: 1}}: 2\n", "line 1, column 1: a key of a mapping must be a scalar"),
        ("a: 1\na: 2\n", "line 2, column 1: duplicate key 'a' in a mapping"),
        ("*a : 1\n", "line 1, column 1: *a has no anchor in this object"),
        ("%YAML 3.0\n---\na: 1\n", "line 1, column 1: found incompatible YAML document"),
        ("a: \x01\n", "line 1, column 4: the character U+0001 is not allowed"),
    ],
)
def test_a_text_means_nothing(text: str, why: str) -> None:
    """It is said where and why, in one line."""
    with pytest.raises(InputError) as refused:
        meaning(text)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.inf, ".inf"),
        (-math.inf, "-.inf"),
        (math.nan, ".nan"),
        (1e3, "1000.0"),
        (1e22, "1.0e+22"),
        (1e-7, "1.0e-07"),
        (True, "true"),
        (None, "null"),
        ([1, [], {"a": ()}], '[1, [], {"a": []}]'),
        ("a\u202eb\tc", '"a\\u202eb\\tc"'),
    ],
)
def test_a_value_is_written(value: object, text: str) -> None:
    """On one line, so that every reader takes it for the same."""
    assert writer.flow(value) == text
    again = yaml.safe_load(text)
    if value != value:  # noqa: PLR0124 - not a number
        assert again != again  # noqa: PLR0124
    else:
        assert again == (yaml.safe_load("[1, [], {a: []}]") if isinstance(value, list) else value)


def test_what_is_no_collection_is_a_line() -> None:
    """Also at the top."""
    assert writer.lines(5) == ["5"]
    assert writer.lines("on") == ['"on"']
    assert writer.lines([]) == ["[]"]


@pytest.mark.parametrize("value", [object(), {1}, b"x"])
def test_what_has_no_form(value: object) -> None:
    """That is a fault of ours, and no error of an input."""
    with pytest.raises(TypeError, match="has no YAML form"):
        writer.flow([value])


@pytest.mark.parametrize("length", [998, 2000])
def test_a_key_has_a_length(length: int) -> None:
    """libyaml reads a key without `?` up to 1024 characters."""
    key = "k" * length
    if length < 1000:
        assert yaml.safe_load("\n".join(writer.lines({key: 1}))) == {key: 1}
        return
    with pytest.raises(InputError, match="is longer than YAML allows"):
        writer.lines({key: 1})


@pytest.mark.parametrize(
    "text", ["a\nb\n", "a\nb", " a\nb\n", "\na\n", "a\n\n", "a\n  \nb\n", "a\n b\n"]
)
def test_a_text_of_several_lines(text: str) -> None:
    """As a block where that keeps every character, else in quotes."""
    written = "\n".join(writer.lines({"k": text, "l": 1}))
    assert yaml.safe_load(written) == {"k": text, "l": 1}
