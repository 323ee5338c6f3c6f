"""A folder of which some files are ours: those are kept as wanted, all others are never touched."""

import os
import re
from pathlib import Path

import pytest

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.files import Changes, Folder
from krm_windows.system.reading import manifests

HEADER = "# ours"
WANTED = {"a.yaml": b"# ours\na: 1\n", "b.yaml": b"# ours\nb: 2\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "deep/windows", HEADER.__eq__)


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_it_is_made_with_all_above_it(folder: Folder) -> None:
    folder.write(WANTED)
    assert contents(folder.path) == WANTED
    assert {file.stat().st_mode & 0o777 for file in folder.path.iterdir()} == {0o644}


def test_what_is_as_wanted_is_not_written_again(folder: Folder) -> None:
    folder.write(WANTED)
    before = {file.name: file.stat().st_ino for file in folder.path.iterdir()}
    folder.write({**WANTED, "b.yaml": b"# ours\nb: 3\n"})
    after = {file.name: file.stat().st_ino for file in folder.path.iterdir()}
    assert before["a.yaml"] == after["a.yaml"]
    assert before["b.yaml"] != after["b.yaml"]


def test_ours_that_are_not_wanted_go(folder: Folder) -> None:
    folder.write(WANTED)
    (folder.path / "other.yaml").write_text("# ours, but of another policy\n")
    (folder.path / "notes.txt").write_text("")
    (folder.path / "sub").mkdir()
    (folder.path / "sub/c.yaml").write_bytes(WANTED["a.yaml"])
    (folder.path / "link.yaml").symlink_to("b.yaml")
    folder.write({"b.yaml": WANTED["b.yaml"]})
    left = {file.name for file in folder.path.iterdir()}
    assert left == {"b.yaml", "link.yaml", "notes.txt", "other.yaml", "sub"}
    assert (folder.path / "sub/c.yaml").exists()


@pytest.mark.parametrize("name", ["../a.yaml", "sub/a.yaml", "/a.yaml", "", "a/../b.yaml"])
def test_nothing_outside(folder: Folder, name: str) -> None:
    with pytest.raises(WorkspaceError):
        folder.write({"a.yaml": WANTED["a.yaml"], name: b"# ours\n"})
    assert not folder.path.exists()


@pytest.mark.parametrize("stands", ["file", "directory", "link", "dangling"])
def test_what_stands_in_the_way_stays(folder: Folder, stands: str, tmp_path: Path) -> None:
    folder.path.mkdir(parents=True)
    place, outside = folder.path / "b.yaml", tmp_path / "outside.yaml"
    match stands:
        case "file":
            place.touch()
        case "directory":
            place.mkdir()
        case "link":
            outside.write_text("# ours\n")
            place.symlink_to(outside)
        case _:
            place.symlink_to(outside)
    with pytest.raises(WorkspaceError, match="is in the way"):
        folder.write(WANTED)
    assert [file.name for file in folder.path.iterdir()] == ["b.yaml"]
    assert not outside.exists() or outside.read_text() == "# ours\n"


def test_the_folder_itself_is_no_link(folder: Folder, tmp_path: Path) -> None:
    """Whoever wrote the repository decides where a link leads."""
    real = tmp_path / "real"
    real.mkdir()
    (real / "a.yaml").write_bytes(b"# ours\nold\n")
    folder.path.parent.mkdir()
    folder.path.symlink_to(real)
    for act in (folder.write, lambda wanted: list(folder.stale(wanted)), lambda _: folder.read()):
        with pytest.raises(WorkspaceError, match="a symbolic link, which is not followed"):
            act(WANTED)
    assert contents(real) == {"a.yaml": b"# ours\nold\n"}


def test_a_write_that_fails_leaves_the_old_file(folder: Folder) -> None:
    folder.write(WANTED)
    with pytest.raises(TypeError):
        folder.write({"a.yaml": "text, not bytes"})  # type: ignore[dict-item]
    assert contents(folder.path) == WANTED


def test_stale_is_a_diff(folder: Folder) -> None:
    assert "".join(folder.stale(WANTED).values()).count("--- a/") == 2
    assert not folder.path.exists()
    """What would be changed, made and removed, as a unified diff that git can apply."""
    folder.write(WANTED)
    assert list(folder.stale(WANTED)) == []
    wanted = {"b.yaml": b"# ours\nb: 3\n", "c.yaml": b"# ours\n"}
    assert "".join(folder.stale(wanted).values()) == (
        "--- a/a.yaml\n+++ b/a.yaml\n@@ -1,2 +0,0 @@\n-# ours\n-a: 1\n"
        "--- a/b.yaml\n+++ b/b.yaml\n@@ -1,2 +1,2 @@\n # ours\n-b: 2\n+b: 3\n"
        "--- a/c.yaml\n+++ b/c.yaml\n@@ -0,0 +1 @@\n+# ours\n"
    )
    assert contents(folder.path) == WANTED


def test_line_ends_of_another_system(folder: Folder) -> None:
    folder.write(WANTED)
    (folder.path / "a.yaml").write_bytes(WANTED["a.yaml"].replace(b"\n", b"\r\n"))
    assert list(folder.stale(WANTED))
    folder.write(WANTED)
    assert contents(folder.path) == WANTED


def test_manifests(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "sub/c.yaml", "sub/d.json", "e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    os.mkfifo(tmp_path / "pipe.yaml")
    found = [str(file.relative_to(tmp_path)) for file in manifests(tmp_path)]
    assert found == ["a.yml", "b.yaml", "sub/c.yaml"]
    assert list(manifests(tmp_path / "e.txt")) == [tmp_path / "e.txt"]


DEEP = {
    "a.yaml": b"# ours\na: 1\n",
    "live/a.yaml": b"# ours\na: 1\n",
    "live/b.yaml": b"# ours\nb: 2\n",
}


@pytest.fixture
def deep(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "split", HEADER.__eq__, inner=re.compile("[^/]+"))


def test_a_deep_folder_has_files_in_sub_directories(deep: Folder) -> None:
    deep.write(DEEP)
    assert deep.read() == DEEP
    assert list(deep.stale(DEEP)) == []
    stale = deep.stale({**DEEP, "live/b.yaml": b"# ours\nb: 3\n"})
    assert list(stale) == ["live/b.yaml"]
    assert "\n+++ b/live/b.yaml\n" in stale["live/b.yaml"]
    (deep.path / "live/notes.txt").touch()
    assert deep.write({"a.yaml": DEEP["a.yaml"]}) == Changes(removed=len(DEEP) - 1)
    assert [path.name for path in (deep.path / "live").iterdir()] == ["notes.txt"]
    for name in ("live/../../a.yaml", "live//a.yaml", "a/b/c.yaml", "live/"):
        with pytest.raises(WorkspaceError):
            deep.write({name: b"# ours\n"})


def test_a_link_is_no_sub_directory(deep: Folder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/b.yaml").write_bytes(DEEP["live/b.yaml"])
    deep.path.mkdir()
    (deep.path / "live").symlink_to(tmp_path / "elsewhere")
    assert deep.read() == {}
    with pytest.raises(WorkspaceError, match="is in the way"):
        deep.write(DEEP)
    (deep.path / "live").unlink()
    (deep.path / "live").write_text("")
    with pytest.raises(WorkspaceError, match="is in the way"):
        deep.write(DEEP)


BRANCHES = {"a/one.yaml": b"# ours\n1\n", "a/b/two.yaml": b"# ours\n2\n"}


@pytest.fixture
def tree(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "deep/tree", HEADER.__eq__, branches=("a", "c/d"))


def test_a_tree_is_made_read_and_kept(tree: Folder) -> None:
    assert tree.put(tree.read(), BRANCHES) == Changes(len(BRANCHES))
    assert tree.read() == BRANCHES
    assert tree.put(tree.read(), BRANCHES) == Changes()
    # What a failure of power left is there and empty.
    (tree.path / "a/one.yaml").write_bytes(b"")
    assert tree.put(tree.read(), BRANCHES) == Changes(1)
    assert tree.read() == BRANCHES


@pytest.mark.parametrize("path", ["", "x.yaml", "a", "ab/x.yaml", "a/../x.yaml", "/a/x.yaml", "a/"])
def test_nothing_outside_of_the_branches(tree: Folder, path: str) -> None:
    with pytest.raises(WorkspaceError, match="is not the path"):
        tree.put({}, {"a/one.yaml": b"# ours\n", path: b"# ours\n"})
    assert not tree.path.exists()


def test_what_a_killed_run_left_behind_goes(tree: Folder) -> None:
    tree.put({}, BRANCHES)
    for name in (".one.yaml.abcd1234.krm-windows", ".x.12345678.krm-windows"):
        (tree.path / "a" / name).write_bytes(b"# ours\n1")
    (tree.path / "a/.keep.krm-windows").touch()
    assert tree.read() == BRANCHES
    tree.put(tree.read(), BRANCHES)
    left = {path.name for path in (tree.path / "a").iterdir()}
    assert left == {".keep.krm-windows", "b", "one.yaml"}
