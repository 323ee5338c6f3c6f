"""Edits of a text at a path: what a path reaches, what is made on the way, and what is refused."""

import pytest
import yaml

from krm_windows.krm import edits
from krm_windows.krm.edits import Path
from krm_windows.krm.errors import EditError

LISTS = "a:\n- x: 1\n- x: 2\n- [p, q]\n"


@pytest.mark.parametrize(
    ("text", "path", "content", "after"),
    [
        (LISTS, ("a", 0, "x"), 5, "a:\n- x: 5\n- x: 2\n- [p, q]\n"),
        (LISTS, ("a", 1, "x"), 5, "a:\n- x: 1\n- x: 5\n- [p, q]\n"),
        (LISTS, ("a", 2, 1), "r", "a:\n- x: 1\n- x: 2\n- [p, r]\n"),
        (LISTS, ("a", 2, 2), "r", "a:\n- x: 1\n- x: 2\n- [p, q, r]\n"),
        (LISTS, ("a", 3), "r", LISTS + "- r\n"),
        (LISTS, ("a", 3, "b", "c"), 1, LISTS + "- b:\n    c: 1\n"),
        ("a:\n", ("a", "b", "c"), 1, "a:\n  b:\n    c: 1\n"),
        ("a: 1\n", (), {"a": 2}, "a: 2\n"),
        # Nothing of it stays.
        ("# top\na: 1\n", (), {"z": 1}, "# top\nz: 1\n"),
        ("a: 1\n", (), {}, "{}\n"),
        ("{}\n", (), {"a": 1}, "{a: 1}\n"),
        ("a: {p: 1}\n", ("a",), {"q": 1}, "a: {q: 1}\n"),
        ("a: {b}\n", ("a", "c"), 2, "a: {b, c: 2}\n"),
        # What is around stays as it is spelt: blanks in flow style, one line of it, a comment.
        ("x: 1\na: { p: 1 } # c\n", ("a", "q"), 2, "x: 1\na: { p: 1, q: 2 } # c\n"),
        ("a: [x] # c\n", ("a",), {"b": 1}, "a: {b: 1} # c\n"),
        (
            "a:\n  - x\n  # of y\n  - y\n",
            ("a",),
            ["x", "z", "y"],
            "a:\n  - x\n  - z\n  # of y\n  - y\n",
        ),
        # What is merged stays, and goes with its merge key.
        ("a: {<<: {x: 1}, b: 2}\n", ("a", "b"), 3, "a: {<<: {x: 1}, b: 3}\n"),
        ("a:\n  <<: {x: 1, z: 3}\n  b: 2\n", ("a",), {"b": 2, "z": 3}, "a:\n  b: 2\n  z: 3\n"),
        # A comma right behind a key, and a text without an end.
        ("a: {p: ,q: 1}\n", ("a", "p"), 2, "a: {p:  2,q: 1}\n"),
        ("a:\n- x", ("a", 1), "z", "a:\n- x\n- z"),
        ("a: >\n  x\n  y", ("a",), "q", "a: q"),
        # A list at the top.
        ("- x: 1\n", (0, "x"), 2, "- x: 2\n"),
        ("- x\n- w # stays\n", (0,), "z", "- z\n- w # stays\n"),
        ("- x\n", (1,), "z", "- x\n- z\n"),
        ("- x\n", (), [], "[]\n"),
    ],
)
def test_a_value_is_set(text: str, path: Path, content: object, after: str) -> None:
    assert edits.set_value(text, path, content) == after


@pytest.mark.parametrize(
    ("text", "path", "after"),
    [
        (LISTS, ("a", 0), "a:\n- x: 2\n- [p, q]\n"),
        (LISTS, ("a", 2), "a:\n- x: 1\n- x: 2\n"),
        (LISTS, ("a", 2, 0), "a:\n- x: 1\n- x: 2\n- [q]\n"),
        (LISTS, ("a", 2, 1), "a:\n- x: 1\n- x: 2\n- [p]\n"),
        ("a: 1\nb: {c: 2, d: 3}\n", ("b", "c"), "a: 1\nb: {d: 3}\n"),
        ("a: 1\nb: {c: 2, d: 3}\n", ("b",), "a: 1\n"),
        # The first line, with the break behind it; also where that has two characters, or none.
        ("a: 1\nb: 2 # stays\n", ("a",), "b: 2 # stays\n"),
        ("a: 1\r\nb: 2\r\nc: 3\r\n", ("a",), "b: 2\r\nc: 3\r\n"),
        ("a: 1\r\nb: 2\r\nc: 3\r\n", ("b",), "a: 1\r\nc: 3\r\n"),
        ("a: 1\nb: 2", ("b",), "a: 1"),
        ("a: 1 # stays\nb: 2", ("b",), "a: 1 # stays"),
        ("a: 1\n", ("a",), "{}\n"),
        # A comment below it that is deeper, if by one column.
        ("a: 1\n # of a\nb: 2 # stays\n", ("a",), "b: 2 # stays\n"),
        ("- x\n- w # stays\n", (0,), "- w # stays\n"),
        # A dash stands before it on its line.
        ("a:\n- - x\n  - w\n- 1 # stays\n", ("a", 0, 0), "a:\n- - w\n- 1 # stays\n"),
    ],
)
def test_an_entry_is_removed(text: str, path: Path, after: str) -> None:
    assert edits.remove(text, path) == after


@pytest.mark.parametrize(
    ("text", "path", "step"),
    [
        (LISTS, ("a", 4), "4"),
        (LISTS, ("a", -1), "-1"),
        ("a: {b: 1}\n", ("a", 0), "0"),
        ("a: 1\n", ("a", "b"), "'b'"),
        (LISTS, ("a", "b"), "'b'"),
    ],
)
def test_a_path_that_leads_nowhere_cannot_be_set(text: str, path: Path, step: str) -> None:
    with pytest.raises(EditError) as refused:
        edits.set_value(text, path, 1)
    assert str(refused.value).startswith(f"{step} cannot be set")


@pytest.mark.parametrize(
    ("text", "path", "step"),
    [
        (LISTS, ("a", 3), "3"),
        (LISTS, ("a", -5), "-5"),
        (LISTS, (), "()"),
        (LISTS, ("a", "b"), "'b'"),
        (LISTS, ("a", 0, "y"), "'y'"),
        ("a: {1: 2}\n", ("a", 1), "1"),
        ("a: 1\n", ("a", "b"), "'b'"),
        ("a: 1\n", ("b",), "'b'"),
    ],
)
def test_what_is_not_there_cannot_be_removed(text: str, path: Path, step: str) -> None:
    with pytest.raises(EditError) as refused:
        edits.remove(text, path)
    assert step in str(refused.value)


@pytest.mark.parametrize("text", ['a: "x" # c\n', "a: 'x'\n", "a: !!str x\n", "{a: x}\n"])
def test_what_means_the_same_stays_as_it_is_spelt(text: str) -> None:
    assert edits.set_value(text, ("a",), "x") == text


@pytest.mark.parametrize(
    ("text", "path", "content", "after"),
    [
        # In lists, and in maps inside of them; aliases of other anchors behind it, too.
        (
            "a: &b\n  k: v\nl: [*b, {in: *b}]\no: &o 1\nm: *o\n",
            ("a", "k"),
            "w",
            'a: &b\n  k: w\nl: [{"k": "v"}, {in: {"k": "v"}}]\no: &o 1\nm: 1\n',
        ),
        # Where it is a key.
        ("a: &k x\nb: {*k : 1}\nc: *k\n", ("a",), "y", 'a: "y"\nb: {"x" : 1}\nc: "x"\n'),
        # Not where it goes with what is replaced, nor where all of it is.
        ("a: &k x\nb: *k\n", (), {"a": "y"}, 'a: "y"\n'),
        ("a: [&k x, *k]\nb: 1 # c\n", ("a",), ["y", "z"], 'a: ["y", z]\nb: 1 # c\n'),
        # Nor where the change is right before the anchor or right behind it.
        ("x: 1\na: &k 2\ny: 3\nb: *k\n", ("x",), 5, "x: 5\na: &k 2\ny: 3\nb: *k\n"),
        ("x: 1\na: &k 2\ny: 3\nb: *k\n", ("y",), 5, "x: 1\na: &k 2\ny: 5\nb: *k\n"),
        # An entry or an item behind the last one is the anchor's, too.
        (
            "a: &k # top\n  p: 1\nb: *k\n",
            ("a", "q"),
            2,
            'a: &k # top\n  p: 1\n  q: 2\nb: {"p": 1}\n',
        ),
        ("a: &k [p]\nb: *k\n", ("a", 1), "q", 'a: &k [p, q]\nb: ["p"]\n'),
    ],
)
def test_an_alias_of_what_changes_is_written_out(
    text: str, path: Path, content: object, after: str
) -> None:
    assert edits.set_value(text, path, content) == after


def test_what_goes_before_an_anchor_leaves_its_alias() -> None:
    assert edits.remove("a: {p: 1, &k q: 2, r: *k}\n", ("a", "p")) == "a: {&k q: 2, r: *k}\n"
    assert edits.remove("a:\n- p\n- &k q\n- *k\n", ("a", 0)) == "a:\n- &k q\n- *k\n"


@pytest.mark.parametrize("old", ["'q'", '"q"', "q"])
def test_a_text_of_several_lines_has_no_quotes(old: str) -> None:
    after = edits.set_value(f"# top\na: {old}\nb: 1 # stays\n", ("a",), "x\ny\n")
    assert after == "# top\na: |\n  x\n  y\nb: 1 # stays\n"


def test_what_cannot_be_edited_is_written_anew() -> None:
    # A key with `?` alone has no place for a value, nor an end of its own.
    text = "b: 1 # stays\na:\n- ? x\n- w\n"
    assert edits.set_value(text, ("a", 0, "x"), 1) == "b: 1 # stays\na:\n- x: 1\n- w\n"
    assert edits.set_value(text, ("a", 0), {}) == "b: 1 # stays\na:\n- {}\n- w\n"
    # A text that keeps its blank lines would take the one behind what goes.
    text = "b: 1 # stays\na:\n- |+\n  t\n- w\n\n"
    assert edits.remove(text, ("a", 1)) == "b: 1 # stays\na:\n- |\n  t\n\n"


def test_a_deep_object_is_edited_at_its_bottom() -> None:
    depth = 20
    text = "".join(f"{'  ' * level}k:\n" for level in range(depth)) + "  " * depth + "k: 1\n"
    after = edits.set_value(text, ("k",) * (depth + 1), 2)
    assert after == text.replace("k: 1", "k: 2")


@pytest.mark.parametrize(("levels", "kept"), [(3, 3), (16, 16), (17, 16), (25, 16)])
def test_what_cannot_be_edited_far_below(levels: int, kept: int) -> None:
    """From the seventeenth level on all is written anew, and has no comments any more."""
    above = "".join(f"{'  ' * level}k: # stays\n" for level in range(levels))
    text = f"{above}{'  ' * levels}- ? x\n{'  ' * levels}- w\n"
    after = edits.set_value(text, (*("k",) * levels, 0, "x"), 1)
    assert after.count("# stays") == kept
    assert yaml.safe_load(after) != yaml.safe_load(text)


def test_what_cannot_be_edited_at_all() -> None:
    """A map whose tag is on the line of the marker has no column; the text stays as it is."""
    with pytest.raises(EditError, match="layout of this object cannot be edited"):
        edits.set_value("--- !!map\n? x\n", ("x",), 1)
