"""Lists of objects: opened, each entry with its own text and the places of the file."""

import pytest

from krm_windows.krm import Entry, InputError, opened

TEXT = b"""\
# kept
apiVersion: v1
kind: ConfigMap
metadata: {name: first}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
- apiVersion: v1
  kind: ConfigMapList
  items:
  - apiVersion: v1
    kind: ConfigMap
    metadata:
      name: b
    data: {x: "1"}
---
kind: ConfigMap
metadata: {name: last}
"""


def test_each_entry_is_an_object_in_its_place() -> None:
    found = opened(TEXT)
    assert [item.name for item in found] == ["first", "a", "b", "last"]
    lines = [item.lines_above + item.node.line for item in found]
    assert lines == [2, 9, 15, 21]
    nested = found[2]
    assert isinstance(nested, Entry)
    assert nested.within == ("items", 1, "items", 0)
    assert nested.get("data", "x") == "1"


def test_an_edit_is_of_the_entry_alone() -> None:
    _, first, second, _ = opened(TEXT)
    first.set_annotation("a", "b")
    assert first.annotations == {"a": "b"}
    assert first.edited
    assert b"name: a" in first.span
    assert b"List" not in first.span
    assert first.as_read().annotations == second.annotations == {}
    assert not first.as_read().edited


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b\n---\nkind: List\nitems:\n- a\n", "5:3: an object must be a mapping"),
        ("kind: List\nitems: [{kind: List, items: [1]}]\n", "2:30: an object must be a mapping"),
    ],
)
def test_what_is_no_object_is_an_error(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        opened(text.encode())
    assert message in f"{raised.value.line}:{raised.value.column}: {raised.value.message}"


@pytest.mark.parametrize(
    "text",
    [
        "kind: CustomResourceDefinition\nspec: {names: {listKind: WindowList}}\nitems: [1]\n",
        "kind: AllowList\nspec: {}\n",
        "kind: List\nitems: {a: b}\n",
    ],
)
def test_what_is_no_list_stays(text: str) -> None:
    (found,) = opened(text.encode())
    assert not isinstance(found, Entry)
