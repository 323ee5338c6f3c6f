"""A tree of which some files are ours: those become as wanted, all others are never touched."""

from pathlib import Path

import pytest

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.files import Changes, Folder

WANTED = {"a/one.yaml": b"# ours\n1\n", "a/b/two.yaml": b"# ours\n2\n"}


@pytest.fixture
def tree(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "deep/tree", "# ours".__eq__, branches=("a", "c/d"))


def times(path: Path) -> dict[str, int]:
    return {str(file): file.stat().st_mtime_ns for file in path.rglob("*") if file.is_file()}


def test_it_is_made_read_and_kept(tree: Folder) -> None:
    assert tree.put(tree.read(), WANTED) == Changes(len(WANTED))
    assert tree.read() == WANTED
    before = times(tree.path)
    assert tree.put(tree.read(), WANTED) == Changes()
    assert times(tree.path) == before


@pytest.mark.parametrize(
    "path", ["", "x.yaml", "a", "ab/x.yaml", "a/../x.yaml", "../a/x.yaml", "/a/x.yaml", "a/"]
)
def test_nothing_outside_of_the_branches(tree: Folder, path: str) -> None:
    with pytest.raises(WorkspaceError, match="is not the path"):
        tree.put({}, {"a/one.yaml": b"# ours\n", path: b"# ours\n"})
    assert not tree.path.exists()


def test_what_a_failure_of_power_left_is_made_good(tree: Folder) -> None:
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
