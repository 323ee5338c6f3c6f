"""A tree of which some files are ours: those become as wanted, all others are never touched."""

import os
from pathlib import Path

import pytest

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.files import Changes, Folder

WANTED = {"a/one.yaml": b"# ours\n1\n", "a/b/two.yaml": b"# ours\n2\n"}


@pytest.fixture
def tree(tmp_path: Path) -> Folder:
    """A tree that does not exist yet."""
    return Folder(tmp_path / "deep/tree", "# ours".__eq__, branches=("a", "c/d"))


def times(path: Path) -> dict[str, int]:
    """Return when each file below a directory was written."""
    return {str(file): file.stat().st_mtime_ns for file in path.rglob("*") if file.is_file()}


def test_it_is_made_read_and_kept(tree: Folder) -> None:
    """What was written is read, and what is as wanted is not written again."""
    assert tree.put(tree.read(), WANTED) == Changes(len(WANTED))
    assert tree.read() == WANTED
    before = times(tree.path)
    assert tree.put(tree.read(), WANTED) == Changes()
    assert times(tree.path) == before


def test_ours_that_are_not_wanted_go_with_their_directories(tree: Folder) -> None:
    """And nothing else goes."""
    tree.put({}, WANTED | {"c/d/three.yaml": b"# ours\n"})
    (tree.path / "a/notes.txt").write_text("theirs")
    (tree.path / "c/other").mkdir()
    (tree.path / "c/other/ours.yaml").write_text("# ours\n")
    assert tree.put(tree.read(), {}) == Changes(removed=3)
    left = sorted(str(path.relative_to(tree.path)) for path in tree.path.rglob("*"))
    assert left == ["a", "a/notes.txt", "c", "c/other", "c/other/ours.yaml"]


@pytest.mark.parametrize(
    "path", ["", "x.yaml", "a", "ab/x.yaml", "a/../x.yaml", "../a/x.yaml", "/a/x.yaml", "a/"]
)
def test_nothing_outside_of_the_branches(tree: Folder, path: str) -> None:
    """A path that leads elsewhere is refused before anything is written."""
    with pytest.raises(WorkspaceError, match="is not the path"):
        tree.put({}, {"a/one.yaml": b"# ours\n", path: b"# ours\n"})
    assert not tree.path.exists()


def test_nothing_behind_a_link(tree: Folder, tmp_path: Path) -> None:
    """Neither read, nor written, nor removed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "one.yaml").write_text("# ours\n")
    tree.path.mkdir(parents=True)
    (tree.path / "a").symlink_to(outside)
    assert tree.read() == {}
    with pytest.raises(WorkspaceError, match="a symbolic link, which is not followed"):
        tree.put({}, WANTED)
    assert [path.read_text() for path in outside.iterdir()] == ["# ours\n"]


@pytest.mark.parametrize("stands", ["file", "directory", "link"])
def test_what_stands_in_the_way_stays(tree: Folder, stands: str) -> None:
    """A path that somebody else has taken is an error, and nothing is written."""
    place = tree.path / "a/one.yaml"
    place.parent.mkdir(parents=True)
    match stands:
        case "file":
            place.write_text("theirs\n")
        case "directory":
            place.mkdir()
        case _:
            place.symlink_to("nowhere")
    with pytest.raises(WorkspaceError, match="is in the way"):
        tree.put(tree.read(), WANTED)
    assert os.listdir(tree.path / "a") == ["one.yaml"]  # noqa: PTH208 - with dangling links


def test_what_a_failure_of_power_left_is_made_good(tree: Folder) -> None:
    """A file that is there and empty is nobody's."""
    tree.put({}, WANTED)
    (tree.path / "a/one.yaml").write_bytes(b"")
    assert tree.put(tree.read(), WANTED) == Changes(1)
    assert tree.read() == WANTED


def test_what_a_killed_run_left_behind_goes(tree: Folder) -> None:
    """Whatever is in it; and nothing that is only named alike."""
    tree.put({}, WANTED)
    for name, content in {
        ".one.yaml.abcd1234.krm-windows": b"# ours\n1",
        ".x.12345678.krm-windows": b"",
    }.items():
        (tree.path / "a" / name).write_bytes(content)
    (tree.path / "a/.keep.krm-windows").touch()
    assert tree.read() == WANTED
    tree.put(tree.read(), WANTED)
    assert sorted(path.name for path in (tree.path / "a").iterdir()) == [
        ".keep.krm-windows",
        "b",
        "one.yaml",
    ]
