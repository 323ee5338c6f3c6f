"""JSON is read by Python's decoder exactly as libyaml reads it, or is left to libyaml."""

import json

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from work import growth

from krm_windows import krm
from krm_windows.krm import InputError, json_outline, limits, outline

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [
        "kind",
        "Secret",
        "null",
        "<<",
        "*a",
        "&a",
        "a: b",
        "# x",
        '"',
        "\\",
        "\n",
        "|",
        "{}",
        "é",
        "😀",
        "\x7f",
        "\x85",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(["Secret", "Kustomization", "", "null", None, 1, ["a"]])
ITEMS = st.dictionaries(TEXTS, VALUES, max_size=3) | st.fixed_dictionaries(
    {"apiVersion": st.just("v1"), "kind": KINDS, "spec": VALUES}
)
LISTS = st.fixed_dictionaries(
    {"apiVersion": st.just("config.kubernetes.io/v1"), "kind": st.just("ResourceList")},
    optional={
        "items": st.lists(ITEMS, max_size=4) | VALUES,
        "functionConfig": ITEMS,
        "results": st.lists(ITEMS),
    },
)
ENDS = st.sampled_from(["", "\n", " \r\n", "x", "}", ",", "\n---\n"])
LAYOUTS = st.sampled_from([None, 0, 2])


@settings(max_examples=examples(300))
@given(
    LISTS,
    LAYOUTS,
    st.sampled_from(["ascii", "utf-8"]),
    st.sampled_from(["", "\n", " \r\n", "x", "}", ",", "\n---\n"]),
)
def test_places_are_those_of_libyaml(
    content: dict[str, object], indent: int | None, coding: str, end: str
) -> None:
    """Wherever both read a text, they find the same."""
    data = (json.dumps(content, indent=indent, ensure_ascii=coding == "ascii") + end).encode(
        "utf-8", "surrogatepass"
    )
    decoded = json_outline.find(data)
    try:
        parsed = outline.parse(data)
    except InputError:
        return
    if decoded is not None:
        assert decoded.items.json
        assert decoded._replace(items=decoded.items._replace(json=False)) == parsed


@settings(max_examples=examples(200))
@given(LISTS, LAYOUTS)
def test_a_word_is_what_the_object_says(content: dict[str, object], indent: int | None) -> None:
    """`kind` and `apiVersion` are the same with and without reading the object."""
    try:
        items = krm.ResourceList.read(json.dumps(content, indent=indent).encode()).items
        said = [(item._string("kind"), item._string("apiVersion")) for item in items]
    except InputError:
        return
    again = krm.ResourceList.read(json.dumps(content, indent=indent).encode()).items
    assert [(item.kind, item.api_version) for item in again] == said


HEAD = '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": '


@pytest.mark.parametrize(
    "text",
    [
        HEAD + '[{"kind": "A"}]} x',
        HEAD + '[{"kind": "A"}]',
        HEAD + '[{"kind": "A"},]}',
        HEAD + '[{"kind": "A"} {"kind": "B"}]}',
        HEAD + '{"kind": "A"}}',
        HEAD + '[{"kind": "é"}]}',
        HEAD + '[{"kind":\t"A"}]}',
        HEAD + '[{"kind": NaN}]}',
        HEAD + '[{"kind": "\\ud800"}]}',
        HEAD + '[{"a": ' + "[" * limits.DEPTH + "]" * limits.DEPTH + "}]}",
        HEAD + '[{"a": ' + "[" * 100_000 + "}]}",
        HEAD + '[{"a": ' + "9" * 5000 + "}]}",
        "{}",
        "{",
        "",
    ],
)
def test_what_is_not_plain_json_is_left_to_libyaml(text: str) -> None:
    """Whether it may be read is not decided here."""
    assert json_outline.find(text.encode()) is None


def test_a_kind_that_is_nested() -> None:
    """A look that is not sure reads the object."""
    text = HEAD + '[{"spec": {"kind": "C"}}, {"spec": {"kind": "D"}, "kind": "E"}]}'
    found = krm.ResourceList.read(text.encode()).items
    assert [item.kind for item in found] == [item._string("kind") for item in found]


def test_work_grows_with_the_items() -> None:
    """Twice as many items are twice the work."""

    def read(number: int) -> None:
        data = (
            HEAD
            + json.dumps([{"kind": "Secret", "metadata": {"name": f"s{i}"}} for i in range(number)])
            + "}"
        )
        assert {item.kind for item in krm.ResourceList.read(data.encode()).items} == {"Secret"}

    assert growth(read, 200) < 2.3


def test_a_kind_that_stands_twice_is_refused() -> None:
    """Readers differ in which of the two they take."""
    [item] = krm.ResourceList.read((HEAD + '[{"kind": "A", "kind": "B"}]}').encode()).items
    with pytest.raises(InputError, match="duplicate key"):
        assert item.kind
