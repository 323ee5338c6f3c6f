"""Directories by their descriptors: no name and no link leads out of one."""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError

NAMES = ["", ".", "..", "/", "/etc", "a/b", "../a", "a\0b"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in, beside one that nobody may reach."""
    (tmp_path / "here").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_name_is_one_name(place: Path, name: str) -> None:
    """For everything that makes or opens something."""
    with Directory.at(place) as here:
        acts: list[Callable[[], object]] = [
            lambda: here.below([name]),
            lambda: here.below([name], make=True),
            lambda: here.create(name, b""),
            lambda: here.link(name, "x"),
        ]
        for act in acts:
            with pytest.raises(WorkspaceError, match="not a plain file name"):
                act()
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("target", ["../outside", "inner", "nowhere"])
def test_no_link_is_followed(place: Path, target: str) -> None:
    """Neither for reading nor for writing; also where it stays inside.

    One in the place of a file is replaced.
    """
    (place / "inner").mkdir()
    (place / "inner/secret").write_text("secret")
    (place / "link").symlink_to(target)
    (place / "file").symlink_to(f"{target}/secret")
    before = (place / "../outside/secret").stat()
    with Directory.at(place) as here:
        for make in (False, True):
            with pytest.raises(WorkspaceError, match="is a symbolic link"):
                here.below(["link", "deep"], make=make)
        assert here.found(["link"]) is None
        assert (here.read("file"), here.first_line("file")) == (None, None)
        with pytest.raises(FileExistsError):
            here.create("file", b"new")
        here.replace("file", b"new")
        assert [name for _, _, name in here.files()] == ["file", "secret", "link"]
    assert (place / "file").read_text() == "new"
    assert not (place / "file").is_symlink()
    assert (place / "../outside/secret").stat() == before
    assert (place / "inner/secret").read_text() == "secret"


def test_nothing_but_plain_files_is_opened(place: Path) -> None:
    """A pipe would wait, a device may do anything."""
    os.mkfifo(place / "pipe")
    (place / "folder").mkdir()
    with (
        socket.socket(socket.AF_UNIX) as server,
        Directory.at(place) as here,
        Directory.at(Path("/dev")) as devices,
    ):
        server.bind("socket")
        for name in ("pipe", "folder", "socket", "missing"):
            assert here.read(name) is None
        assert devices.read("zero") is None


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
    """Links in a repository are its author's.

    Those above it and above the directory that is named are the user's.
    """
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
        with Directory.made(path) as made:
            assert made.entries() == []
    else:
        with pytest.raises(WorkspaceError, match="is a symbolic link"):
            Directory.made(path)
        assert not (tmp_path / "nowhere").exists()
        assert list((tmp_path / "outside").iterdir()) == []


def test_a_directory_that_is_removed_meanwhile_is_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run prunes what is empty; one that does so for ever is an error."""
    make, left = os.mkdir, [3]

    def meddle(name: str, *arguments: int, dir_fd: int) -> None:
        make(name, *arguments, dir_fd=dir_fd)
        if left[0]:
            left[0] -= 1
            os.rmdir(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", meddle)
    with Directory.at(place) as here:
        with here.below(["a", "b"], make=True) as inner:
            inner.create("file", b"")
        left[0] = 10_000
        with pytest.raises(WorkspaceError, match=r"cannot be created: .* keeps removing it"):
            here.below(["c"], make=True)
    assert (place / "a/b/file").exists()


ADVICE = {
    errno.ENOSPC: "free some space there, or name another directory",
    errno.EDQUOT: "free some space there, or name another directory",
    errno.EROFS: "name a directory that you may write to",
    errno.EACCES: "name a directory that you may write to",
    errno.EPERM: "name a directory that you may write to",
    errno.EISDIR: "move the directory away, or name another directory",
    errno.ENAMETOOLONG: "name one with a shorter path",
    errno.EIO: "name another directory",
}


@pytest.mark.parametrize("number", ADVICE, ids=errno.errorcode.get)
def test_what_cannot_be_written_is_said(
    place: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its whole path, with the reason and what to do, whichever step it is that fails."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "beside", None, "other")

    with Directory.at(place) as here:
        acts: dict[str, Callable[[], object]] = {
            "mkdir": lambda: here.below(["file"], make=True),
            "open": lambda: here.create("file", b""),
            "fchmod": lambda: here.replace("file", b""),
            "rename": lambda: here.replace("file", b""),
            # Where nothing can be removed either, the first reason counts.
            "fsync": lambda: here.replace("file", b""),
        }
        for step, act in acts.items():
            with monkeypatch.context() as patched:
                patched.setattr(os, step, fail)
                if step == "fsync":
                    patched.setattr(os, "unlink", fail)
                with pytest.raises(OSError, match="cannot be written") as failed:
                    act()
            said = (failed.value.filename, failed.value.filename2, failed.value.strerror)
            why = f"cannot be written: {os.strerror(number)}; {ADVICE[number]}"
            assert said == (str(place / "file"), None, why), step
