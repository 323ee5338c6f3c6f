"""One object: what it says of itself, and that an edit changes the lines it must and no other."""

from difflib import unified_diff
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from work import growth

from krm_windows import krm

TEXT = """\
# head
- apiVersion: apps/v1 # line
  kind: Deployment
  metadata:
    name: web
    labels:
      app: web   # why
      # foot
    # below
  spec:
    paused: false
    args:
    - a
    # about b
    - b
    map: {a: b, c: [1, 2]}
  # end
"""


def item(text: str = TEXT) -> krm.KubeObject:
    data = text.encode()
    return krm.KubeObject(data, 0, len(data), column=0)


def changed(obj: krm.KubeObject, before: str = TEXT) -> list[str]:
    diff = unified_diff(before.splitlines(), obj.span.decode().splitlines(), lineterm="", n=0)
    return [line for line in diff if not line.startswith(("---", "+++", "@@"))]


def test_an_entry_is_added_behind_the_last_and_its_comments() -> None:
    obj = item()
    obj.set_label("time", "22:00")
    assert changed(obj) == ['+      time: "22:00"']
    assert "# foot\n      time" in obj.span.decode()


@pytest.mark.parametrize(
    ("path", "gone"), [(("spec", "paused"), "paused: false"), (("apiVersion",), "apiVersion")]
)
def test_an_entry_is_removed_with_its_line(path: tuple[str, ...], gone: str) -> None:
    obj = item()
    assert obj.remove(*path)
    assert gone not in obj.span.decode()
    assert obj.kind == "Deployment"
    assert not obj.remove(*path)


def test_a_merge_of_what_changes_is_written_out() -> None:
    obj = item("- base: &b {k: v}\n  more:\n    <<: *b\n    x: y\n")
    obj.set("w", "base", "k")
    assert obj.get() == {"base": {"k": "w"}, "more": {"k": "v", "x": "y"}}


def test_an_anchor_that_another_object_refers_to_is_not_touched() -> None:
    data = b"- a: &x 1\n- b: *x\n"
    with pytest.raises(krm.EditError, match="refers to the anchor &x"):
        krm.KubeObject(data, 0, 10, column=0).set(2, "a")


@pytest.mark.parametrize(
    "between", ["", "- text: 'a &app b'\n  more: '*app'\n", "- {x: &app z, y: *app}\n"]
)
def test_an_alias_belongs_to_the_nearest_earlier_anchor(between: str) -> None:
    first, last = "- name: &app é\n  as: *app\n", "- name: &app y # *app\n  as: *app\n"
    source = f"{first}{between}{last}".encode()
    for begins, ends, kept in (
        (0, len(first.encode()), "é"),
        (len(source) - len(last), len(source), "y"),
    ):
        one = krm.KubeObject(source, begins, ends, column=0)
        one.set("new", "name")
        assert one.get() == {"name": "new", "as": kept}


def test_a_key_that_stands_twice_is_an_error_where_somebody_looks() -> None:
    obj = item("- kind: A\n  spec: {a: 1, a: 2}\n")
    assert obj.kind == "A"
    with pytest.raises(krm.InputError, match="line 2, column 16: duplicate key 'a'"):
        obj.get("spec", "a")


@pytest.mark.parametrize(
    ("before", "path", "content", "after"),
    [
        ("- a: b", ("c",), 1, "- a: b\n  c: 1"),
        (
            "- a: b\r\n",
            ("c", "d"),
            "x\ny\n",
            "- a: b\r\n  c:\r\n    d: |\r\n      x\r\n      y\r\n",
        ),
        ("- a:\tb\t# c\n", ("a",), "d", "- a:\td\t# c\n"),
        ("- a: # c\n  b: 1\n", ("a", "x"), "z", "- a: # c\n    x: z\n  b: 1\n"),
        ("- a: {} # c\n", ("a", "x"), "z", "- a: # c\n    x: z\n"),
        ("- a: # c\n    b: 1\n    # d\n  e: f\n", ("a",), None, "- a: null # c\n    # d\n  e: f\n"),
        ("- a: 'it''s'\n", ("a",), "it's not", '- a: "it\'s not"\n'),
        ('- a: "x"\n', ("a",), "y", '- a: "y"\n'),
        ("- a: 'x'\n", ("a",), 1, "- a: 1\n"),
        ("- a: |\n    x\n\n  b: 1\n", ("a",), "z", "- a: z\n\n  b: 1\n"),
        ("- a: |+\n    x\n\n", ("b",), 1, "- a: |+\n    x\n\n  b: 1\n"),
        ('- a: "x\n- y"\n  b: 1\n', ("b",), 2, '- a: "x\n- y"\n  b: 2\n'),
        ("- a:\n  - x\n  # of y\n  - y\n", ("a",), ["y"], "- a:\n  # of y\n  - y\n"),
        ("- a:\n  # of y\n  - y\n", ("a",), ["x", "y"], "- a:\n  - x\n  # of y\n  - y\n"),
        ("- a: [x, y]\n", ("a",), ["x"], "- a: [x]\n"),
        ("- a: 1 # c\n", ("a",), {"b": [1, {"c": 2}]}, "- a: # c\n    b:\n    - 1\n    - c: 2\n"),
        ("- ? a\n  : b\n", ("a",), "c", "- a: c\n"),
        ("- a: !!str 1\n", ("a",), "2", '- a: "2"\n'),
        ("- 😀: é # 😀\n", ("😀",), "ü", '- 😀: "ü" # 😀\n'),
    ],
)
def test_every_style_is_edited_in_its_place(
    before: str, path: tuple[str | int, ...], content: object, after: str
) -> None:
    obj = item(before)
    obj.set(content, *path)
    assert obj.span.decode() == after


def test_json_is_edited_as_json() -> None:
    text = '{\n  "kind": "A",\n  "spec": {"x": [1, 2]}\n}\n'
    obj = krm.KubeObject.parse(text.encode())
    obj.set_annotation("a", "b")
    obj.set([1, 2, 3], "spec", "x")
    assert obj.remove("kind")
    expected = '{\n  "spec": {"x": [1, 2, 3]},\n  "metadata": {"annotations": {"a": "b"}}\n}\n'
    assert obj.span.decode() == expected


def test_mentions_is_never_wrongly_false() -> None:
    """A text that an escape or a fold could hide counts as mentioned."""
    assert item().mentions("web")
    assert not item().mentions("absent")
    assert item('- a: "\\x77eb"\n').mentions("web")
    assert item("- a: it\n    is\n").mentions("it is")


def test_an_unreadable_object_names_its_place_in_the_input() -> None:
    """Whoever reads the message counts lines from the top of the file, not from the object."""
    document = (
        b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: A\n- kind: B\n"
        b"  a: *nowhere\n"
    )
    item = krm.ResourceList.read(document).items[1]
    with pytest.raises(
        krm.InputError, match=r"^line 6, column 6: \*nowhere has no anchor in this object$"
    ):
        item.get("a")


def test_a_node_at_a_path() -> None:
    obj = item()
    second = obj.node_at("spec", "args", 1)
    assert second is not None
    assert obj.get("spec", "args", 1) == "b"
    # Python would count from the end.
    for path in (("spec", "args", 2), ("spec", "args", -1), ("spec", "args", "a"), ("kind", "a")):
        assert obj.node_at(*path) is None, path
        assert not obj.remove(*path), path


@pytest.mark.parametrize(
    ("text", "column", "where"),
    [
        ("- a\n", 0, "line 3, column 3: an object must be a mapping"),
        ("- ''\n", 0, "line 3, column 3: an object must be a mapping"),
        ("- a: [\n", 0, "line 4, column 1: "),
        ("[a]\n", None, "line 3, column 1: an object must be a mapping"),
        ("# nothing\n", None, "line 3, column 1: there is no document"),
    ],
)
def test_what_is_no_object(text: str, column: int | None, where: str) -> None:
    data = f"# head\nx: 1\n{text}".encode()
    obj = krm.KubeObject(data, len(data) - len(text), len(data), column=column)
    with pytest.raises(krm.InputError) as refused:
        obj.get()
    assert str(refused.value).startswith(where)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"kind": "A", "spec": {}}', "A"),
        ('{"spec": {"kind": "B"}, "kind": "A"}', "A"),
        ('{"spec": {"kind": "B"}}', ""),
        ('{"kind": null}', ""),
        ('{"kind": 5}', "5"),
    ],
)
def test_a_kind_in_json(text: str, kind: str) -> None:
    data = text.encode()
    assert krm.KubeObject(data, 0, len(data)).kind == kind


PIECES = ("web", "team-web", "w eb", '"\\x77eb"', "app", "a: web-team", "über")


@given(
    sources=st.lists(
        st.lists(st.lists(st.sampled_from(PIECES), max_size=3), min_size=1, max_size=8), max_size=3
    ),
    texts=st.lists(
        st.sampled_from(["web", "team-web", "absent", "w eb", "\\"]), min_size=1, max_size=3
    ),
    edited=st.sets(st.integers(0, 20)),
    order=st.randoms(use_true_random=False),
    shuffled=st.booleans(),
)
def test_those_that_mention_a_text_are_found_together(
    *,
    sources: list[list[list[str]]],
    texts: list[str],
    edited: set[int],
    order: Random,
    shuffled: bool,
) -> None:
    items = []
    for source in sources:
        entries = ["".join(f"- key: {piece}\n" for piece in entry) for entry in source]
        data, end = "".join(entries).encode(), 0
        for entry in entries:
            start, end = end, end + len(entry.encode())
            items.append(krm.KubeObject(data, start, end, column=0))
    for index in edited.intersection(range(len(items))):
        items[index] = krm.KubeObject.parse(b"kind: A\n")
        items[index].set("web", "name")
    if shuffled:
        order.shuffle(items)
    expected = [each for each in items if any(each.mentions(text) for text in texts)]
    assert list(map(id, krm.mentioning(items, *texts))) == list(map(id, expected))


def test_an_input_is_searched_once() -> None:
    def search(count: int) -> None:
        data = b"- a: web\n- a: app\n" * count
        items = [krm.KubeObject(data, 9 * n, 9 * n + 9, column=0) for n in range(2 * count)]
        assert len(list(krm.mentioning(items, "web", "absent"))) == count

    assert growth(search, 100) < 2.2


@given(st.integers(0, 40_000), st.integers(1, 9_000))
def test_lines_are_counted_wherever_an_object_is(start: int, every: int) -> None:
    text = (b"a" * (every - 1) + b"\n") * (40_000 // every + 1)
    item = krm.KubeObject(text, start, len(text))
    assert item.lines_above == text[:start].count(b"\n")
