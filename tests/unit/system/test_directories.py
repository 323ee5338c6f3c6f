"""Directories by their descriptors: no name and no link leads out of one."""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError

NAMES = ["", ".", "/etc", "../a", "a/..", "a//b", "a\0b"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "here").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_path_is_one_below(place: Path, name: str) -> None:
    here = Directory.at(place)
    acts: list[Callable[[str], object]] = [here.kind, here.remove, lambda path: here.put(path, b"")]
    for act in acts:
        with pytest.raises(WorkspaceError, match="not the path of a file"):
            act(name)
    assert here.read(name) is None
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("target", ["../outside", "inner", "nowhere"])
def test_no_link_is_followed(place: Path, target: str) -> None:
    (place / "inner").mkdir()
    (place / "inner/secret").write_text("secret")
    (place / "link").symlink_to(target)
    (place / "file").symlink_to(f"{target}/secret")
    before = (place / "../outside/secret").stat()
    here = Directory.at(place)
    for act in (here.kind, here.remove, lambda path: here.put(path, b"")):
        with pytest.raises(WorkspaceError, match="is a symbolic link"):
            act("link/secret")
    assert here.read("link/secret") is here.read("file") is None
    assert here.first_line("file") == ""
    here.put("file", b"new")
    assert (place / "file").read_text() == "new"
    assert not (place / "file").is_symlink()
    assert (place / "../outside/secret").stat() == before
    assert (place / "inner/secret").read_text() == "secret"


def test_nothing_but_plain_files_is_opened(place: Path) -> None:
    """A pipe would wait, a device may do anything."""
    os.mkfifo(place / "pipe")
    (place / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for name in ("pipe", "folder", "socket", "missing"):
            assert Directory.at(place).read(name) is None
        assert Directory.at(Path("/dev")).read("zero") is None


def test_what_is_removed_leaves_no_empty_directory(place: Path) -> None:
    here = Directory.at(place)
    here.put("a/b/c", b"")
    here.put("a/d", b"")
    here.remove("a/b/c")
    assert [path.name for path in (place / "a").iterdir()] == ["d"]
    here.remove("a/d")
    assert list(place.iterdir()) == []


# What is named, and what of it is a link: refused or not. {top} is a repository, {home} what lies
# above.
PATHS = {
    "the directory itself": ("link", "link", False),
    "one above it": ("link/out", "link", False),
    "in the repository, named in whole": ("{top}/link/out", "{top}/link", False),
    "in the repository, from a sub-directory": ("../link/out", "{top}/link", False),
    "back through a link": ("link/../out", "link", True),
    "above the repository": ("{home}/link/top/out", "{home}/link", True),
    "no repository, above": ("{home}/link/out", "{home}/link", True),
    "no repository, itself": ("{home}/link", "{home}/link", False),
}


@pytest.mark.parametrize("dangles", [False, True])
@pytest.mark.parametrize("case", PATHS)
def test_whose_a_link_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, *, dangles: bool
) -> None:
    named, link, taken = PATHS[case]
    home, top = tmp_path / "home", tmp_path / "real/top"
    here = top / "sub" if "sub-directory" in case else top
    for folder in (home, top / ".git", top / "sub", tmp_path / "outside"):
        folder.mkdir(parents=True)
    monkeypatch.chdir(here)
    target = tmp_path / "real" if "top/out" in named else tmp_path / "outside"
    if dangles:
        target = tmp_path / "nowhere"
    (here / link.format(top=top, home=home)).symlink_to(target)
    path = Path(named.format(top=top, home=home))
    if taken and not (dangles and link in named and "home" in named):
        with Directory.named(path).alone() as made:
            assert made.path.is_dir()
    else:
        with pytest.raises(WorkspaceError, match="is a symbolic link"):
            Directory.named(path).put("file", b"")
        assert not (tmp_path / "nowhere").exists()
        assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("step", ["mkdir", "open", "fchmod", "rename", "fsync"])
def test_what_cannot_be_written_is_said(
    place: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "beside", None, "other")

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with pytest.raises(WorkspaceError) as failed:
            Directory.at(place).put("deep/file", b"")
    assert str(failed.value).startswith(f"{place}/deep/file: cannot be written: No space left")
    assert not list(place.rglob("*krm-windows"))
