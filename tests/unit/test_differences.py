"""What a golden test says where something is not as expected."""

import pytest
from differences import COLUMNS, LINES, assert_same_files, assert_same_objects, diff


def said(found: dict[str, str | bytes], expected: dict[str, str | bytes]) -> str:
    """Return what is said of files that are not as expected."""
    with pytest.raises(pytest.fail.Exception) as failed:
        assert_same_files(found, expected, "make it")
    return str(failed.value)


def test_nothing_is_said_of_what_is_as_expected() -> None:
    """Texts and bytes alike."""
    assert_same_files({"a": "x\n", "b": b"\xff"}, {"b": b"\xff", "a": "x\n"})


def test_only_what_changed_is_shown_and_how_it_is_written_again() -> None:
    """The first line names the files and the command; then comes a diff of each."""
    before = "".join(f"line {number}\n" for number in range(20))
    after = before.replace("line 10\n", "line ten\n")
    assert said({"same": "x", "b.yaml": after}, {"same": "x", "b.yaml": before}) == (
        "not as expected: b.yaml (if it is meant: make it)\n"
        "--- expected/b.yaml\n"
        "+++ found/b.yaml\n"
        "@@ -8,7 +8,7 @@\n"
        " line 7\n"
        " line 8\n"
        " line 9\n"
        "-line 10\n"
        "+line ten\n"
        " line 11\n"
        " line 12\n"
        " line 13"
    )


def test_a_file_that_is_missing_or_too_much_is_shown_whole() -> None:
    """An empty one is distinguished from none."""
    assert said({"new": "a\n"}, {"old": ""}) == (
        "not as expected: new, old (if it is meant: make it)\n"
        "--- /dev/null\n+++ found/new\n@@ -0,0 +1 @@\n+a\n"
        "--- expected/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-(empty)"
    )


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a: \n", "a:\n", ["-a:\\x20", "+a:"]),
        ("a:\t1\n", "a: 1\n", ["-a:\\t1", "+a: 1"]),
        ("a\r\n", "a\n", ["-a\\r", "+a"]),
        ("a\u200b\n", "a\n", ["-a\\u200b", "+a"]),
        ("a\n", "a", ["-a", "+a (no newline at the end)"]),
        ("-- a\n", "++ b\n", ["--- a", "+++ b"]),
        (b"\xff\n", b"\xfe\n", ["-\\udcff", "+\\udcfe"]),
        ("a\\x20\n", "a \n", ["-a\\x20", "+a\\x20"]),
    ],
)
def test_a_difference_that_cannot_be_seen_is_made_visible(
    before: str | bytes, after: str | bytes, shown: list[str]
) -> None:
    """Blanks at the end, what does not print, a missing newline: each shows on both lines."""
    assert diff("x", before, after).splitlines()[3:] == shown


def test_where_all_changed_the_diff_ends_early() -> None:
    """It says how many lines are left out; a long line says how long it is."""
    lines = diff("x", "a\n" * 1000, "b\n" * 1000).splitlines()
    assert len(lines) == LINES + 1
    assert lines[-1] == f"… and {2003 - LINES} lines more"
    long = diff("x", "", "b" * 2 * COLUMNS).splitlines()[-1]
    assert long.startswith("+bbb")
    assert f"… ({2 * COLUMNS + 1 + len(' (no newline at the end)')} columns)" in long


def test_objects_are_shown_as_yaml() -> None:
    """The field that changed, among those beside it."""
    expected = [{"kind": "A", "spec": {"suspend": True}}]
    assert_same_objects("x.yaml", [{"spec": {"suspend": True}, "kind": "A"}], expected)
    with pytest.raises(pytest.fail.Exception) as failed:
        assert_same_objects("x.yaml", [{"kind": "A", "spec": {"suspend": False}}], expected)
    assert str(failed.value).splitlines()[-2:] == ["-  suspend: true", "+  suspend: false"]


def test_objects_that_yaml_writes_alike_differ_all_the_same() -> None:
    """A list and a tuple are written alike, and are not equal."""
    with pytest.raises(pytest.fail.Exception, match="alike as YAML"):
        assert_same_objects("x.yaml", [{"a": ["b"]}], [{"a": ("b",)}])
