"""ResourceList: items leave as they came, wherever they are and whatever is in them."""

import re
import tracemalloc

import pytest

from krm_windows import krm
from krm_windows.krm.frames import Documents

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"


def written(resources: krm.ResourceList) -> str:
    return b"".join(resources.chunks()).decode()


def test_T06_comments_stay_with_their_items() -> None:
    items = [
        "# a\n- a: 1 # a\n  # a\n# a\n\n",
        "# b\n- b: 1\n# b\n\n",
        "# c\n- c: 1\n",
        "- d: 1\n\n",
        "# e\n\n# e\n- e: 1\n",
    ]
    tail = "# config\nfunctionConfig:\n  kind: C\n"
    resources = krm.ResourceList.read((HEAD + "".join(items) + tail).encode())
    del resources.items[1]
    assert written(resources) == HEAD + items[0] + "".join(items[2:]) + tail


@pytest.mark.parametrize(
    "trap",
    [
        '"x\n    - kind: B\n    y"',
        "'x\n    kind: B\n    '",
        "[a,\n    b]",
        "{a: b,\n    items: c}",
        "!t 'x\n    - y'",
        "&a [\n    kind: B,\n    ]",
        "|\n    - kind: B\n    items:",
        "x\n    - kind: B",
    ],
)
def test_what_looks_like_an_item_is_none(trap: str) -> None:
    """What goes on over lines is indented deeper than what is around it (YAML 1.2.2, 6.1, 7.3)."""
    text = HEAD + f"- kind: A\n  trap: {trap}\n- kind: B\nfunctionConfig:\n  kind: C\n"
    resources = krm.ResourceList.read(text.encode())
    assert [item.kind for item in resources.items] == ["A", "B"]
    assert written(resources) == text


def test_an_input_is_in_memory_once() -> None:
    text = f"- kind: A\n  note: {'x' * 100_000}\n"
    data = (HEAD + 20 * text).encode()
    tracemalloc.start()
    resources = krm.ResourceList.read(data)
    assert [item.kind for item in resources.items] == 20 * ["A"]
    sum(len(chunk) for chunk in resources.chunks())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < len(data) / 4


def test_an_object_of_a_file_can_become_an_item_and_back() -> None:
    document = "# head\n---\nkind: A\nspec: # s\n  text: |\n    a\n\n     ---\n  list:\n  - x\n"
    resources = krm.ResourceList.read(HEAD.replace("items:", "items: []").encode())
    resources.items += krm.documents(document.encode())
    again = krm.ResourceList.read(written(resources).encode())
    assert again.items[0].get() == krm.documents(document.encode())[0].get()
    assert "# s" in written(again)


def test_empty_documents_are_none() -> None:
    assert krm.documents(b"---\n# nothing\n---\n...\n") == []
    found = krm.documents(b"# top\n---\nkind: A\n---\n---\nkind: B\n---\n")
    assert [item.kind for item in found] == ["A", "B"]


def emptied(text: str) -> str:
    resources = krm.ResourceList.read(text.encode())
    resources.items.clear()
    return written(resources)


def filled(text: str) -> str:
    resources = krm.ResourceList.read(text.encode())
    resources.items += krm.documents(b"kind: New\n")
    return written(resources)


TOP = HEAD.partition("items:")[0]
REST = "functionConfig: {kind: C}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("items: # why\n# first\n- kind: A\n- kind: B\n", "items: []\n"),
        ("items: [] # why\n", "items: [] # why\n"),
        ("items: null # why\n", "items: []\n"),
        ("items:\n", "items: []\n"),
        ("items:  [\n  ]\n", "items:  [\n  ]\n"),
    ],
)
def test_a_list_that_becomes_empty(before: str, after: str) -> None:
    assert emptied(f"{TOP}{before}{REST}") == f"{TOP}{after}{REST}"
    assert krm.ResourceList.read(emptied(f"{TOP}{before}{REST}").encode()).items == []


ANEW = [
    "items: [{kind: A}] # why\n",
    "items: [\n{kind: A}, # ]\n] # why\n",
    "? items\n: - kind: A\n",
    "items: !!seq\n- kind: A\n",
    "items: &x\n- kind: A\nz: *x\n",
    "'items':\n- {kind: A}\n",
]


@pytest.mark.parametrize("items", ANEW)
def test_what_no_orchestrator_writes(items: str) -> None:
    text = f"{items}{TOP}{REST}"
    resources = krm.ResourceList.read(text.encode())
    assert written(resources) == text
    assert [item.kind for item in resources.items] == ["A"]
    resources.items[0].set("B", "kind")
    again = krm.ResourceList.read(written(resources).encode())
    assert [item.kind for item in again.items] == ["B"]
    assert again.function_config is not None
    assert again.function_config.kind == "C"
    assert krm.ResourceList.read(emptied(text).encode()).items == []
    again = krm.ResourceList.read(filled(text).encode())
    assert [item.kind for item in again.items] == ["A", "New"]


def test_line_breaks_of_old() -> None:
    """A carriage return alone ends a line (YAML 1.2.2, 5.4)."""
    text = f"{HEAD}- kind: A\n{REST}".replace("\n", "\r")
    resources = krm.ResourceList.read(text.encode())
    assert [item.kind for item in resources.items] == ["A"]
    assert written(resources) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("items: # null\n", "items:\n- kind: New\n"),
        ("items: []  # why\n", "items:\n- kind: New\n"),
        ("items: ~ \n", "items:\n- kind: New\n"),
        ("items:\n- kind: A\n", "items:\n- kind: A\n- kind: New\n"),
    ],
)
def test_a_list_that_was_empty(before: str, after: str) -> None:
    assert filled(f"{TOP}{before}{REST}") == f"{TOP}{after}{REST}"
    assert krm.ResourceList.read(filled(f"{TOP}{before}{REST}").encode()).items[-1].kind == "New"


JSON = '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [{"kind": "A"}]}'


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ('"A"', '"A"', ["A"]),
        ('"A"', '"é"', ["é"]),
        ('"A"', "NaN", ["NaN"]),
        ("}]}", "}],}", ["A"]),
        ('[{"kind": "A"}]', "null", []),
        ('[{"kind": "A"}]', "[]", []),
        ('{"kind": "A"}', '{"spec": {"kind": "B"}, "kind": "A"}', ["A"]),
    ],
)
def test_json_and_what_is_nearly_json(old: str, new: str, kinds: list[str]) -> None:
    text = JSON.replace(old, new)
    assert [item.kind for item in krm.ResourceList.read(text.encode()).items] == kinds
    again = krm.ResourceList.read(filled(text).encode())
    assert [item.kind for item in again.items] == [*kinds, "New"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (JSON.replace('[{"kind": "A"}]', "3"), "`items` must be a list"),
        (JSON.replace('{"kind": "A"}', "3"), "`items` must be a list of objects"),
        (JSON.replace('"items"', '"kind"'), "duplicate key 'kind'"),
        (f"{HEAD}items: []\n", "duplicate field 'items'"),
        (f"{HEAD}- kind: A\n---\n", "there is a second document"),
        (JSON.replace("}]}", "}] x}"), "did not find expected ',' or '}'"),
        (JSON[:-1], "did not find expected ',' or '}'"),
        ("{}", "no kind"),
        (f"{HEAD}- kind: A\n---\nx: 1\n", "there is a second document"),
        (f"{HEAD}- kind: A\n...\nx: 1\n", "did not find expected <document start>"),
    ],
)
def test_what_is_no_list_of_resources(text: str, said: str) -> None:
    with pytest.raises(krm.InputError, match=re.escape(said)):
        krm.ResourceList.read(text.encode())


def test_json_that_becomes_empty() -> None:
    text = JSON.replace("}]}", '}], "functionConfig": {}}')
    assert emptied(text) == text.replace('[{"kind": "A"}]', "[]") + "\n"


def test_documents_without_an_end() -> None:
    items = [*krm.documents(b"a: 1\n---\nb: 2"), *krm.documents(b"c: 1")]
    text = b"".join(map(bytes, Documents().chunks(items, [])))
    assert text == b"a: 1\n---\nb: 2\n---\nc: 1"
