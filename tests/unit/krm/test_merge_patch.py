"""JSON merge patches: the cases of the RFC, and the one patch that two of them come to."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from krm_windows.krm import Value
from krm_windows.krm.merge_patch import compose, merge, pruned

KEYS = st.sampled_from(["a", "b", "c"])
LEAVES = st.none() | st.sampled_from(["x", "y", "z"])
TEXTS = st.sampled_from(["x", "y", "z"])
FULL = st.recursive(TEXTS, lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=8)
VALUES = st.recursive(LEAVES, lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=8)
MAPS = st.dictionaries(KEYS, VALUES, max_size=3)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": ["1"]}, {"a": ["1"]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": "1"}, {"e": None, "a": "1"}),
        (["1", "2"], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_cases_of_the_rfc(target: Value, patch: Value, result: Value) -> None:
    """RFC 7386, appendix A."""
    assert merge(target, patch) == result


def _paths(patch: Value, *, maps: bool) -> set[tuple[str, ...]]:
    if not isinstance(patch, dict):
        return set() if maps else {()}
    found: set[tuple[str, ...]] = {()} if maps else set()
    for name, part in patch.items():
        found |= {(name, *path) for path in _paths(part, maps=maps)}
    return found


@given(MAPS, MAPS, MAPS)
def test_two_patches_are_one(target: Value, first: Value, second: Value) -> None:
    """Unless the first puts a leaf where the second merges into a map."""
    assume(not _paths(first, maps=False) & _paths(second, maps=True))
    assert merge(target, compose(first, second)) == merge(merge(target, first), second)


def test_a_map_over_a_leaf_is_not_the_one_patch() -> None:
    """Why whoever composes two patches compares: what lay below comes back."""
    target: Value = {"a": {"b": "x"}}
    first: Value = {"a": "y"}
    second: Value = {"a": {"c": "z"}}
    assert merge(merge(target, first), second) == {"a": {"c": "z"}}
    assert merge(target, compose(first, second)) == {"a": {"b": "x", "c": "z"}}


@given(st.dictionaries(KEYS, FULL, max_size=3), MAPS)
def test_a_null_that_removes_nothing_is_left_out(target: Value, patch: Value) -> None:
    short = pruned(patch, target)
    assert _full(merge(target, short)) == _full(merge(target, patch))


def _full(value: Value) -> Value:
    if not isinstance(value, dict):
        return value
    parts = {name: _full(part) for name, part in value.items()}
    return {name: part for name, part in parts.items() if part != {}}


def test_a_map_of_nulls_alone_goes_with_them() -> None:
    """An empty map would be taken for the sign of a lost null."""
    target: Value = {"windows": {"w": {"opens": "x"}}}
    assert pruned({"windows": {"night": None}}, target) == {}
    assert pruned({"windows": {"w": None, "night": None}}, target) == {"windows": {"w": None}}
    assert pruned({"freezes": {}}, target) == {"freezes": {}}
