"""What a text means, what has no meaning, and how a value is written."""

import math

import pytest
import yaml

from krm_windows.krm import layout, nodes, writer
from krm_windows.krm.errors import InputError


def meaning(text: str) -> object:
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
        ("a: 1\n---\nb: 2\n", "line 2, column 1: there is a second document"),
        ("? [a]\n: 1\n", "line 1, column 3: a key of a mapping must be a scalar"),
        ("{a: {<<: [1]}}\n", "line 1, column 6: only a mapping can be merged with <<"),
        ("a: 1\na: 2\n", "line 2, column 1: duplicate key 'a' in a mapping"),
        ("*a : 1\n", "line 1, column 1: *a has no anchor in this object"),
        ("%YAML 3.0\n---\na: 1\n", "line 1, column 1: found incompatible YAML document"),
    ],
)
def test_a_text_means_nothing(text: str, why: str) -> None:
    with pytest.raises(InputError) as refused:
        meaning(text)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "text"), [(1e22, "1.0e+22"), (1e-7, "1.0e-07"), (math.inf, ".inf")]
)
def test_a_number_is_written(value: float, text: str) -> None:
    """So that YAML 1.1, too, takes it for one."""
    assert writer.flow(value) == text
    assert yaml.safe_load(text) == value


@pytest.mark.parametrize("value", [object(), {1}, b"x"])
def test_what_has_no_form(value: object) -> None:
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
